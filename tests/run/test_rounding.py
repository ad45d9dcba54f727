"""Radii and precisions at which differences are mostly rounding."""

import numpy as np
import pytest

from outcomes import most_seeds
from szoht import Status, errors, minimize
from szoht.core.algorithm import State
from szoht.run.rounding import RoundingCheck
from szoht.schedules import Geometric

D = 20


def quadratic(x):
    return float(((x - 1) ** 2).sum())


@pytest.mark.parametrize("support_size", [None, 3])
@pytest.mark.parametrize("mu", [1e-20, 1e-14])
def test_a_radius_that_rounding_drowns_is_reported_once(mu, support_size):
    with pytest.warns(errors.RoundingWarning, match="`mu` is too small") as caught:
        minimize(
            lambda x: 1e3 + quadratic(x),
            np.zeros(D),
            k=2,
            options={"mu": mu, "q": 20, "support_size": support_size, "step_size": 1e-4},
            max_queries=500,
            rng=0,
            method="szoht",
        )
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_shrinking_radius_is_found_too():
    with pytest.warns(errors.RoundingWarning, match="at iteration [1-9]"):
        minimize(
            lambda x: 1e3 + quadratic(x),
            np.zeros(D),
            k=2,
            options={"mu": Geometric(start=1e-3, ratio=0.1), "q": 20, "step_size": 1e-3},
            max_iterations=12,
            rng=0,
            method="szoht",
        )


@most_seeds
def test_convergence_is_not_mistaken_for_rounding(seed):
    result = minimize(quadratic, np.zeros(D), k=D, max_queries=3_000, rng=seed, method="szoht")
    assert result.fun < 1e-8


def test_rounding_of_two_percent_warns():
    state = State(seed=0, n_samples=None, x=np.zeros(1), rounding=0.02, slope=1.0)
    with pytest.warns(errors.RoundingWarning):
        RoundingCheck().warn_if_radius_too_small(state)


def test_a_constant_function():
    with pytest.warns(errors.RoundingWarning):
        result = minimize(lambda x: 3.0, np.zeros(5), k=2, max_queries=100, rng=0, method="szoht")
    assert result.status is Status.QUERIES
    assert result.fun == 3.0


def test_single_precision_is_noticed():
    with pytest.warns(errors.RoundingWarning, match="precision of f"):
        minimize(
            lambda x: np.float32(100 + ((x - 1) ** 2).sum()),
            np.zeros(30),
            k=2,
            max_queries=300,
            options={"mu": 1e-6},
            method="szoht",
        )
