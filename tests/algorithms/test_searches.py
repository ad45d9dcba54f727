"""Sparse-RS against its description; corner search and its model against dense algebra."""

import numpy as np
import pytest

from reference.sparse_rs import share_of, sparse_rs
from szoht import GroupSparse, SparseBox, algorithms, minimize
from szoht.algorithms.vertex.box_vertices import BoxVertices
from szoht.algorithms.vertex.corner_search import Held
from szoht.algorithms.vertex.slope_model import NEAREST, SlopeModel, SlopePrior, _solve
from szoht.algorithms.vertex.sparse_rs import exchange, exchange_share
from szoht.core.random import Key, Purpose
from szoht.errors import ParameterError

LOW = -np.linspace(0.2, 1.0, 12)
HIGH = np.linspace(1.0, 0.1, 12)
SLOPES = np.random.default_rng(0).standard_normal(12)


def bent(x):
    return float(SLOPES @ x + 0.3 * np.sin(3 * x).sum() + (x**2).sum() * 0.1)


@pytest.mark.parametrize("size", [1, 3])
def test_sparse_rs_equals_its_description(size):
    """With values that are often equal: a point that is no better is not kept."""
    k, horizon = 4 if size == 1 else 2, 80
    asked = []

    def rounded(x):
        return round(2 * bent(x)) / 2

    def fun(x):
        asked.append(x.copy())
        return rounded(x)

    operator = (
        SparseBox(k, low=LOW, high=HIGH)
        if size == 1
        else GroupSparse(k=k, size=size, low=LOW, high=HIGH)
    )
    result = minimize(
        fun,
        np.zeros(12),
        constraint=operator,
        method="sparse_rs",
        options={"share": 0.8, "horizon": horizon},
        max_queries=horizon,
        rng=7,
    )
    groups = np.arange(12).reshape(-1, size).tolist()
    generator = Key(seed=7, iteration=1).generator(Purpose.DIRECTIONS)
    limits = {"share": 0.8, "horizon": horizon, "queries": horizon}
    points, best = sparse_rs(rounded, groups, LOW, HIGH, k, generator=generator, **limits)
    assert np.array_equal(asked, points)
    assert np.array_equal(result.history["best"], best)
    assert result.nfev == horizon


@pytest.mark.parametrize("horizon", [100, 10_000])
def test_the_share_follows_the_published_list(horizon):
    for iteration in range(1, horizon + 1, max(1, horizon // 997)):
        assert exchange_share(iteration, horizon) == share_of(iteration, horizon)


def test_exchanges_are_uniform_and_without_repetition():
    generator = np.random.default_rng(0)
    chosen = np.array([5, 2, 7])
    came = np.zeros(8)
    for _ in range(3_000):
        places, into = exchange(generator, chosen, 8, 2)
        assert len(set(places)) == len(set(into)) == 2
        assert not set(into) & set(chosen)
        came[into] += 1
    expected = 3_000 * 2 / 5
    assert np.abs(came[[0, 1, 3, 4, 6]] - expected).max() < 5 * np.sqrt(expected)
    places, into = exchange(generator, np.arange(3), 3, 2)
    assert np.array_equal(into, np.arange(3)[places])  # nobody is outside
    places, into = exchange(generator, np.array([4, 0, 1, 3]), 5, 3)
    assert len(places) == 1
    assert into.tolist() == [2]  # only one is


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_all_units_in_use(method):
    """With k = d only corners can change."""
    result = minimize(
        bent,
        np.zeros(12),
        constraint=SparseBox(12, low=LOW, high=HIGH),
        method=method,
        max_queries=400,
        rng=0,
    )
    assert result.fun < 0.7 * sum(
        min(bent(np.eye(12)[i] * b[i]) for b in (LOW, HIGH)) for i in range(12)
    )


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_a_constant_added_to_f_changes_nothing(method):
    """What counts is how values differ from each other, and from the value at zero."""
    asked = {0.0: [], 64.0: []}
    for constant, points in asked.items():

        def fun(x, constant=constant, points=points):
            points.append(x.copy())
            return constant + bent(x)

        box = SparseBox(4, low=LOW, high=HIGH)
        minimize(fun, np.zeros(12), constraint=box, method=method, max_queries=60, rng=3)
    assert np.array_equal(asked[0.0], asked[64.0])


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_a_finite_sum_is_taken_as_a_whole(method):
    """Values of different samples could not be compared."""
    seen = []

    def fun(x, sample):
        seen.append(sample)
        return bent(x) + float(np.sum(sample))

    minimize(
        fun,
        np.zeros(12),
        constraint=SparseBox(4, low=LOW, high=HIGH),
        method=method,
        n_samples=5,
        max_queries=100,
        rng=3,
    )
    assert all(np.array_equal(sample, np.arange(5)) for sample in seen)


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_failed_points_are_never_kept(method):
    def fun(x):
        return bent(x) if x[3] == 0 else float("nan")

    result = minimize(
        fun,
        np.zeros(12),
        constraint=SparseBox(4, low=LOW, high=HIGH),
        method=method,
        max_queries=200,
        on_error="skip",
        rng=3,
    )
    assert result.x[3] == 0
    assert np.isfinite(result.fun)
    assert result.counts.failures > 0


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
def test_a_failure_at_the_first_point_is_no_obstacle(method):
    calls = []

    def fun(x):
        calls.append(x.any())
        return bent(x) if sum(calls) > 1 else float("nan")

    result = minimize(
        fun,
        np.zeros(12),
        constraint=SparseBox(4, low=LOW, high=HIGH),
        method=method,
        max_queries=150,
        on_error="skip",
        rng=3,
    )
    assert result.fun < 0.9 * sum(np.sort(np.minimum(SLOPES * LOW, SLOPES * HIGH))[:4])


@pytest.mark.parametrize("method", ["sparse_rs", "corner_search"])
@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"k": 3}, "needs a sparse set within bounds"),
        ({"constraint": SparseBox(3, low=0.0, high=np.inf)}, "needs finite bounds"),
        ({"constraint": GroupSparse(k=3, size=2)}, "needs finite bounds"),
    ],
)
def test_searches_need_a_box(method, given, complaint):
    with pytest.raises(ParameterError, match=complaint):
        algorithms.METHODS[method](**given)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"share": 0.0}, "`share`"),
        ({"smooth": 1.5}, "`smooth`"),
        ({"length": -1.0}, "`length`"),
        ({"noise": 0.0}, "`noise`"),
        ({"window": 5}, "`window`"),
        ({"grid": np.arange(12)}, "in the shape"),
        ({"grid": np.arange(12.0).reshape(1, 3, 4)}, "must hold integers"),
        ({"grid": np.arange(20).reshape(1, 4, 5)}, "each of the coordinates 0 to 11 once"),
    ],
)
def test_settings_that_make_no_sense(options, complaint):
    box = SparseBox(3, low=-1.0, high=1.0)
    with pytest.raises(ParameterError, match=complaint):
        minimize(
            bent,
            np.zeros(12),
            constraint=box,
            method="corner_search",
            options=options,
            max_queries=9,
        )


def prior(**settings):
    grid = np.random.default_rng(2).permutation(2 * 5 * 6).reshape(2, 5, 6)
    given = {"d": 60, "grid": grid, "length": 1.0, "smooth": 0.7, "shared": 0.4}
    return SlopePrior(**given | settings)


def dense(one):
    return np.array([one.times(row) for row in np.eye(one.d)])


@pytest.mark.parametrize("settings", [{}, {"grid": None}, {"length": 0.0}, {"shared": 1.0}])
def test_draws_have_the_covariance_that_times_applies(settings):
    one = prior(**settings)
    covariance = dense(one)
    assert np.allclose(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10
    generator = np.random.default_rng(1)
    count = 6_000
    draws = np.array([one.draw(generator) for _ in range(count)])
    sample = draws.T @ draws / count
    sizes = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2)
    # each entry is a mean of `count` products with standard deviation at most `sizes`
    assert (np.abs(sample - covariance) <= 5 * sizes / np.sqrt(count)).all()


def test_neighbours_and_channels_are_correlated():
    one = prior()
    covariance = dense(one)
    at = one.grid
    centre, beside, far = at[0, 2, 2], at[0, 2, 3], at[0, 2, 5]
    assert covariance[centre, centre] == pytest.approx(1.0, rel=0.01)
    assert covariance[centre, beside] > 0.3 > 3 * covariance[centre, far] > 0
    assert covariance[centre, at[1, 2, 2]] == pytest.approx(0.7 * 0.4, rel=0.02)


def test_the_posterior_has_the_mean_of_dense_algebra():
    one = prior()
    model = SlopeModel(prior=one, noise=0.3, window=20)
    rng = np.random.default_rng(3)
    points = np.zeros((8, 60))
    for row in points:
        row[rng.permutation(60)[:4]] = rng.standard_normal(4)
    y = rng.standard_normal(8)
    for row, value in zip(points, y, strict=True):
        model.add(row, value)
    covariance = dense(one)
    gram = points @ covariance @ points.T
    assert np.allclose(model.gram, gram)
    power = np.diag(gram).mean()
    size = np.sqrt(np.mean(y**2) / power)
    variance = 0.3 * power * (NEAREST + (y - y.min()) / y.std())
    gain = covariance @ points.T @ np.linalg.inv(gram + np.diag(variance))
    mean = gain @ y / size
    left = covariance - gain @ points @ covariance
    generator = np.random.default_rng(4)
    draws = np.array([model.draw(generator) for _ in range(4_000)])
    error = np.sqrt(np.diag(left) / 4_000)
    assert (np.abs(draws.mean(axis=0) - mean) <= 5 * error).all()
    assert np.allclose(draws.var(axis=0), np.diag(left), rtol=0.15)


def test_one_value_is_enough_to_learn_from():
    model = SlopeModel(prior=prior(), noise=0.3, window=20)
    x = np.eye(60)[7] - np.eye(60)[30]
    model.add(x, -2.0)
    generator = np.random.default_rng(5)
    along = [model.draw(generator) @ x for _ in range(200)]
    assert np.mean(np.array(along) < 0) > 0.9


def test_systems_are_solved_to_the_tolerance():
    """Points that overlap much, as those of a search do, with little noise."""
    rng = np.random.default_rng(8)
    points = np.abs(rng.standard_normal((50, 60)))
    gram, variance = points @ points.T, rng.uniform(0.5, 50.0, 50)
    right = rng.standard_normal(50)
    exact = np.linalg.solve(gram + np.diag(variance), right)
    assert _solve(gram, variance, right) == pytest.approx(exact, abs=2e-3 * np.abs(exact).max())


def test_the_window_forgets_high_values_but_none_of_the_newest():
    model = SlopeModel(prior=prior(), noise=0.3, window=10)
    for value in (5.0, 1.0, 9.0, 2.0, 3.0, 4.0, 0.0, 6.0, 7.0, 8.0, 50.0):
        model.add(np.eye(60)[int(value)], value)
    assert model.values == [5.0, 1.0, 2.0, 3.0, 4.0, 0.0, 6.0, 7.0, 8.0, 50.0]
    assert model.gram.shape == (10, 10)
    assert len(model.rows) == 10


def test_corners_of_groups():
    operator = GroupSparse(k=1, groups=[0, 1, 0, 1], low=[-1.0, 0, -0.2, -3], high=[0.5, 2, 0.7, 1])
    corners = BoxVertices.of(operator, 4)
    assert corners.coordinates(np.array([1])).tolist() == [1, 3]
    assert corners.per_unit(np.array([1.0, 2, 3, 4])).tolist() == [4, 6]
    assert corners.far.tolist() == [-1, 2, 0.7, -3]
    moved = corners.exchanged(np.array([1.0, 0, 1, 0]), np.array([0]), np.array([1]), corners.far)
    assert moved.tolist() == [0, 2, 0, -3]


def asked_by_corner_search(fun, operator, *, d, queries, **options):
    """Return the points at corners that were asked for, in order, and the result."""
    asked = []

    def watched(x):
        asked.append(x.copy())
        return fun(x)

    result = minimize(
        watched,
        np.zeros(d),
        constraint=operator,
        method="corner_search",
        options=options,
        max_queries=queries,
        on_error="skip",
        rng=0,
    )
    assert not asked[0].any()
    return np.array(asked[1:]), result


RAMP = np.linspace(1.0, 3.0, 12)
BOX = SparseBox(4, low=-1.0, high=1.0)


def test_the_point_that_is_held_is_not_asked_for_again():
    points, _ = asked_by_corner_search(lambda x: float(RAMP @ x), BOX, d=12, queries=200)
    values = points @ RAMP
    held = [points[np.argmin(values[:i])] for i in range(1, len(points))]
    assert not any(np.array_equal(x, best) for x, best in zip(points[1:], held, strict=True))


def test_zero_is_remembered_too():
    _, result = asked_by_corner_search(lambda x: float(np.abs(x).sum()), BOX, d=12, queries=50)
    assert result.fun == 0
    assert not result.x.any()


def test_a_model_that_is_sure_of_itself_is_not_trusted_for_ever():
    """In the end a quarter of the exchanges choose the corner that is worse by the model."""
    points, _ = asked_by_corner_search(
        lambda x: float(RAMP @ x), BOX, d=12, queries=600, noise=1e-6
    )
    worse = np.mean((points[100:] > 0).any(axis=1))
    assert worse > 1 / 4


def test_exchanges_at_random_choose_no_corner_at_zero():
    operator = SparseBox(4, low=0.0, high=1.0)
    points, _ = asked_by_corner_search(lambda x: -float(RAMP @ x), operator, d=12, queries=200)
    assert np.mean(np.count_nonzero(points, axis=1) == 4) > 0.95


def test_fewer_units_are_exchanged_the_longer_nothing_is_gained():
    answers = iter([2.0, 0.0])
    points, _ = asked_by_corner_search(
        lambda x: next(answers, 1.0),
        SparseBox(20, low=-1.0, high=1.0),
        d=60,
        queries=80,
        share=0.5,
    )
    for in_vain, x in enumerate(points[1:]):
        exchanged = np.count_nonzero((x != 0) & (points[0] == 0))
        assert 1 <= exchanged <= max(int(0.5 * 0.5 ** (in_vain / 10) * 20), 1)
    assert np.count_nonzero((points[1] != 0) & (points[0] == 0)) > 5


def test_failed_values_teach_the_model_nothing():
    slopes = np.random.default_rng(6).standard_normal(100)
    calls = []

    def fun(x):
        calls.append(1)
        return float("nan") if len(calls) % 10 == 5 else float(slopes @ x)

    operator = SparseBox(5, low=-1.0, high=1.0)
    _, result = asked_by_corner_search(fun, operator, d=100, queries=80)
    assert result.fun < -0.7 * np.sort(np.abs(slopes))[-5:].sum()


def test_an_exchange_lowers_the_model_as_much_as_any_of_its_size():
    """Of 20,000 units 2,000 are held, and 600 may go: the least useful for the most useful."""
    rng = np.random.default_rng(7)
    slopes, units = rng.standard_normal(20_000), rng.permutation(20_000)[:2_000]
    search = algorithms.corner_search(constraint=SparseBox(2_000, low=-1.0, high=1.0))
    corners = BoxVertices.of(search.operator, 20_000)
    x = np.zeros(20_000)
    x[units] = rng.choice([-1.0, 1.0], 2_000)
    # some of them are better than any that could come in
    slopes[units[:1_600]] = -9.0 * x[units[:1_600]]
    after = search._guided(corners, slopes, Held(x, units), 0)
    outside = np.delete(np.abs(slopes), units)
    now = np.sort(-slopes[units] * x[units])
    gains = np.sort(outside)[::-1][:600] - now[:600]
    assert slopes @ after.x == pytest.approx(slopes @ x - gains[gains > 0].sum())
    assert np.array_equal(np.sort(after.units), np.flatnonzero(after.x))


def test_corner_search_needs_fewer_queries_than_random_search():
    """On slopes that are smooth over a grid, which is what images are like."""
    grid = np.arange(400).reshape(1, 20, 20)
    smooth = SlopePrior(d=400, grid=grid, length=1.5, smooth=0.8, shared=0.0)
    slopes = smooth.draw(np.random.default_rng(5))
    goal = -0.7 * np.sort(np.abs(slopes))[-20:].sum()

    def spent(method, options, seed):
        return minimize(
            lambda x: float(slopes @ x),
            np.zeros(400),
            constraint=SparseBox(20, low=-1.0, high=1.0),
            method=method,
            options=options,
            target=goal,
            max_queries=3_000,
            rng=seed,
        ).nfev

    ours = [spent("corner_search", {"grid": grid}, seed) for seed in range(5)]
    theirs = [spent("sparse_rs", {}, seed) for seed in range(5)]
    assert np.median(ours) < 0.5 * np.median(theirs)
