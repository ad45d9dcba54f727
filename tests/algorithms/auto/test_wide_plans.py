"""`plan_width`: fewer rounds, never a point outside, stored with the run, given once."""

import itertools

import numpy as np
import pytest

import szoht
from interrupts import interrupted
from outcomes import most_seeds
from szoht import SparseBox
from szoht.algorithms.auto import Policy
from szoht.algorithms.auto.wide_plans import Speculation, together
from szoht.core.query import Answer, Plan, Query
from szoht.errors import ParameterError, ParameterTypeError
from szoht.problems import recovery
from szoht.store import Store

SZOHT = szoht.algorithms.szoht(k=2, q=5)


def plan_sizes(problem, width, **settings):
    """Minimize, and return how many points each plan had."""
    run = szoht.AskTell(problem.x0, plan_width=width, **settings)
    sizes = []
    while not run.done:
        points = run.ask().points()
        sizes.append(len(points))
        run.tell([problem.objective.value(x) for x in points])
    return np.array(sizes), run.result


def rounds(sizes, workers):
    return np.ceil(sizes / workers).sum()


@most_seeds
def test_regression_takes_fewer_rounds(seed):
    problem = recovery(200, 1_000, 10, noise=0.01, rng=3)
    target = 1e-3 * problem.objective.value(problem.x0)
    one, first = plan_sizes(problem, 1, k=10, target=target, rng=seed)
    wide, second = plan_sizes(problem, 16, k=10, target=target, rng=seed)
    assert first.status is second.status is szoht.Status.TARGET
    assert wide.sum() / rounds(wide, 16) > 12
    assert wide.sum() <= 1.3 * one.sum()
    assert rounds(wide, 16) <= 0.81 * rounds(one, 16)


def quadratic(d=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    target = np.zeros(d)
    target[rng.choice(d, k, replace=False)] = rng.uniform(0.3, 0.9, k)
    mix = rng.standard_normal((2 * d, d)) / np.sqrt(d)
    return lambda x: float(((mix @ (x - target)) ** 2).sum())


@pytest.mark.parametrize("width", [2, 16])
def test_the_number_of_workers_changes_nothing(width):
    fun, x0 = quadratic(), np.zeros(60)
    runs = [
        szoht.minimize(fun, x0, k=3, max_queries=300, rng=0, plan_width=width, executor=executor)
        for executor in (None, szoht.executors.Threads(3))
    ]
    assert runs[0].x.tobytes() == runs[1].x.tobytes()
    assert runs[0].nfev == runs[1].nfev


@pytest.mark.parametrize("budget", [1, 7, 20, 33, 64, 150])
def test_no_point_outside_and_none_beyond_the_budget(budget):
    low, high = np.full(60, -0.2), np.full(60, 0.5)
    inner, calls = quadratic(), itertools.count(1)

    def fun(x):
        assert (x >= low).all()
        assert (x <= high).all()
        assert next(calls) <= budget
        return inner(x)

    constraint = SparseBox(3, low, high)
    result = szoht.minimize(
        fun, np.zeros(60), constraint=constraint, max_queries=budget, rng=0, plan_width=16
    )
    assert result.nfev <= budget


def test_it_is_stored_with_the_run(tmp_path):
    fun, calls = quadratic(), itertools.count(1)

    def impatient(x):
        if next(calls) == 100:
            raise KeyboardInterrupt
        return fun(x)

    policy = {"policy": Policy(swap_pairs=5)}
    settings = {"k": 3, "max_queries": 400, "rng": 0, "plan_width": 8, "options": policy}
    path = tmp_path / "runs.db"
    whole = szoht.minimize(fun, np.zeros(60), **settings)
    stopped = interrupted(szoht.minimize, impatient, np.zeros(60), **settings, store=path)
    with Store(path) as store:
        method = store.spec(stopped.run).method
        assert method.plan_width == 8
        assert method.policy == policy["policy"]
    calls = itertools.count(101)
    again = szoht.resume(path, fun=impatient)
    assert again.x.tobytes() == whole.x.tobytes()
    assert again.nfev == whole.nfev


@most_seeds
def test_values_that_differ_each_time_are_not_reused(seed):
    rng, inner = np.random.default_rng(seed), quadratic()
    result = szoht.minimize(
        lambda x: inner(x) + 0.05 * rng.standard_normal(),
        np.zeros(60),
        k=3,
        max_queries=1_000,
        rng=seed,
        plan_width=16,
    )
    assert inner(result.x) < 0.1 * inner(np.zeros(60))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"plan_width": 0}, ParameterError, "plan_width"),
        ({"plan_width": 2.5}, ParameterTypeError, "plan_width"),
        ({"plan_width": 4, "method": "szoht"}, ParameterError, "'auto'"),
        (
            {"plan_width": 4, "method": SZOHT},
            ParameterError,
            "plan_width",
        ),
    ],
)
def test_what_cannot_be_is_refused(settings, error, message):
    k = {} if "method" in settings and not isinstance(settings["method"], str) else {"k": 2}
    with pytest.raises(error, match=message):
        szoht.minimize(quadratic(), np.zeros(60), **k, **settings)


def test_proposed_points_fill_plans_and_are_given_once():
    wide, points = Speculation(4), [np.full(3, float(i)) for i in range(9)]
    assert wide.whole(5) == 8
    wide.propose(wanted=points[:2], fitting=points[2:])
    assert [x[0] for x in wide.take(3, 100)] == [0, 1, 2, 3, 4]
    assert wide.take(3, 100) == []
    wide.propose(wanted=points)
    assert len(wide.take(1, 3)) == 2
    wide.keep(points[:1], [7.0])
    plan = Plan(queries=(Query(base=points[0]), Query(base=points[1])))
    np.testing.assert_array_equal(wide.known(plan), [7.0, np.nan])
    assert wide.known(plan) is None


def test_several_parts_share_their_plans():
    def part(count):
        total = 0.0
        for i in range(count):
            (answer,) = yield Plan(queries=(Query(base=np.full(2, 10.0 * count + i)),))
            total += answer.values[0]
        return total

    steps, sizes = together([part(2), part(0), part(3)]), []
    plan = next(steps)
    try:
        while True:
            sizes.append(plan.n_points)
            plan = steps.send([Answer(values=q.base[:1]) for q in plan.queries])
    except StopIteration as end:
        totals = end.value
    assert totals == [20 + 21, 0.0, 30 + 31 + 32]
    assert sizes == [2, 2, 1]
