"""Maximizing: the user's sign everywhere."""

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht.stopping import Stalled, Target

PEAK = np.zeros(50)
PEAK[[4, 30]] = [1.0, -2.0]


def height(x):
    return 7.0 - float(((x - PEAK) ** 2).sum())


def depth(x):
    return -height(x)


METHODS = [
    ("auto", {}),
    ("szoht", {}),
    ("zoro", {}),
    ("momentum_szoht", {}),
]


@pytest.mark.parametrize(("method", "options"), METHODS)
def test_maximizing_is_minimizing_with_the_other_sign(method, options):
    settings = {"k": 2, "method": method, "options": options, "max_queries": 400, "rng": 0}
    up = szoht.maximize(height, np.zeros(50), **settings)
    down = szoht.minimize(depth, np.zeros(50), **settings)
    assert np.array_equal(up.x, down.x)
    assert (up.fun, up.nfev, up.status) == (-down.fun, down.nfev, down.status)
    assert height(up.x) == up.fun
    assert up.maximize
    for column in ("value", "best"):
        assert np.array_equal(up.history[column], -down.history[column], equal_nan=True)


def test_the_best_value_rises():
    result = szoht.maximize(height, np.zeros(50), k=2, method="szoht", max_queries=500, rng=0)
    assert (np.diff(result.history["best"]) >= 0).all()


@pytest.mark.parametrize("settings", [{"target": 6.9}, {"stop": Target(6.9)}])
@most_seeds
def test_a_target_is_reached_from_below(seed, settings):
    result = szoht.maximize(height, np.zeros(50), k=2, rng=seed, **settings)
    assert result.status is szoht.Status.TARGET
    assert result.success
    assert 6.9 <= result.fun <= 7.0


def test_a_stall_is_one_of_the_highest_value():
    settings = {"k": 2, "method": "szoht", "stop": Stalled(2, rtol=1e-3), "rng": 0}
    up = szoht.maximize(height, np.zeros(50), **settings)
    down = szoht.minimize(depth, np.zeros(50), **settings)
    assert up.status is szoht.Status.STALLED
    assert up.nit == down.nit > 2


def test_callbacks_and_own_rules_see_the_users_values():
    seen = []
    szoht.maximize(height, np.zeros(50), k=2, max_queries=300, rng=0, callback=seen.append)
    assert seen[-1].best_value == height(seen[-1].best_x)
    assert all(progress.maximize for progress in seen)


@most_seeds
def test_a_path_of_maxima(seed):
    result = szoht.maximize(height, np.zeros(50), max_queries=2_000, rng=seed)
    assert result.knee == 2
    assert [round(point.fun, 6) for point in result.path[:3]] == [2.0, 6.0, 7.0]


@most_seeds
def test_ask_tell_takes_the_users_values(seed):
    run = szoht.AskTell(np.zeros(50), k=2, maximize=True, target=6.99, max_queries=500, rng=seed)
    while not run.done:
        run.tell([height(x) for x in run.ask().points()])
    assert run.result.status is szoht.Status.TARGET
    assert run.result.fun == height(run.result.x)


def test_a_gradient_has_the_users_sign():
    result = szoht.maximize(
        height,
        np.zeros(50),
        k=2,
        method="iht",
        gradient=lambda x: -2 * (x - PEAK),
        max_iterations=100,
        rng=0,
    )
    assert result.fun == pytest.approx(7.0)


def test_what_the_solver_says_is_marked():
    result = szoht.maximize(height, np.zeros(50), k=2, max_queries=300, rng=0)
    assert "-f" in result.explain[0]


def test_infinities_are_failures_of_either_sign():
    result = szoht.maximize(
        lambda x: np.inf if x[4] > 0.9 else height(x),
        np.zeros(50),
        k=2,
        on_error="skip",
        max_queries=300,
        rng=0,
    )
    assert result.fun <= 7.0
