"""The loop: budgets, counts, powers of the objective, and the same bits on every road."""

from itertools import pairwise

import numpy as np
import pytest

from outcomes import always, most_seeds
from szoht import AskTell, Minibatch, SparseBox, Status, minimize
from szoht.core.objective import Objective, as_objective

D = 40


TARGET = np.zeros(D)
TARGET[[3, 17, 29]] = [1.0, -2.0, 0.5]


def quadratic(x):
    return float(((x - TARGET) ** 2).sum())


def stacked(points):
    return ((points - TARGET) ** 2).sum(axis=1)


def along(x, indices, offsets):
    slope = 2 * (x - TARGET)[indices]
    return quadratic(x) + (slope * offsets + offsets**2).sum(axis=1)


class Counting:
    """A function that counts the points it sees."""

    def __init__(self, fun=quadratic):
        self.fun = fun
        self.points = 0

    def __call__(self, x):
        self.points += 1 if x.ndim == 1 else len(x)
        return self.fun(x)


def run(fun=quadratic, **options):
    settings = {"k": 3, "max_queries": 700, "rng": 0, "method": "szoht"} | options
    return minimize(fun, np.zeros(D), **settings)


@most_seeds
def test_the_support_is_found(seed):
    result = run(rng=seed)
    always(result.fun == quadratic(result.x))
    always(not result.success)  # a spent limit is none, as in SciPy
    always(result.status is Status.QUERIES)
    assert np.array_equal(result.support, [3, 17, 29])
    assert np.allclose(result.x, TARGET, atol=1e-3)


@pytest.mark.parametrize("max_queries", [36, 37, 53, 54, 57, 100, 333])
@pytest.mark.parametrize("options", [{}, {"step_size": 0.1}, {"central": True, "mu": 1e-3}])
def test_the_budget_is_never_exceeded_and_counted_exactly(max_queries, options):
    fun = Counting()
    seen = []
    result = run(
        fun,
        max_queries=max_queries,
        options={"q": 17, **options},
        callback=lambda progress: seen.append(progress.queries),
    )
    assert fun.points == result.nfev == result.counts.points <= max_queries
    if seen:
        assert result.history["queries"][-1] == seen[-1] == result.nfev


@pytest.mark.parametrize(
    ("options", "per_iteration"),
    [
        ({"q": 9, "mu": 1e-6, "step_size": 0.1}, 10),
        ({"q": 9, "step_size": 0.1, "central": True, "mu": 1e-3}, 18),
        ({"q": 9, "mu": 1e-6, "step_size": 0.1, "support_size": 4}, 10),
    ],
)
def test_documented_cost_per_iteration(options, per_iteration):
    result = run(options=options, max_queries=None, max_iterations=7)
    assert result.nit == 7
    # and one to measure the last iterate, or the best one if it was only inferred
    assert result.nfev == 7 * per_iteration + 1


def test_line_search_costs_three_queries_and_more_at_first():
    result = run(options={"q": 9, "mu": 1e-6}, max_queries=None, max_iterations=7)
    assert result.nfev == 7 * 10 + 17 + 6 * 3


def test_first_order_methods_count_gradients():
    result = run(method="iht", gradient=lambda x: 2 * (x - TARGET), options={"step_size": 0.4})
    assert result.njev == result.nit
    assert result.nfev == result.nit + 1 or result.nfev == result.nit
    assert np.allclose(result.x, TARGET)


def test_a_sample_of_size_b_costs_b():
    centres = TARGET + np.zeros((12, 1))

    def fun(x, sample):
        return float(((x - centres[sample]) ** 2).sum(axis=1).mean())

    result = run(
        fun,
        n_samples=12,
        max_queries=None,
        max_iterations=4,
        options={"q": 5, "mu": 1e-6, "step_size": 0.1, "sampler": Minibatch(size=4)},
    )
    assert result.counts.points == 4 * 6 + 1
    assert result.nfev == 4 * result.counts.points


def test_all_points_of_a_difference_share_one_sample():
    seen = []

    def fun(x, sample):
        seen.append(tuple(sample))
        return float((x**2).sum())

    run(
        fun,
        n_samples=50,
        max_queries=None,
        max_iterations=6,
        options={"q": 5, "mu": 1e-6, "step_size": 0.1},
    )
    rounds = [set(seen[6 * t : 6 * t + 6]) for t in range(6)]
    assert all(len(samples) == 1 for samples in rounds)
    assert len(set.union(*rounds)) == 6


@pytest.mark.parametrize("options", [{}, {"support_size": 5}, {"central": True, "mu": 1e-4}])
def test_every_road_gives_the_same_bits(options):
    plain = run(options=options)
    roads = [
        run(stacked, vectorized=True, options=options),
        run(stacked, vectorized=True, options=options, chunk_size=1),
        run(stacked, vectorized=True, options=options, chunk_size=7),
        run(Objective(value=lambda x, _: quadratic(x)), options=options),
    ]
    asked = AskTell(np.zeros(D), k=3, max_queries=700, rng=0, options=options, method="szoht")
    while not asked.done:
        assert asked.ask() is asked.ask()
        asked.tell([quadratic(point) for point in asked.ask().points()])
    for other in [*roads, asked.result]:
        assert np.array_equal(plain.x, other.x)
        assert plain.fun == other.fun
        assert plain.nfev == other.nfev
        assert np.array_equal(plain.history["value"], other.history["value"])


def test_sparse_offsets_are_enough():
    """`along` rounds differently, so the runs agree to rounding only."""
    sparse_only = Objective(
        value=lambda x, _: quadratic(x),
        along=lambda x, indices, offsets, _: along(x, indices, offsets),
    )
    for options in ({"support_size": 5, "step_size": 0.05}, {"step_size": 0.05}):
        settings = {"options": options, "max_queries": None, "max_iterations": 5}
        ours, plain = run(sparse_only, **settings), run(**settings)
        assert np.allclose(ours.x, plain.x, atol=1e-5)
        assert ours.nfev == plain.nfev
        other = run(quadratic, along=along, chunk_size=3, **settings)
        assert np.array_equal(ours.x, other.x)


def test_seeds_mean_something():
    assert np.array_equal(run(rng=3).x, run(rng=3).x)
    assert not np.array_equal(run(rng=3).x, run(rng=4).x)
    random = run(rng=None)
    assert np.array_equal(run(rng=random.seed).x, random.x)


def test_iterates_are_sparse_at_every_step_and_history_follows_the_support():
    supports = [np.array([], dtype=int)]
    result = run(callback=lambda p: supports.append(p.support) if len(supports) < 500 else None)
    assert all(len(support) <= 3 for support in supports)
    history = result.history
    for row, (before, after) in enumerate(pairwise(supports)):
        assert history["entered"][row] == tuple(sorted(set(after) - set(before)))
        assert history["left"][row] == tuple(sorted(set(before) - set(after)))
        assert history["support_size"][row] == len(after)


def test_history_becomes_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(run().history)
    assert list(frame["iteration"]) == sorted(frame["iteration"])
    assert frame["best"].is_monotonic_decreasing


def test_best_value_is_monotone_and_returned():
    result = run(options={"q": 20, "step_size": 0.3})
    assert result.fun == result.history["best"][-1] == min(result.history["best"])


def test_last_iterate_is_the_last_measured_one():
    seen = []
    result = run(
        options={"q": 4, "mu": 1e-6, "step_size": 0.05, "iterate": "last"},
        max_queries=51,
        callback=lambda p: seen.append(p.x),
    )
    # ten iterations of five queries, and one query left to measure the last iterate
    assert result.nfev == 51
    assert np.array_equal(result.x, seen[-1])
    assert result.fun == quadratic(result.x)
    exact = run(options={"q": 4, "mu": 1e-6, "step_size": 0.05, "iterate": "last"}, max_queries=50)
    # no query left: the iterate before it, whose value is known
    assert exact.nfev == 50
    assert exact.fun == quadratic(exact.x)


def test_central_differences_report_a_measured_value():
    result = run(options={"central": True, "mu": 0.05, "step_size": 0.2, "q": 20})
    assert result.fun == quadratic(result.x)


def test_a_function_may_scribble_on_its_argument():
    def scribbler(x):
        value = quadratic(x)
        x[:] = np.nan
        return value

    assert np.array_equal(run(scribbler).x, run().x)


@most_seeds
def test_constraints_other_than_sparsity(seed):
    box = SparseBox(3, low=-1.0, high=1.0)
    result = run(k=None, constraint=box, rng=seed)
    always(box.contains(result.x))
    assert np.array_equal(result.support, [3, 17, 29])
    assert result.x[17] == -1.0
    # the slope along the clipped coordinate stays, and so does the noise that it brings
    assert np.allclose(result.x[[3, 29]], [1.0, 0.5], atol=0.1)


def test_an_objective_object_declares_its_powers():
    class Problem:
        n_samples = 5

        def value(self, x, sample):
            return quadratic(x)

        def gradient(self, x, sample):
            return 2 * (x - TARGET)

    objective = as_objective(Problem())
    assert objective.stochastic
    assert objective.values is None
    result = run(Problem(), method="stoiht", options={"step_size": 0.4})
    assert np.allclose(result.x, TARGET)


def test_monitoring_is_neither_counted_nor_timed():
    calls = []

    def monitor(x):
        calls.append(1)
        return quadratic(x)

    result = run(monitor=monitor)
    assert len(calls) == len(result.history["monitor"]) == len(result.history["queries"])
    assert result.nfev == run().nfev


def test_without_any_limit_a_run_ends():
    fun = Counting(lambda x: float((x**2).sum()))
    result = minimize(
        fun,
        np.zeros(4),
        k=2,
        rng=0,
        options={"q": 400, "mu": 1e-6, "step_size": 0.1},
        method="szoht",
    )
    assert result.status is Status.QUERIES
    assert 10_000 < result.nfev <= 100 * 401


@most_seeds
def test_dimension_one(seed):
    result = minimize(
        lambda x: float((x[0] - 2) ** 2), [0.0], k=1, max_queries=200, rng=seed, method="szoht"
    )
    assert result.x[0] == pytest.approx(2.0, abs=1e-4)


@most_seeds
def test_a_hundred_thousand_dimensions_need_no_dense_stack(seed):
    d = 100_000
    y = np.zeros(d)
    y[-2:] = [1.0, -1.0]
    result = minimize(
        lambda x: 0.5 * float(((x - y) ** 2).sum()),
        np.zeros(d),
        k=2,
        max_queries=400,
        rng=seed,
        method="szoht",
    )
    assert np.array_equal(result.support, [d - 2, d - 1])
