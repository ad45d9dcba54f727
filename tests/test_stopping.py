"""Stop rules, alone and joined."""

import itertools

import numpy as np

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
