"""Corner search: which points it asks for, and how many."""

import numpy as np
import pytest

from algorithms.vertex.problem import bent
from outcomes import most_seeds
from szoht import SparseBox, algorithms, minimize
from szoht.algorithms.vertex.box_vertices import BoxVertices
from szoht.algorithms.vertex.corner_search import Candidate
from szoht.algorithms.vertex.slope_model import SlopePrior
from szoht.errors import ParameterError

BOX = SparseBox(4, low=-1.0, high=1.0)
RAMP = np.linspace(1.0, 3.0, 12)


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


def asked_by_corner_search(fun, operator, *, d, queries, seed=0, **options):
    """Return the points at vertices that were asked for, in order, and the result."""
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
        rng=seed,
    )
    assert not asked[0].any()
    return np.array(asked[1:]), result


def test_the_incumbent_is_not_evaluated_again():
    points, _ = asked_by_corner_search(lambda x: float(RAMP @ x), BOX, d=12, queries=200)
    values = points @ RAMP
    incumbent = [points[np.argmin(values[:i])] for i in range(1, len(points))]
    assert not any(np.array_equal(x, best) for x, best in zip(points[1:], incumbent, strict=True))


@most_seeds
def test_zero_is_remembered_too(seed):
    sizes = {"d": 12, "queries": 50, "seed": seed}
    _, result = asked_by_corner_search(lambda x: float(np.abs(x).sum()), BOX, **sizes)
    assert result.fun == 0
    assert not result.x.any()


@most_seeds
def test_a_model_that_is_sure_of_itself_is_not_trusted_for_ever(seed):
    """In the end a quarter of the swaps choose the vertex that is worse by the model."""
    points, _ = asked_by_corner_search(
        lambda x: float(RAMP @ x), BOX, d=12, queries=600, noise=1e-6, seed=seed
    )
    worse = np.mean((points[100:] > 0).any(axis=1))
    assert worse > 1 / 4


@most_seeds
def test_exchanges_at_random_choose_no_corner_at_zero(seed):
    operator = SparseBox(4, low=0.0, high=1.0)
    sizes = {"d": 12, "queries": 200, "seed": seed}
    points, _ = asked_by_corner_search(lambda x: -float(RAMP @ x), operator, **sizes)
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
    for n_stalled, x in enumerate(points[1:]):
        swapped = np.count_nonzero((x != 0) & (points[0] == 0))
        assert 1 <= swapped <= max(int(0.5 * 0.5 ** (n_stalled / 10) * 20), 1)
    assert np.count_nonzero((points[1] != 0) & (points[0] == 0)) > 5


@most_seeds
def test_failed_values_teach_the_model_nothing(seed):
    slopes = np.random.default_rng(6).standard_normal(100)
    calls = []

    def fun(x):
        calls.append(1)
        return float("nan") if len(calls) % 10 == 5 else float(slopes @ x)

    operator = SparseBox(5, low=-1.0, high=1.0)
    _, result = asked_by_corner_search(fun, operator, d=100, queries=80, seed=seed)
    assert result.fun < -0.7 * np.sort(np.abs(slopes))[-5:].sum()


def test_an_exchange_lowers_the_model_as_much_as_any_of_its_size():
    """Of 20,000 groups 2,000 are chosen, and 600 may go: the least useful for the most useful."""
    rng = np.random.default_rng(7)
    slopes, groups = rng.standard_normal(20_000), rng.permutation(20_000)[:2_000]
    search = algorithms.corner_search(constraint=SparseBox(2_000, low=-1.0, high=1.0))
    vertices = BoxVertices.of(search.operator, 20_000)
    x = np.zeros(20_000)
    x[groups] = rng.choice([-1.0, 1.0], 2_000)
    # some of them are better than any that could come in
    slopes[groups[:1_600]] = -9.0 * x[groups[:1_600]]
    after = search._model_swap(vertices, slopes, Candidate(x, groups), 0)
    outside = np.delete(np.abs(slopes), groups)
    now = np.sort(-slopes[groups] * x[groups])
    gains = np.sort(outside)[::-1][:600] - now[:600]
    assert slopes @ after.x == pytest.approx(slopes @ x - gains[gains > 0].sum())
    assert np.array_equal(np.sort(after.groups), np.flatnonzero(after.x))


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
