"""Corners that a wrong line would slip through: each test has seen the fault it is for."""

import numpy as np
import pytest
from scipy import optimize

import szoht
from szoht import AskTell, Status, errors, minimize
from szoht.core.algorithm import Measured, State
from szoht.core.random import Key
from szoht.pieces import CHUNK_VALUES
from szoht.result import Counts, Progress
from szoht.run.callbacks import Recorder
from szoht.run.rounding import RoundingGuard
from szoht.schedules import Geometric
from szoht.stopping import Iterations, Queries, Stalled, Target, join_limits


def test_nonfinite_gradient_is_skipped():
    n = [0]

    def g(x):
        n[0] += 1
        return np.full(3, np.nan) if n[0] == 2 else x - 1

    r = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=g,
        options={"step_size": 0.5},
        max_iterations=6,
        on_error="skip",
        rng=0,
    )
    assert r.status is Status.ITERATIONS
    assert r.fun < 0.1


def test_a_constant_function():
    with pytest.warns(errors.RoundingWarning):
        r = minimize(lambda x: 3.0, np.zeros(5), k=2, max_queries=100, rng=0, method="szoht")
    assert r.status is Status.QUERIES
    assert r.fun == 3.0


def test_infinity_at_the_base_of_a_stack_is_a_failure():
    r = minimize(
        lambda p: np.full(len(p), np.inf),
        np.zeros(4),
        k=1,
        vectorized=True,
        max_queries=50,
        on_error="skip",
        rng=0,
        method="szoht",
    )
    assert r.status is Status.FAILED


@pytest.mark.parametrize("at", [3, 15, 28])
def test_the_failing_query_is_numbered_in_a_search_too(at):
    n = [0]
    points = []

    def fun(x):
        n[0] += 1
        points.append(x.copy())
        return np.nan if n[0] == at else float(((x - 1) ** 2).sum())

    r = minimize(fun, np.zeros(20), k=2, options={"q": 10}, max_queries=500, rng=0, method="szoht")
    assert r.failure.query == r.nfev == at
    assert np.array_equal(r.failure.point, points[-1])


def test_a_gradient_may_scribble():
    def g(x):
        s = x - 1.0
        x[:] = np.nan
        return s

    r = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=g,
        options={"step_size": 0.5},
        max_iterations=3,
        rng=0,
    )
    assert r.status is Status.ITERATIONS


def test_dense_points_are_rationed():

    d = 1000
    sizes = []

    def fun(p):
        sizes.append(len(p))
        return (p**2).sum(1)

    minimize(
        fun,
        np.zeros(d),
        k=1,
        vectorized=True,
        options={"q": 1200, "step_size": 0.1},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert max(sizes) == CHUNK_VALUES // d


def test_complex_stacks_fail_at_the_first_query():
    r = minimize(
        lambda p: p.sum(axis=1) + 0j,
        np.zeros(4),
        k=1,
        vectorized=True,
        max_queries=50,
        rng=0,
        method="szoht",
    )
    assert r.status is Status.FAILED
    assert r.failure.query == 1


def test_the_base_of_a_sparse_aware_query_sees_the_sample():
    seen = []

    def value(x, i):
        seen.append(tuple(i))
        return 0.0

    def along(x, indices, offsets, i):
        seen.append(tuple(i))
        return offsets.sum(1)

    minimize(
        value,
        np.zeros(5),
        k=1,
        n_samples=9,
        along=along,
        options={"q": 3, "step_size": 0.1},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert seen[0] == seen[1]


@pytest.mark.parametrize("bad", [lambda: np.full(3, np.nan)])
def test_a_nan_gradient_ends_a_run_that_stops_on_errors(bad):
    n = [0]

    def g(x):
        n[0] += 1
        return bad() if n[0] == 3 else x - 1

    r = minimize(
        lambda x: float(((x - 1) ** 2).sum() / 2),
        np.zeros(3),
        k=3,
        method="iht",
        gradient=g,
        options={"step_size": 0.1},
        max_iterations=9,
        rng=0,
    )
    assert r.status is Status.FAILED
    assert r.nit == 2


def test_a_sample_multiplies_what_a_failed_plan_cost():
    n = [0]

    def fun(x, i):
        n[0] += 1
        return np.nan if n[0] == 5 else 0.0

    r = minimize(
        fun,
        np.zeros(4),
        k=1,
        n_samples=10,
        options={"q": 9, "step_size": 0.1, "sampler": szoht.Minibatch(size=3)},
        max_iterations=3,
        rng=0,
        method="szoht",
    )
    assert r.nfev == 15
    r = minimize(
        lambda x, i: 0.0,
        np.zeros(4),
        k=1,
        method="stoiht",
        gradient=lambda x, i: x,
        n_samples=10,
        options={"step_size": 0.1, "sampler": szoht.Minibatch(size=3)},
        max_iterations=4,
        rng=0,
    )
    assert r.njev == 12


def quad(x):
    return float(((x - 1) ** 2).sum())


def test_a_callback_that_stops_is_named_even_at_the_target():
    r = minimize(
        quad,
        np.zeros(12),
        k=2,
        options={"q": 8, "step_size": 0.05},
        target=11.9,
        callback=lambda p: p.best_value <= 11.9,
        max_queries=5000,
        rng=0,
        method="szoht",
    )
    assert r.status is Status.CALLBACK


def test_a_callback_that_stops_costs_no_further_query():
    r = minimize(
        quad,
        np.zeros(5),
        k=2,
        options={"q": 3, "step_size": 0.01},
        callback=lambda p: True,
        max_queries=100,
        rng=0,
        method="szoht",
    )
    assert r.nfev == 4


def test_the_run_starts_from_the_projection():
    with pytest.warns(errors.StartWarning):
        run = AskTell(np.array([1.0, 3, 2]), k=1, options={"q": 2}, rng=0, method="szoht")
    assert np.array_equal(run.ask().queries[0].base, [0, 3, 0])


def test_callbacks_come_once_per_iteration():
    seen = []
    minimize(
        quad,
        np.zeros(5),
        k=2,
        options={"q": 3},
        callback=lambda p: seen.append(p.iteration),
        max_iterations=4,
        rng=0,
        method="szoht",
    )
    assert seen == [1, 2, 3, 4]


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


def test_a_row_tells_of_the_newest_iterate():
    recorder = Recorder(np.array([1.0, 0.0]), monitor=lambda x: x.sum())
    recorder(
        Progress(
            iteration=1,
            counts=Counts(),
            x=np.array([0.0, 7.0]),
            value=3.0,
            best=Measured(np.zeros(2), 2.0),
            seconds=0.0,
        )
    )
    h = recorder.history
    assert h["monitor"][0] == 7.0
    assert h["value"][0] == 3.0
    assert h["best"][0] == 2.0
    assert h["entered"] == [(1,)]
    assert h["left"] == [(0,)]


def test_rounding_of_two_percent_warns():

    state = State(seed=0, n_samples=None, x=np.zeros(1), rounding=0.02, slope=1.0)
    with pytest.warns(errors.RoundingWarning):
        RoundingGuard().look(state)


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


def test_ask_tell_numbers_failures_in_a_search():
    run = AskTell(np.zeros(20), k=2, options={"q": 10}, max_queries=500, rng=0, method="szoht")
    run.tell(((run.ask().points() - 1) ** 2).sum(1))
    values = ((run.ask().points() - 1) ** 2).sum(1)
    values[4] = np.nan
    run.tell(values)
    assert run.result.failure.query == 11 + 5


def test_best_x_belongs_to_best_value():
    y = np.ones(1)
    assert (
        Progress(
            iteration=0,
            counts=Counts(),
            x=np.zeros(1),
            value=0.0,
            best=Measured(y, 1.0),
            seconds=0.0,
        ).best_x
        is y
    )
