"""Locations with standard errors, and races."""

import numpy as np
import pytest

from szoht.algorithms.auto.location import Location, agreed, huber_location, survivors


@pytest.mark.parametrize("law", ["normal", "t3", "laplace"])
@pytest.mark.parametrize("n", [12, 60])
def test_two_standard_errors_cover(law, n):
    rng = np.random.default_rng(0)
    draw = {
        "normal": lambda: rng.standard_normal(n),
        "t3": lambda: rng.standard_t(3, n),
        "laplace": lambda: rng.laplace(size=n),
    }[law]
    inside = 0
    for _ in range(500):
        value, error = huber_location(draw())
        inside += abs(value) <= 2 * error
    assert (0.9 if n > 20 else 0.88) <= inside / 500 <= 0.99


def test_outliers_hardly_move_it():
    rng = np.random.default_rng(1)
    values = np.append(rng.standard_normal(57), [1e6, 1e6, -1e7])
    value, error = huber_location(values)
    assert abs(value) < 0.5
    assert error < 0.4


def test_few_values_are_averaged():
    assert huber_location(np.array([1.0, 3.0, np.nan])).value == 2.0
    assert huber_location(np.array([])) == Location(np.inf, np.inf)


def test_who_is_clearly_behind_leaves():
    assert survivors([Location(1.0, 0.1), Location(1.2, 0.1), Location(2.0, 0.1)], 2.5) == [0, 1]
    assert survivors([Location(1.0, np.inf), Location(9.0, 0.1)], 2.5) == [0, 1]


def test_two_values_that_agree():
    assert agreed(np.array([5.0, 1.0, np.nan, 5.0])) == 5.0
    assert agreed(np.array([5.0, 1.0])) is None
