"""Every misuse is found before a query is spent, by a typed error that names the rule."""

import numpy as np
import pytest

from szoht import (
    Minibatch,
    Seeds,
    errors,
)
from szoht.schedules import Constant, Geometric, Polynomial
from szoht.stopping import Iterations, Queries, Seconds, Stalled, Target


@pytest.mark.parametrize(
    "make",
    [
        lambda: Queries(0),
        lambda: Iterations(1.5),
        lambda: Seconds(-1),
        lambda: Target(np.inf),
        lambda: Stalled(0),
        lambda: Stalled(3, rtol=-1),
    ],
)
def test_bad__stopping(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Minibatch(size=0),
        lambda: Seeds(size=0),
    ],
)
def test_bad__samplers(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(np.nan),
        lambda: Geometric(start=0, ratio=1),
        lambda: Geometric(start=1, ratio=-1),
        lambda: Polynomial(start=1, power=-1),
        lambda: Polynomial(start=1, offset=0),
    ],
)
def test_bad__schedules(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()
