"""Faults that were found once, each by the smallest run that shows it."""

import numpy as np
import pytest

from szoht import (
    Status,
    errors,
    minimize,
)
from szoht.schedules import Geometric
from szoht.stopping import Iterations, Target


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def test_a_target_gives_the_point_that_reached_it():
    result = minimize(
        quadratic,
        np.zeros(30),
        k=30,
        method="truncated_zsgd",
        target=15.0,
        max_queries=5_000,
        rng=0,
    )
    assert result.status is Status.TARGET
    assert result.fun == quadratic(result.x) <= 15.0


def test_inferred_values_do_not_reach_a_target():
    """Central differences see f - mu^2 on a concave function; the measurement tells."""

    def fun(x):
        return 5 - float(x @ x)

    result = minimize(
        fun,
        np.zeros(5),
        k=5,
        options={"central": True, "mu": 1.0, "q": 5, "step_size": 1e-9},
        target=4.5,
        max_queries=200,
        rng=0,
        method="szoht",
    )
    assert result.status is Status.QUERIES
    assert not result.success
    assert result.fun == fun(result.x)


def test_inferred_values_reach_a_target_once_they_are_measured():
    result = minimize(
        quadratic,
        np.zeros(30),
        k=2,
        options={"central": True, "q": 20, "step_size": 0.1},
        target=28.5,
        max_queries=3_000,
        rng=0,
        method="szoht",
    )
    assert result.status is Status.TARGET
    assert result.fun == quadratic(result.x) <= 28.5


@pytest.mark.parametrize("swap", [False, True])
def test_a_target_counts_whatever_the_order_of_the_rules(swap):
    rules = Iterations(1), Target(1e9)
    stop = rules[1] | rules[0] if swap else rules[0] | rules[1]
    result = minimize(quadratic, np.zeros(30), k=2, stop=stop, rng=0, method="szoht")
    assert result.status is Status.TARGET


@pytest.mark.filterwarnings("ignore::szoht.errors.RoundingWarning")
@pytest.mark.parametrize("name", ["mu", "step_size"])
def test_schedules_that_run_out_say_so(name):
    options = {"q": 4, "step_size": 1e-3, name: Geometric(start=1e-2, ratio=1e-30)}
    with pytest.raises(errors.ParameterError, match=f"`{name}` .* at iteration"):
        minimize(
            lambda x: float(x[0]),
            np.zeros(3),
            k=1,
            options=options,
            max_iterations=40,
            method="szoht",
        )
