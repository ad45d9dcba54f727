"""Stop rules, alone and joined."""

import itertools

import numpy as np
import pytest

from szoht import Status, minimize
from szoht.run import ask_tell as ask_tell_module
from szoht.stopping import AnyOf, Iterations, Queries, Seconds, Stalled, Target


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def run(**options):
    settings = {"k": 2, "options": {"q": 8}, "rng": 0} | options
    return minimize(quadratic, np.zeros(12), **settings, method="szoht")


def test_queries():
    result = run(max_queries=100)
    assert result.status is Status.QUERIES
    assert 85 < result.nfev <= 100
    assert result.success


def test_iterations():
    result = run(max_iterations=5)
    assert result.status is Status.ITERATIONS
    assert result.nit == 5
    assert result.success


def test_target():
    result = run(target=10.5, max_queries=5_000)
    assert result.status is Status.TARGET
    assert result.fun <= 10.5
    assert result.success
    assert result.nfev < 5_000


def test_a_missed_target_is_no_success():
    result = run(target=0.0, max_queries=200)
    assert result.status is Status.QUERIES
    assert not result.success


def test_the_last_measurement_may_reach_the_target():
    """One iteration is allowed, and only the point after it reaches the target."""
    after = run(max_iterations=1, options={"q": 8, "step_size": 0.05})
    before = quadratic(np.zeros(12))
    assert after.fun < before
    result = run(
        max_iterations=1, options={"q": 8, "step_size": 0.05}, target=(before + after.fun) / 2
    )
    assert result.status is Status.TARGET


def test_stalled():
    result = run(stop=Stalled(4, rtol=1e-3), max_queries=100_000)
    assert result.status is Status.STALLED
    assert result.success
    best = result.history["best"]
    assert best[-1] >= best[-5] * (1 - 1e-3)


def test_seconds_without_waiting(monkeypatch):
    """A clock that ticks once per look: the limit is reached without any real time passing."""
    ticks = itertools.count()
    monkeypatch.setattr(ask_tell_module.Clock, "seconds", property(lambda _: float(next(ticks))))
    result = run(max_seconds=40.0)
    assert result.status is Status.SECONDS
    assert result.success
    assert 0 < result.nit < 40


def test_rules_join():
    rule = Queries(10) | Iterations(3) | Target(0.0)
    assert rule == AnyOf((Queries(10), Iterations(3), Target(0.0)))
    assert (Seconds(1) | rule).rules == (Seconds(1), *rule.rules)
    assert rule.has_target
    assert not (Queries(10) | Seconds(2)).has_target


def test_joined_rules_stop_at_the_first():
    assert run(stop=Iterations(3) | Queries(10_000)).status is Status.ITERATIONS
    assert run(stop=Iterations(300) | Queries(60)).nfev <= 60


@pytest.mark.parametrize("stop", [True, np.True_])
def test_a_callback_stops_by_returning_true(stop):
    result = run(callback=lambda p: stop if p.iteration == 3 else None, max_queries=1_000)
    assert result.status is Status.CALLBACK
    assert result.nit == 3
    assert not result.success


def test_a_callback_stops_by_stop_iteration():
    def callback(progress):
        if progress.iteration == 2:
            raise StopIteration

    assert run(callback=callback, max_queries=1_000).nit == 2


def test_a_callback_that_returns_a_number_does_not_stop():
    assert run(callback=lambda p: p.best_value, max_iterations=4).nit == 4


def test_several_callbacks_all_see_the_run():
    seen = [], []
    run(callback=[seen[0].append, seen[1].append], max_iterations=4)
    assert [p.iteration for p in seen[0]] == [p.iteration for p in seen[1]]


def test_callbacks_cannot_change_the_run():
    def vandal(progress):
        with pytest.raises(ValueError, match="read-only"):
            progress.x[0] = 5.0
        with pytest.raises(AttributeError):
            progress.iteration = 7

    assert np.array_equal(run(callback=vandal, max_iterations=3).x, run(max_iterations=3).x)
