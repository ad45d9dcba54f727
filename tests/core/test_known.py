"""Known evaluations as a record: shapes, finite numbers, and how far values are rounded."""

import math

import numpy as np
import pytest

from szoht.core.known import KnownEvaluations
from szoht.errors import ParameterError


def known(values):
    return KnownEvaluations(points=np.zeros((len(values), 2)), values=np.array(values))


@pytest.mark.parametrize(
    ("points", "values"),
    [
        (np.zeros((3, 2)), np.zeros(2)),
        (np.zeros(3), np.zeros(3)),
        (np.full((1, 2), np.nan), np.zeros(1)),
        (np.zeros((1, 2)), np.array([np.inf])),
    ],
)
def test_points_and_values_belong_together_and_are_finite(points, values):
    with pytest.raises(ParameterError, match="`known` must be"):
        KnownEvaluations(points=points, values=values)


@pytest.mark.parametrize(
    ("values", "last"),
    [([0.880, 0.123], 1e-3), ([1200.0, 31.0], 1.0), ([1.25e-7, 3e-8], 1e-9), ([5.0], 1.0)],
)
def test_the_last_digit_that_is_stated_is_the_error(values, last):
    assert known(values).rounding == pytest.approx(last / math.sqrt(12))


def test_values_of_full_precision_are_not_rounded():
    assert known(np.random.default_rng(0).normal(size=9)).rounding == 0
    assert known([0.0, 0.0]).rounding == 0
    assert known([]).rounding == 0
