"""Stop rules, alone and joined."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from szoht import Status, errors, minimize
from szoht.core.algorithm import Measured
from szoht.core.clock import Clock
from szoht.result import Counts, Progress
from szoht.stopping import AnyOf, Iterations, Queries, Seconds, Stalled, Target, join_limits


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def run(**options):
    settings = {"k": 2, "options": {"q": 8}, "rng": 0} | options
    return minimize(quadratic, np.zeros(12), **settings, method="szoht")


def test_queries():
    result = run(max_queries=100)
    assert result.status is Status.QUERIES
    assert 85 < result.nfev <= 100
    assert not result.success


def test_iterations():
    result = run(max_iterations=5)
    assert result.status is Status.ITERATIONS
    assert result.nit == 5
    assert not result.success


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
    monkeypatch.setattr(Clock, "seconds", property(lambda _: float(next(ticks))))
    result = run(max_seconds=40.0)
    assert result.status is Status.SECONDS
    assert not result.success
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


def progress(iteration=0, best=1.0, value=None, queries=0):
    x = np.zeros(1)
    return Progress(
        iteration=iteration,
        counts=Counts(queries=queries),
        x=x,
        value=best if value is None else value,
        best=Measured(x, best),
        seconds=0.0,
    )


def test_target_is_reached_by_the_best_value_and_by_equality():
    check = Target(1.0).begin()
    assert check(progress(best=1.0), 0) is Status.TARGET
    assert check(progress(best=1.0, value=5.0), 0) is Status.TARGET
    assert check(progress(best=1.5, value=0.5), 0) is None


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_stalled_counts_from_the_last_real_improvement(scale):
    check = Stalled(3, rtol=1e-2).begin()
    values = [1.0, 0.5, 0.499, 0.498, 0.497, 0.497]
    found = [check(progress(t, scale * value), 0) for t, value in enumerate(values)]
    assert found == [None] * 4 + [Status.STALLED] * 2


def test_a_joined_budget_is_hard():
    for extra in ({"max_iterations": 10}, {"target": -1.0}, {"stop": Stalled(1000)}):
        result = minimize(
            quadratic,
            np.zeros(12),
            k=2,
            options={"q": 4, "step_size": 0.05},
            max_queries=50,
            rng=0,
            **extra,
            method="szoht",
        )
        assert result.nfev <= 50
        with pytest.raises(errors.BudgetError):
            minimize(
                quadratic,
                np.zeros(12),
                k=2,
                options={"q": 4},
                max_queries=4,
                rng=0,
                **extra,
                method="szoht",
            )


@pytest.mark.parametrize("maximize", [False, True])
def test_an_estimate_reaches_a_target_by_its_standard_error(maximize):
    sign = -1.0 if maximize else 1.0
    check = Target(sign * 1.0).begin()
    for value, error, reached in [(0.8, 0.1, True), (0.95, 0.1, False), (0.5, math.inf, False)]:
        now = replace(progress(), best=Measured(np.zeros(2), sign * value, error=error))
        found = check(replace(now, maximize=maximize), 0)
        assert found is (Status.TARGET if reached else None)


def test_a_target_alone_still_has_a_budget():
    rule = join_limits(
        max_queries=None, max_iterations=None, max_seconds=None, target=0.0, stop=None, default=7
    )
    assert Queries(7) in rule.rules


def test_every_joined_rule_sees_every_iteration():
    class Deaf(Iterations):
        def begin(self):
            return lambda progress, cost: None if progress.iteration != 1 else Status.ITERATIONS

    check = (Deaf(1) | Stalled(2)).begin()
    check(progress(0, 1.0), 0)
    check(progress(1, 0.5), 0)
    assert check(progress(2, 0.5), 0) is None  # Stalled saw the improvement of iteration 1


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
def test_bad_parameters_name_the_rule(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()
