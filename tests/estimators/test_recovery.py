"""CoSaMP and the estimators that recover sparse gradients with it."""

import math
import pickle

import numpy as np
import pytest

from reference import compressed_sensing as naive
from szoht.core.directions import CACHE_BYTES
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.errors import ParameterError, ParameterTypeError
from szoht.estimators.adaptive_recovery import AdaptiveRecovery
from szoht.estimators.sensing import cosamp as cosamp_module
from szoht.estimators.sensing.cosamp import GramRows, cosamp, least_squares
from szoht.estimators.sparse_recovery import SignRows, SparseRecovery, default_measurements


def sparse_vector(rng, d, s):
    g = np.zeros(d)
    g[rng.choice(d, size=s, replace=False)] = rng.standard_normal(s)
    return g


def signs(rng, m, d):
    return rng.choice([-1.0, 1.0], size=(m, d))


@pytest.mark.parametrize(("d", "s"), [(400, 4), (400, 10), (300, 30)])
def test_cosamp_recovers_exactly_sparse_vectors(d, s):
    m = math.ceil(4 * s * math.log(d / s))
    recovered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        matrix, g = signs(rng, m, d), sparse_vector(rng, d, s)
        found = cosamp(matrix, matrix @ g, sparsity=s, tol=1e-6)
        recovered += np.linalg.norm(found.solution - g) <= 1e-8 * np.linalg.norm(g)
    assert recovered >= 99


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("tol", "noise"), [(0.5, 0.0), (1e-3, 0.0), (0.1, 0.3), (0.0, 1.0)])
def test_cosamp_equals_its_transcription(seed, tol, noise):
    rng = np.random.default_rng(seed)
    m, d, s = int(rng.integers(20, 60)), 80, int(rng.integers(1, 7))
    matrix = rng.standard_normal((m, d))
    y = matrix @ sparse_vector(rng, d, s) + noise * rng.standard_normal(m)
    found = cosamp(matrix, y, sparsity=s, tol=tol, max_passes=6)
    g, ratio = naive.cosamp(matrix, y, s=s, tol=tol, passes=6)
    assert np.allclose(found.solution, g, rtol=1e-7, atol=1e-9)
    assert found.residual == pytest.approx(ratio, rel=1e-6, abs=1e-7)
    assert np.count_nonzero(found.solution) == s


def test_cosamp_takes_the_passes_it_is_given():
    rng = np.random.default_rng(3)
    matrix, y = rng.standard_normal((30, 80)), rng.standard_normal(30)
    ratios = [ratio for _, ratio in naive.cosamp_passes(matrix, y, s=5, passes=7)]
    for passes in (1, 3, 7):
        found = cosamp(matrix, y, sparsity=5, tol=0.0, max_passes=passes)
        assert found.passes == passes
        assert found.residual == pytest.approx(min(ratios[:passes]))


def test_cosamp_stops_when_a_pass_would_repeat():
    rng = np.random.default_rng(0)
    matrix, g = signs(rng, 60, 100), sparse_vector(rng, 100, 3)
    y = matrix @ g + 0.01 * rng.standard_normal(60)
    found = cosamp(matrix, y, sparsity=3, tol=0.0, max_passes=1000)
    assert 1 < found.passes < 20
    assert np.allclose(found.solution, g, atol=0.02)
    longer, _ = naive.cosamp(matrix, y, s=3, tol=0.0, passes=30)
    assert np.allclose(found.solution, longer)


def test_correlations_that_are_rounding_bring_no_columns():
    found = cosamp(np.eye(6), np.array([0, 1.0, 0, 1e-14, 0, 0]), sparsity=3)
    assert np.flatnonzero(found.solution).tolist() == [1]


@pytest.mark.parametrize("s", [5, 6, 9, 10])
def test_cosamp_with_as_many_candidates_as_columns(s):
    rng = np.random.default_rng(s)
    matrix, g = rng.standard_normal((25, 10)), sparse_vector(rng, 10, s)
    assert np.allclose(cosamp(matrix, matrix @ g, sparsity=s, tol=1e-6).solution, g)


def test_cosamp_finds_a_single_entry():
    rng = np.random.default_rng(1)
    matrix, g = signs(rng, 40, 200), np.zeros(200)
    g[77] = -3.0
    assert np.allclose(cosamp(matrix, matrix @ g, sparsity=1).solution, g)


def test_cosamp_of_nothing_is_nothing():
    matrix = signs(np.random.default_rng(0), 5, 9)
    found = cosamp(matrix, np.zeros(5), sparsity=2)
    assert (found.residual, found.passes) == (0.0, 0)
    assert not found.solution.any()
    # measurements that no column has anything to do with
    lonely = np.zeros((3, 4))
    lonely[0] = 1.0
    found = cosamp(lonely, np.array([0.0, 1.0, 1.0]), sparsity=2)
    assert found.residual == 1.0
    assert not found.solution.any()


def test_cosamp_survives_dependent_columns():
    rng = np.random.default_rng(2)
    matrix = signs(rng, 30, 60)
    matrix[:, 40:] = matrix[:, :20]
    matrix[:, 39] = -matrix[:, 38]
    y = matrix @ sparse_vector(rng, 60, 4)
    found = cosamp(matrix, y, sparsity=8, tol=1e-6, max_passes=20)
    assert np.linalg.norm(matrix @ found.solution - y) <= 1e-6 * np.linalg.norm(y)
    assert np.abs(found.solution).max() < 10  # the shortest solution, not a huge one


def test_cosamp_with_more_columns_than_measurements():
    rng = np.random.default_rng(5)
    matrix, y = signs(rng, 6, 40), rng.standard_normal(6)
    found = cosamp(matrix, y, sparsity=5, tol=0.0)
    g, ratio = naive.cosamp(matrix, y, s=5, tol=0.0, passes=10)
    assert np.allclose(found.solution, g, atol=1e-8)
    assert found.residual == pytest.approx(ratio)


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_of_dependent_columns_is_the_shortest_solution(seed):
    rng = np.random.default_rng(seed)
    columns, y = signs(rng, 9, 20), rng.standard_normal(20)
    columns[[2, 6]] = columns[1], -columns[4]
    shortest = np.linalg.lstsq(columns.T, y, rcond=None)[0]
    assert np.allclose(least_squares(columns, y), shortest, atol=1e-10)
    columns[2] += 1e-9 * rng.standard_normal(20)  # nearly dependent
    assert np.allclose(least_squares(columns, y), shortest, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"sparsity": 0}, ParameterError, r"`sparsity` .* \[1, d\]; got sparsity=0 with d=8"),
        ({"sparsity": 9}, ParameterError, r"got sparsity=9 with d=8"),
        ({"sparsity": 2.0}, ParameterTypeError, "got sparsity=2.0"),
        ({"tol": -1}, ParameterError, "`tol` must be a finite number >= 0"),
        ({"max_passes": 0}, ParameterError, "`max_passes`"),
        ({"measurements": np.ones(4)}, ParameterError, "`measurements` must have 5 entries; got 4"),
        ({"measurements": np.full(5, np.nan)}, ParameterError, "`measurements` must be finite"),
        ({"matrix": np.ones(5)}, ParameterError, r"`matrix` must have shape \(m, d\)"),
    ],
)
def test_cosamp_refuses(changes, error, message):
    good = {"matrix": np.ones((5, 8)), "measurements": np.ones(5), "sparsity": 2} | changes
    with pytest.raises(error, match=message):
        cosamp(good.pop("matrix"), good.pop("measurements"), **good)


def test_gram_rows_are_fetched_once_and_bounded(monkeypatch):
    fetched = []

    class System:
        shape = (3, 50)

        def gram_rows(self, indices):
            fetched.append(indices.tolist())
            return np.multiply.outer(indices, np.arange(50.0))

    gram = GramRows(50)
    gram.fetch(np.array([4, 9]), System())
    gram.fetch(np.array([2, 4, 9]), System())
    assert fetched == [[4, 9], [2]]
    assert np.array_equal(gram.block(np.array([2, 9])), [[4, 18], [18, 81]])
    assert gram.combination(np.array([4, 2]), np.array([1.0, 10.0]))[3] == 12 + 60
    monkeypatch.setattr(cosamp_module, "CACHE_BYTES", 5 * 50 * 8)
    gram.fetch(np.array([4, 5, 6]), System())
    assert fetched[-1] == [4, 5, 6], "beyond its bound the cache starts anew"
    assert np.array_equal(gram.block(np.array([5])), [[25]])
    assert len(pickle.dumps(gram)) < 200


@pytest.mark.parametrize("centered", [False, True])
def test_rows_of_signs_are_the_matrix_that_they_stand_for(centered):
    estimator = SparseRecovery(sparsity=2, n_measurements=70, mu=1.0)
    (query,) = estimator.plan(np.zeros(3000), None, None, Key(seed=1)).queries
    valid = np.ones(70, dtype=bool)
    valid[[0, 31, 69]] = False
    rows = SignRows(directions=query.directions, valid=valid, centered=centered)
    matrix = query.points()[1:][valid]
    if centered:
        matrix, _ = naive.with_intercept(matrix, np.zeros(67))
    chosen = np.array([0, 7, 2999])
    weights = np.linspace(-1, 1, 67)
    assert rows.shape == (67, 3000)
    assert np.allclose(rows.columns(chosen), matrix[:, chosen].T)
    assert np.allclose(rows.correlate(weights), weights @ matrix)
    assert np.allclose(rows.gram_rows(chosen), matrix[:, chosen].T @ matrix)


def linear(slope, plan):
    """Return the answers of a linear function to a plan."""
    return [Answer(values=query.points() @ slope) for query in plan.queries]


def estimate(estimator, slope, *, seed=0, memory=None, x=None):
    """Return the estimate for a linear function, the memory after it, and the queries spent."""
    x = np.zeros(slope.size) if x is None else x
    memory = estimator.init(x) if memory is None else memory
    found, cost = None, 0
    for number in range(100):
        plan = estimator.plan(x, None, memory, Key(seed=seed, round=number))
        cost += plan.cost
        found, memory = estimator.combine(plan, linear(slope, plan), memory)
        if found is not None:
            break
    return found, memory, cost


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_sparse_slopes_are_recovered_with_their_scale(kind, scale, centered):
    rng = np.random.default_rng(7)
    slope = scale * sparse_vector(rng, 200, 6)
    x = rng.standard_normal(200)
    estimator = kind(sparsity=6, mu=1e-3, tol=1e-6, centered=centered)
    found, _, cost = estimate(estimator, slope, x=x)
    assert np.allclose(found.gradient, slope, rtol=1e-6, atol=1e-6 * scale)
    assert found.value == pytest.approx(x @ slope)
    assert found.measured
    assert cost == default_measurements(6, 200) + 1


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_rows_do_not_depend_on_the_iteration(kind):
    estimator = kind(sparsity=3)
    x = np.zeros(50)
    memory = estimator.init(x)
    first = estimator.plan(x, None, memory, Key(seed=5))
    later = estimator.plan(x, None, memory, Key(seed=5, iteration=9, round=2))
    other = estimator.plan(x, None, memory, Key(seed=6))
    assert np.array_equal(first.points(), later.points())
    assert not np.array_equal(first.points(), other.points())
    probes = first.points()[1:] * math.sqrt(50) / 1e-6
    assert np.allclose(np.abs(probes), 1)
    assert probes.shape == (default_measurements(3, 50), 50)


def test_the_memory_is_a_cache_only():
    rng = np.random.default_rng(0)
    slopes = [sparse_vector(rng, 300, 5) + 0.01 * rng.standard_normal(300) for _ in range(3)]
    for estimator in (SparseRecovery(sparsity=5, mu=1e-3), SparseRecovery(mu=1e-3, centered=False)):
        memory = None
        for slope in slopes:
            warm, memory, _ = estimate(estimator, slope, memory=memory)
            cold, _, _ = estimate(estimator, slope)
            assert np.array_equal(warm.gradient, cold.gradient)
        assert len(pickle.dumps(memory)) < 1000
        assert memory.rows.count * 300 * 8 < CACHE_BYTES
        copy = pickle.loads(pickle.dumps(memory))  # noqa: S301
        again, _, _ = estimate(estimator, slopes[2], memory=copy)
        assert np.array_equal(again.gradient, cold.gradient)


def test_rows_are_drawn_once(monkeypatch):
    estimator = SparseRecovery(sparsity=5, mu=1e-3)
    slope = sparse_vector(np.random.default_rng(0), 300, 5)
    _, memory, _ = estimate(estimator, slope)
    drawn = []
    monkeypatch.setattr(Key, "generator", lambda *address: drawn.append(address))
    estimate(estimator, slope, memory=memory)
    assert not drawn


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_failed_measurements_are_left_out(kind):
    slope = np.zeros(100)
    slope[[3, 50]] = [1.0, -2.0]
    estimator = kind(sparsity=2, mu=1e-3)
    memory = estimator.init(slope)
    plan = estimator.plan(np.ones(100), None, memory, Key(seed=0))
    values = plan.points() @ slope
    values[[1, 8, 20]] = np.nan
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert np.allclose(found.gradient, slope, atol=1e-6)
    values[0] = np.nan
    found, _ = estimator.combine(plan, [Answer(values=values)], estimator.init(slope))
    assert math.isnan(found.value)
    assert not found.gradient.any()
    values[0], values[1:] = 1.0, np.nan
    found, _ = estimator.combine(plan, [Answer(values=values)], estimator.init(slope))
    assert found.value == 1.0
    assert not found.gradient.any()


def test_failures_do_not_meet_products_of_other_rows():
    rng = np.random.default_rng(0)
    slope = sparse_vector(rng, 100, 5) + 0.2 * rng.standard_normal(100)
    estimator = SparseRecovery(sparsity=5, mu=1e-3)
    _, warm, _ = estimate(estimator, slope)
    plan = estimator.plan(np.ones(100), None, warm, Key(seed=0))
    values = plan.points() @ slope
    values[1:9] = np.nan
    ours, _ = estimator.combine(plan, [Answer(values=values)], warm)
    cold, _ = estimator.combine(plan, [Answer(values=values)], None)
    assert np.array_equal(ours.gradient, cold.gradient)
    whole, _, _ = estimate(estimator, slope, memory=warm, x=np.ones(100))
    assert not np.allclose(whole.gradient, ours.gradient)


def test_an_old_support_is_given_up_where_too_few_probes_are_answered():
    estimator = AdaptiveRecovery(mu=1e-3, sparsity=4)
    slope = np.zeros(400)
    slope[[1, 20, 300]] = [1.0, 2.0, -1.0]
    _, memory, _ = estimate(estimator, slope)
    plan = estimator.plan(np.zeros(400), None, memory, Key(seed=0, iteration=1))
    values = plan.points() @ slope
    values[memory.support.size + 1 :] = np.nan
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert found is None
    plan = estimator.plan(np.zeros(400), None, memory, Key(seed=0, iteration=1, round=1))
    found, memory = estimator.combine(plan, linear(slope, plan), memory)
    assert np.allclose(found.gradient, slope, atol=1e-6)


def test_centring_removes_the_curvature_that_all_probes_share():
    d = 10_000
    y = np.zeros(d)
    y[[5, 900]] = [1.0, -0.5]
    x = np.zeros(d)
    errors = {}
    for centered in (False, True):
        estimator = SparseRecovery(sparsity=2, mu=1e-3, centered=centered)
        plan = estimator.plan(x, None, None, Key(seed=0))
        answer = Answer(values=0.5 * ((plan.points() - y) ** 2).sum(axis=1))
        found, _ = estimator.combine(plan, [answer], None)
        errors[centered] = np.linalg.norm(found.gradient + y) / np.linalg.norm(y)
    assert errors[True] < 1e-6
    assert errors[False] > 0.3


def test_sparsity_grows_until_it_explains_the_slopes_and_only_new_rows_are_asked():
    slope = np.zeros(400)
    slope[::80] = [1.0, -1.0, 1.2, 0.9, -1.1]
    estimator = AdaptiveRecovery(mu=1e-3, growth=1.0, phi_cosamp=0.05)
    x, memory, sizes = np.zeros(400), estimator.init(slope), []
    seen, found = [], None
    while found is None:
        plan = estimator.plan(x, None, memory, Key(seed=0, round=len(sizes)))
        seen.append(plan.points())
        sizes.append(plan.cost)
        found, memory = estimator.combine(plan, linear(slope, plan), memory)
    rows = [default_measurements(s, 400) for s in range(2, 6)]
    assert sizes == [rows[0] + 1, *np.diff(rows).tolist()]
    assert memory.sparsity == 5
    assert memory.support.tolist() == [0, 80, 160, 240, 320]
    assert not memory.support.flags.writeable
    assert not memory.values.flags.writeable
    assert np.allclose(found.gradient, slope, atol=1e-6)
    points = np.concatenate(seen)
    assert len(np.unique(points, axis=0)) == len(points), "no point is asked twice"


def test_an_old_support_that_still_holds_is_cheap():
    estimator = AdaptiveRecovery(mu=1e-3, sparsity=4)
    slope = np.zeros(400)
    slope[[1, 20, 300]] = [1.0, 2.0, -1.0]
    _, memory, first = estimate(estimator, slope)
    slope[[1, 20, 300]] = [-3.0, 0.5, 0.7]
    found, memory, second = estimate(estimator, slope, memory=memory)
    n = memory.support.size
    assert (first, second) == (default_measurements(4, 400) + 1, 1 + n + max(n, 10))
    assert np.allclose(found.gradient, slope, atol=1e-6)
    # and one that does not hold is noticed, at no extra query
    slope[[20, 200]] = [0.0, 2.0]
    found, memory, third = estimate(estimator, slope, memory=memory)
    assert third == default_measurements(4, 400) + 1
    assert np.allclose(found.gradient, slope, atol=1e-6)
    assert 200 in memory.support


def test_a_dense_gradient_is_measured_along_all_axes():
    slope = np.linspace(1, 2, 40)
    estimator = AdaptiveRecovery(mu=1e-3, phi_cosamp=0.05)
    found, memory, cost = estimate(estimator, slope)
    assert memory.dense
    assert np.allclose(found.gradient, slope, atol=1e-6)
    assert cost > 41
    found, memory, cost = estimate(estimator, 3 * slope, memory=memory)
    assert cost == 41
    assert np.allclose(found.gradient, 3 * slope, atol=1e-6)


def test_rounding_does_not_make_the_gradient_look_dense():
    estimator = AdaptiveRecovery(sparsity=3)
    x, memory = np.zeros(200), estimator.init(np.zeros(200))
    plan = estimator.plan(x, None, memory, Key(seed=0))
    rng = np.random.default_rng(0)
    values = 1e3 * (1 + 2e-16 * rng.integers(-4, 5, size=plan.n_points))
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert found is not None
    assert memory.sparsity == 3
    # nor does an old support look wrong
    assert memory.support.size == 3
    plan = estimator.plan(x, None, memory, Key(seed=0, iteration=1))
    values = 1e3 * (1 + 2e-16 * rng.integers(-4, 5, size=plan.n_points))
    found, memory = estimator.combine(plan, [Answer(values=values)], memory)
    assert found is not None
    assert memory.support.size == 3


def test_small_dimensions():
    for d in (1, 2, 3):
        for estimator in (SparseRecovery(mu=1e-3), AdaptiveRecovery(mu=1e-3)):
            found, _, cost = estimate(estimator, np.arange(1.0, d + 1))
            assert found.gradient.shape == (d,)
            assert cost <= d + 1
    found, _, _ = estimate(AdaptiveRecovery(mu=1e-3), np.arange(1.0, 4))
    assert np.allclose(found.gradient, [1, 2, 3])


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sparsity": 0}, r"`sparsity` must be an integer in \[1, d\]; got sparsity=0"),
        ({"mu": 0.0}, "`mu`"),
        ({"tol": -0.1}, "`tol`"),
        ({"max_passes": 0}, "`max_passes`"),
    ],
)
def test_bad_settings_are_refused(kind, changes, message):
    with pytest.raises(ParameterError, match=message):
        kind(**changes)


@pytest.mark.parametrize(
    "changes",
    [{"growth": 0.9}, {"oversampling": 0.0}, {"compression": 0.0}, {"phi_lstsq": -1}],
)
def test_bad_adaptive_settings_are_refused(changes):
    with pytest.raises(ParameterError, match=next(iter(changes))):
        AdaptiveRecovery(**changes)


def test_bad_number_of_measurements_is_refused():
    with pytest.raises(ParameterError, match="`n_measurements`"):
        SparseRecovery(n_measurements=0)


@pytest.mark.parametrize("kind", [SparseRecovery, AdaptiveRecovery])
def test_sparsity_beyond_the_dimension_is_refused(kind):
    kind(sparsity=10).check(10)
    with pytest.raises(ParameterError, match="got sparsity=11 with d=10"):
        kind(sparsity=11).check(10)
