"""Corners that a wrong line would slip through: each test has seen the fault it is for."""

import numpy as np
import pytest
from scipy import optimize

import szoht
from szoht import Status, errors, minimize
from szoht.core.algorithm import Measured
from szoht.core.random import Key
from szoht.result import Counts, Progress
from szoht.schedules import Geometric
from szoht.stopping import Iterations, Queries, Stalled, Target, join_limits


def quad(x):
    return float(((x - 1) ** 2).sum())


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
    assert [check(progress(t, scale * v), 0) for t, v in enumerate(values)] == [None] * 4 + [
        Status.STALLED
    ] * 2


def test_a_joined_budget_is_hard():
    for extra in ({"max_iterations": 10}, {"target": -1.0}, {"stop": Stalled(1000)}):
        r = minimize(
            quad,
            np.zeros(12),
            k=2,
            options={"q": 4, "step_size": 0.05},
            max_queries=50,
            rng=0,
            **extra,
            method="szoht",
        )
        assert r.nfev <= 50
        with pytest.raises(errors.BudgetError):
            minimize(
                quad,
                np.zeros(12),
                k=2,
                options={"q": 4},
                max_queries=4,
                rng=0,
                **extra,
                method="szoht",
            )


def test_a_target_alone_still_has_a_budget():
    rule = join_limits(
        max_queries=None, max_iterations=None, max_seconds=None, target=0.0, stop=None, default=7
    )
    assert Queries(7) in rule.rules


def test_every_joined_rule_sees_every_iteration():
    class Deaf(Iterations):
        def begin(self):
            return lambda p, c: None if p.iteration != 1 else Status.ITERATIONS

    check = (Deaf(1) | Stalled(2)).begin()
    check(progress(0, 1.0), 0)
    check(progress(1, 0.5), 0)
    assert check(progress(2, 0.5), 0) is None  # Stalled saw the improvement of iteration 1


def test_growth_beyond_floats():
    assert Geometric(start=1.0, ratio=10.0, high=99.0)(10**6) == 99.0


def test_a_batch_with_replacement_may_exceed_the_sum():
    assert szoht.Minibatch(size=9, replace=True).draw(Key(seed=0), 4).size == 9


def test_none_is_no_bound():
    r = optimize.minimize(
        lambda x: float(((x + 2) ** 2).sum()),
        np.zeros(3),
        method=szoht.scipy_method(k=3),
        bounds=[(None, None)] * 3,
        options={"max_queries": 500, "rng": 0},
    )
    assert np.allclose(r.x, -2, atol=1e-2)


def test_scipy_conventions():
    def f(x, c):
        return float(((x - c) ** 2).sum())

    opts = {"max_queries": 300, "rng": 0}
    r = optimize.minimize(
        f,
        np.zeros(3),
        args=(9.0,),
        jac=lambda x, c: 2 * (x - c),
        method=szoht.scipy_method(k=3, method="iht"),
        bounds=[(None, None)] * 3,
        options=opts,
    )
    assert np.allclose(r.x, 9.0, atol=1e-3)

    def callback(intermediate_result):
        assert intermediate_result.fun == f(intermediate_result.x, 9.0)

    optimize.minimize(
        f,
        np.zeros(3),
        args=(9.0,),
        method=szoht.scipy_method(k=3, method="szoht"),
        callback=callback,
        options={"max_queries": 300, "rng": 0, "options": {"q": 3, "step_size": 0.1}},
    )


def test_best_x_belongs_to_best_value():
    best = Measured(np.ones(1), 1.0)
    progress = Progress(
        iteration=0, counts=Counts(), x=np.zeros(1), value=0.0, best=best, seconds=0.0
    )
    assert progress.best_x is best.x
