"""Methods by name."""

import inspect
from typing import get_args

import numpy as np
import pytest

from szoht import algorithms, errors, minimize
from szoht.types import IterateChoice


def test_every_choice_of_iterate_is_documented():
    for name, factory in algorithms.METHODS.items():
        text = inspect.getdoc(factory)
        lines = [line for line in text.splitlines() if line.strip().startswith("iterate : ")]
        for line in lines:
            assert all(repr(c).replace("'", '"') in line for c in get_args(IterateChoice)), name


def test_a_penalised_method_takes_no_k():
    with pytest.raises(errors.ParameterError, match="'rspgf' takes no `k`"):
        minimize(lambda x: 0.0, np.zeros(4), k=2, method="rspgf")
