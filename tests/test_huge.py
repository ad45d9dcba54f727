"""Runs from a sparse start: the bits of the dense run, and no trace of the dimension."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from szoht import (
    AskTell,
    Objective,
    SparseBox,
    SparseVector,
    Status,
    algorithms,
    minimize,
    szoht,
)
from szoht.core.implicit import NO_BIT, ImplicitSigns, hash_of
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.errors import CapabilityError, ParameterError, StartWarning
from szoht.estimators import Sketch
from szoht.estimators.sketch import _slopes
from szoht.operators import Box
from szoht.samplers import Minibatch
from szoht.schedules import Polynomial


class Quadratic:
    """0.5 sum_j c_j (x_j - v_j)^2 over ten coordinates, whatever the dimension."""

    def __init__(self, d, *, seed=0, k=10, support=None, wanted=None, conditioning=3.0):
        generator = np.random.default_rng(seed)
        self.support = (
            np.sort(generator.choice(d, k, replace=False)) if support is None else support
        )
        self.wanted = generator.standard_normal(k) if wanted is None else wanted
        self.curvature = np.linspace(1, conditioning, self.support.size)

    def value(self, x, sample=None):
        return 0.5 * float((self.curvature * (x[self.support] - self.wanted) ** 2).sum())

    def along(self, x, indices, offsets, sample=None):
        place = np.searchsorted(self.support, indices).clip(max=self.support.size - 1)
        curvature = np.where(self.support[place] == indices, self.curvature[place], 0.0)
        slope = curvature * (x[indices] - self.wanted[place])
        return self.value(x) + (slope * offsets + 0.5 * curvature * offsets**2).sum(axis=1)


SETTINGS = [
    {"step_size": 0.01},
    {},
    {"step_size": Polynomial(start=0.02), "central": True},
    {"orthogonal": True, "iterate": "last"},
    {"step_size": 0.01, "iterate": "average"},
]


def assert_same_run(dense, thin):
    assert np.array_equal(dense.x, thin.x.toarray())
    assert np.array_equal(dense.support, thin.support)
    assert dense.fun == thin.fun
    for column in ("queries", "value", "best", "support_size"):
        assert np.array_equal(dense.history[column], thin.history[column], equal_nan=True)
    assert dense.history["entered"] == thin.history["entered"]


@pytest.mark.parametrize(
    ("d", "method", "options"),
    [(d, "szoht", options) for options in SETTINGS for d in (2_000, 50_000)]
    + [(2_000, "hzo_ht", SETTINGS[0]), (2_000, "hzo_ht", SETTINGS[1])],
    ids=str,
)
def test_sparse_iterates_are_the_dense_ones_bit_for_bit(d, method, options):
    settings = {
        "k": 10,
        "method": method,
        "options": {"q": 100, "support_size": 50, **options},
        "max_iterations": 12,
        "rng": 3,
    }
    problem = Quadratic(d)
    start = np.zeros(d)
    start[[5, 17]] = [1.0, -0.3]
    thin_start = sparse.coo_array(start)
    assert_same_run(minimize(problem, start, **settings), minimize(problem, thin_start, **settings))
    # and for a plain function, which is handed sparse points one at a time
    fun, settings = problem.value, settings | {"max_iterations": 3}
    assert_same_run(minimize(fun, start, **settings), minimize(fun, thin_start, **settings))


def test_ask_tell_gives_the_same_run():
    d, problem = 2_000, Quadratic(2_000)
    settings = {"k": 3, "method": "szoht", "options": {"q": 40, "support_size": 30}, "rng": 0}
    run = AskTell(SparseVector(d), max_queries=600, **settings)
    while not run.done:
        run.tell([problem.value(x) for x in run.ask().points()])
    twin = minimize(problem.value, np.zeros(d), max_queries=600, **settings)
    assert np.array_equal(run.result.x.toarray(), twin.x)
    base, offsets = AskTell(SparseVector(d), max_queries=600, **settings).ask().sparse_points()[0]
    assert isinstance(base, SparseVector)
    assert offsets.shape == (41, d)


def test_a_billion_coordinates_leave_no_trace():
    d = 10**9
    result = minimize(
        Quadratic(d),
        SparseVector(d, [3, 4], [1.0, 1.0]),
        k=10,
        method="szoht",
        options={"q": 30, "support_size": 20},
        max_iterations=3,
        callback=lambda progress: len(pickle.dumps(progress.x)) > 1000,
        rng=0,
    )
    assert result.status is Status.ITERATIONS
    assert isinstance(result.x, SparseVector)
    assert "(d = 1000000000)" in str(result)


def test_a_start_with_too_many_entries_is_projected():
    with pytest.warns(StartWarning, match="3 non-zeros"):
        run = AskTell(
            SparseVector(10**9, [1, 2, 3], [3.0, 1.0, 2.0]),
            method=szoht(k=2, q=5, support_size=5),
            max_iterations=1,
        )
    assert run.state.x.indices.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"k": 2, "method": "szoht", "options": {"q": 5, "support_size": 100}}, "Sphere"),
        ({"k": 2, "method": "szoht"}, "Sphere"),
        ({"k": 2, "method": "truncated_zsgd"}, "Gaussian"),
        ({"k": 2, "method": "momentum_szoht", "options": {"support_size": 9}}, "Momentum"),
        ({"method": algorithms.auto(k=2)}, "Auto"),
        (
            {
                "constraint": SparseBox(2, low=-1.0, high=1.0),
                "method": "szoht",
                "options": {"support_size": 9},
            },
            "SparseBox",
        ),
    ],
)
def test_dense_parts_are_named(settings, part):
    with pytest.raises(CapabilityError, match=rf"{part}.*Pass `x0` as an array"):
        minimize(lambda x: 0.0, SparseVector(100), **settings)


def test_dense_functions_are_told_the_remedy():
    method = szoht(k=2, q=5, support_size=5)
    with pytest.raises(CapabilityError, match=r"vectorised.*Pass `x0` as an array"):
        minimize(lambda x: x.sum(axis=1), SparseVector(100), method=method, vectorized=True)
    result = minimize(lambda x: float(np.sum(x**2)), SparseVector(100), method=method)
    assert result.status is Status.FAILED
    assert "pass `x0` as an array" in result.message


def test_hash_is_splitmix64():
    """A transcription with Python's integers."""

    def naive(i, seed):
        mask = 2**64 - 1
        z = (i * 0x9E3779B97F4A7C15 + seed) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    indices = np.array([0, 1, 12345, 10**12])
    for seed in (0, 7, 2**64 - 1):
        assert hash_of(indices, seed).tolist() == [naive(int(i), seed) for i in indices]
    # the first outputs of SplitMix64 with state 0 and 1
    assert hash_of(np.array([1]), 0)[0] == 0xE220A8397B1DCDAF
    assert hash_of(np.array([1]), 1)[0] == 0x910A2DEC89025CC1


def test_buckets_and_signs_are_even():
    d, buckets = 40_000, 8
    every = ImplicitSigns(
        d=d,
        seed=11,
        buckets=buckets,
        bucket=np.arange(buckets),
        bit=np.full(buckets, NO_BIT),
        excluded=np.array([4, 7]),
    )
    rows = np.concatenate([values for _, values in every.slices(0, buckets)])
    assert np.array_equal(np.abs(rows).sum(axis=0), (~np.isin(np.arange(d), [4, 7])).astype(float))
    sizes = np.count_nonzero(rows, axis=1)
    assert (np.abs(sizes - d / buckets) < 5 * np.sqrt(d / buckets)).all()
    assert (np.abs(rows.sum(axis=1)) < 5 * np.sqrt(sizes)).all()


PROBLEMS = {
    "plain": {},
    "other": {"seed": 1},
    "neighbours": {"support": 123_456 + np.arange(10)},
    "equal magnitudes": {"wanted": np.array([1.0, -1.0] * 5)},
    "four orders of magnitude": {"wanted": np.geomspace(1e-3, 10, 10)},
    "the ends": {"support": np.array([0, 10**6 - 1]), "wanted": np.array([1.0, 2.0])},
}


@pytest.mark.parametrize(
    ("d", "name"),
    [(10**6, "plain"), (10**6, "the ends"), (10**12, "plain"), (10**12, "neighbours")]
    + [(10**9, name) for name in PROBLEMS],
)
def test_sketch_recovers_ten_coordinates_from_values(d, name):
    problem = Quadratic(d, **PROBLEMS[name])
    queries = []

    def fun(x):
        queries.append(x)
        return problem.value(x)

    settings = {"k": 10, "method": "sketch_ht", "target": 1e-10, "max_queries": 6_000, "rng": 2}
    result = minimize(fun, SparseVector(d), **settings)
    assert result.status is Status.TARGET
    assert result.support.tolist() == problem.support.tolist()
    assert len(queries) == result.nfev
    assert np.abs(result.x[problem.support] - problem.wanted).max() < 2e-5


@pytest.mark.parametrize("d", [30, 5_000])
def test_sketch_is_the_same_run_dense_and_sparse(d):
    problem = Quadratic(d, k=3)
    settings = {"k": 3, "method": "sketch_ht", "max_iterations": 8, "rng": 5}
    dense = minimize(problem.value, np.zeros(d), **settings)
    assert_same_run(dense, minimize(problem.value, SparseVector(d), **settings))
    # the same again; and with `along` for the axes beside lookups for the buckets, up to rounding
    again = minimize(problem.value, SparseVector(d), **settings)
    assert np.array_equal(again.x.toarray(), dense.x)
    widths = set()

    def along(x, indices, offsets):
        widths.add(indices.shape[1])
        return problem.along(x, indices, offsets)

    mixed = minimize(problem.value, SparseVector(d), along=along, **settings)
    assert np.array_equal(mixed.support, dense.support)
    assert widths == {1}


def test_sketch_under_noise():
    d = 10**9
    signs = np.array([1.0, -1.5, 2.0, -0.5, 1.0])
    problem = Quadratic(d, k=5, wanted=signs)
    noise = np.random.default_rng(0)
    result = minimize(
        lambda x: problem.value(x) + 1e-3 * noise.standard_normal(),
        SparseVector(d),
        k=5,
        method="sketch_ht",
        options={"mu": 0.1},
        max_queries=3_000,
        rng=0,
    )
    assert result.support.tolist() == problem.support.tolist()
    assert problem.value(result.x) < 1e-2


def test_sketch_on_logistic_regression_with_hashed_features():
    """Three hundred slots of a billion occur in the data, and the label depends on five."""
    d, n, active, k = 10**9, 300, 300, 5
    generator = np.random.default_rng(4)
    slots = np.sort(generator.choice(d, active, replace=False))
    features = generator.standard_normal((n, active)) * (generator.random((n, active)) < 0.1)
    relevant = np.sort(generator.choice(active, k, replace=False))
    features[:, relevant] = generator.standard_normal((n, k))
    labels = np.sign(features[:, relevant] @ np.array([1.5, -2.0, 1.0, -1.0, 2.0]))

    def fun(x):
        return float(np.logaddexp(0, -labels * (features @ x[slots])).mean())

    result = minimize(fun, SparseVector(d), k=k, method="sketch_ht", max_queries=3_000, rng=0)
    assert result.support.tolist() == slots[relevant].tolist()
    assert result.fun < 0.3 * np.log(2)


def test_sketch_survives_failures():
    d, problem = 10**9, Quadratic(10**9, k=3)
    calls = []

    def fragile(x):
        calls.append(1)
        return float("nan") if len(calls) % 17 == 5 else problem.value(x)

    settings = {"k": 3, "method": "sketch_ht", "max_queries": 4_000, "rng": 1}
    result = minimize(fragile, SparseVector(d), on_error="skip", target=1e-8, **settings)
    assert result.status is Status.TARGET
    assert result.counts.failures > 3
    calls.clear()
    result = minimize(fragile, SparseVector(d), **settings)
    assert result.status is Status.FAILED
    assert "one bucket of the others moved" in result.message


def test_one_side_of_a_difference_is_enough():
    """f(x) = 5 + 3 x_0: the slope is 3, whichever side fails."""
    run = AskTell(SparseVector(9), k=1, method="sketch_ht", options={"buckets": 1}, rng=0)
    listen = run.ask().queries[-1]
    sign = listen.points()[0][0] / 1e-4
    both = 5 + 3e-4 * sign * np.array([1.0, -1.0])
    for values in (both, [np.nan, both[1]], [both[0], np.nan]):
        slopes = _slopes(listen, Answer(values=np.array(values)), 5.0)
        assert slopes == pytest.approx([3 * sign])
    assert _slopes(listen, Answer(values=np.array([np.nan, np.nan])), 5.0).tolist() == [0.0]


def test_rounds_of_an_iteration_share_a_hash_and_iterations_do_not():
    problem = Quadratic(10**9)
    run = AskTell(SparseVector(10**9), k=10, method="sketch_ht", max_queries=3_000, rng=0)
    seeds = {}
    while not run.done:
        plan = run.ask()
        for query in plan.queries:
            if isinstance(query.directions, ImplicitSigns):
                seeds.setdefault(run.state.iteration, set()).add(query.directions.seed)
        run.tell([problem.value(x) for x in plan.points()])
    assert all(len(of_iteration) == 1 for of_iteration in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) > 3
    other = AskTell(SparseVector(10**9), k=10, method="sketch_ht", max_queries=3_000, rng=1)
    assert other.ask().queries[-1].directions.seed not in set.union(*seeds.values())


def sketched(sketch, fun, x, *, memory=None, iteration=1):
    """Run one iteration of an estimator; return the estimate, its memory, and the queries spent."""
    memory = sketch.init(x) if memory is None else memory
    estimate, spent = None, 0
    while estimate is None:
        plan = sketch.plan(x, None, memory, Key(seed=0, iteration=iteration))
        answers = [
            Answer(values=np.array([fun(point) for point in query.points()]))
            for query in plan.queries
        ]
        spent += sum(answer.values.size for answer in answers)
        estimate, memory = sketch.combine(plan, answers, memory)
    return estimate, memory, spent


def test_a_sketch_of_one_coordinate():
    """Eight buckets of a thousand coordinates, ten digits, and a check of what was spelt."""
    sketch, d = Sketch(count=2, mu=1e-4), 1_000
    estimate, memory, spent = sketched(sketch, lambda x: 1e6 - 5 * x[123], SparseVector(d))
    assert spent == 1 + 2 * 8 + 2 * 10 + 2
    assert np.flatnonzero(estimate.gradient).tolist() == [123]
    assert estimate.gradient[123] == pytest.approx(-5, abs=1e-5)
    assert estimate.slope == pytest.approx(5, abs=1e-5)
    assert estimate.rounding == pytest.approx(np.finfo(float).eps * 1e6 / 1e-4)
    assert memory.buckets == 8


@pytest.mark.parametrize("at_base", [1e8, 0.0])
def test_rounding_is_not_spelt(at_base):
    """Values that differ in their last bits; beside them the value at the base may be small."""
    calls = []

    def fun(x):
        calls.append(1)
        return at_base if len(calls) == 1 else np.nextafter(1e8, 1e8 + len(calls) % 3)

    estimate, _, spent = sketched(Sketch(count=2, mu=1e-4), fun, SparseVector(1_000))
    assert spent == 1 + 2 * 8
    assert not estimate.gradient.any()
    assert estimate.rounding == 0


def test_buckets_double_while_crowded_and_halve_when_quiet():
    slopes = np.random.default_rng(0).uniform(0.5, 1.0, 3_000)
    sketch, x, memory, counts = Sketch(count=3, mu=1e-2), np.zeros(3_000), None, []
    for iteration in range(1, 8):
        _, memory, _ = sketched(
            sketch, lambda x: float(slopes @ x), x, memory=memory, iteration=iteration
        )
        counts.append(memory.buckets)
    assert counts[0] == 24
    assert set(np.diff(np.log2(counts))) <= {0.0, 1.0}
    assert counts[-1] == 16 * 12
    for iteration in range(8, 14):
        _, memory, _ = sketched(sketch, lambda x: 1.0, x, memory=memory, iteration=iteration)
        counts.append(memory.buckets)
    assert counts[7:] == [96, 48, 24, 12, 12, 12]


def test_one_crowded_bucket_of_three_is_no_reason_for_more():
    """Two coordinates of a bucket spell a third that is at home elsewhere: it is not measured."""
    sketch, d = Sketch(count=3, mu=1e-4), 1_024
    x = SparseVector(d)
    signs = sketch.plan(x, None, sketch.init(x), Key(seed=0, iteration=1)).queries[-1].directions
    home = signs.bucket_of(hash_of(np.arange(d), signs.seed))
    first = np.flatnonzero(home == home[0])
    second = next(i for i in first[1:] if home[first[1] & i] != home[0] and i != first[1])
    alone = [int(np.flatnonzero(home == bucket)[5]) for bucket in set(home[1:9]) - {home[0]}][:2]
    relevant = np.array([first[1], second, *alone])
    # with these slopes the two add up
    slopes = signs.entries(int(home[0]), relevant) + np.array([0.0, 0.0, 1.0, 1.0])
    estimate, memory, spent = sketched(sketch, lambda x: float(slopes @ x[relevant]), x)
    assert np.flatnonzero(estimate.gradient).tolist() == sorted(alone)
    assert spent == 1 + 2 * 12 + 2 * 3 * 10 + 2 * 2
    assert memory.buckets == 12


def test_slopes_are_true_where_all_coordinates_respond():
    """What is spelt then is mostly nonsense: beyond the end, elsewhere, or measured before."""
    d = 1_500
    rng = np.random.default_rng(1)
    slopes, x = rng.standard_normal(d), np.zeros(d)
    x[rng.permutation(d)[:700]] = 1.0
    sketch = Sketch(count=20, mu=1e-2, buckets=20)
    for iteration in range(1, 9):
        estimate, *_ = sketched(sketch, lambda x: float(slopes @ x), x, iteration=iteration)
        found = np.flatnonzero(estimate.gradient)
        assert set(found) >= set(np.flatnonzero(x))
        assert np.allclose(estimate.gradient[found], slopes[found], atol=1e-9)


def test_sketch_ht_hands_on_what_it_is_given():
    given = {"sampler": Minibatch(size=3), "iterate": "average", "step_size": 0.25}
    method = algorithms.sketch_ht(k=2, buckets=7, mu=0.5, **given)
    assert (method.sampler, method.iterate) == (given["sampler"], "average")
    assert method.update.step_size == 0.25
    assert (method.estimator.count, method.estimator.buckets, method.estimator.mu) == (2, 7, 0.5)
    with pytest.raises(ParameterError, match="must be a sparse set, with a `k`"):
        algorithms.sketch_ht(constraint=Box(low=-1.0, high=1.0))


def test_probes_refuse_to_be_listed():
    run = AskTell(SparseVector(10**9), k=3, method="sketch_ht", max_queries=1_000, rng=0)
    plan = run.ask()
    probe = plan.points()[1]
    assert probe.shape == (10**9,)
    assert set(np.abs(probe[np.arange(1000)])) == {0.0, 1e-4}
    with pytest.raises(CapabilityError, match="look up"):
        plan.sparse_points()
    with pytest.raises(CapabilityError, match="all 1000000000 entries"):
        np.asarray(probe)
    assert len(pickle.dumps(plan.queries)) < 3_000


def test_objectives_with_every_power_keep_their_choice():
    problem = Quadratic(1_000, k=2)
    both = Objective(
        value=problem.value, along=problem.along, values=lambda points, _: points[:, 0]
    )
    with pytest.raises(CapabilityError, match="`values`"):
        minimize(both, SparseVector(1_000), k=2, method="szoht", options={"support_size": 5})


def test_the_default_method_takes_a_sparse_start():
    relevant = np.array([3, 10**8])
    settings = {"k": 2, "max_queries": 400, "rng": 0}

    def fun(x):
        return float(((x[relevant] - 1.0) ** 2).sum())

    default = minimize(fun, SparseVector(10**9), **settings)
    named = minimize(fun, SparseVector(10**9), method="sketch_ht", **settings)
    assert default.support.tolist() == relevant.tolist()
    assert (default.fun, default.nfev) == (named.fun, named.nfev)
