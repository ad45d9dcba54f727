"""Directions: what they are distributed like, and that slicing and memory do not matter."""

import pickle

import numpy as np
import pytest

from szoht.core import directions as module
from szoht.core import distributions as laws
from szoht.core.directions import (
    ArrayDirections,
    DirectionSlice,
    SampledDirections,
    prefetch,
    weighted_sum,
)
from szoht.core.distributions import (
    GaussianDistribution,
    OrthogonalDistribution,
    RademacherDistribution,
    SphereDistribution,
)
from szoht.core.random import Key

LAWS = [
    SphereDistribution(support_size=1),
    SphereDistribution(support_size=7),
    SphereDistribution(support_size=20),
    OrthogonalDistribution(support_size=20),
    OrthogonalDistribution(support_size=6),
    GaussianDistribution(),
    RademacherDistribution(),
]


def dense(directions, start=0, stop=None):
    rows = []
    stop = directions.count if stop is None else stop
    for indices, values in directions.slices(start, stop):
        block = np.zeros((len(values), directions.d))
        if indices is None:
            block[:] = values
        else:
            np.put_along_axis(block, indices, values, axis=1)
        rows.append(block)
    return np.concatenate(rows)


@pytest.fixture(params=LAWS, ids=str)
def drawn(request):
    return SampledDirections(
        distribution=request.param, key=Key(seed=1, iteration=2), d=20, count=50
    )


def test_any_slicing_gives_the_same_rows(drawn, monkeypatch):
    monkeypatch.setattr(laws, "BLOCK_VALUES", 60)
    everything = dense(drawn)
    again = SampledDirections(distribution=drawn.distribution, key=drawn.key, d=20, count=50)
    assert np.array_equal(dense(again, 11, 37), everything[11:37])
    parts = [dense(again, start, min(start + 9, 50)) for start in range(0, 50, 9)]
    assert np.array_equal(np.concatenate(parts), everything)


def test_memory_does_not_change_what_is_drawn(drawn, monkeypatch):
    everything = dense(drawn)
    monkeypatch.setattr(module, "CACHE_BYTES", 0)
    again = SampledDirections(distribution=drawn.distribution, key=drawn.key, d=20, count=50)
    assert np.array_equal(dense(again), everything)
    assert np.array_equal(dense(again), everything)
    assert not again.__dict__["_cache"]


def test_only_what_is_kept_is_drawn_ahead(drawn, monkeypatch):
    everything = dense(
        SampledDirections(distribution=drawn.distribution, key=drawn.key, d=20, count=50)
    )
    assert sum(len(values) for _, values in prefetch(drawn)) == 50
    monkeypatch.setattr(type(drawn.distribution), "draw", None)  # nothing is left to be drawn
    assert np.array_equal(dense(drawn), everything)
    monkeypatch.setattr(module, "CACHE_BYTES", 0)
    assert not list(
        prefetch(SampledDirections(distribution=drawn.distribution, key=drawn.key, d=20, count=50))
    )


def test_a_pickled_copy_carries_the_address_only():
    big = SampledDirections(distribution=GaussianDistribution(), key=Key(seed=1), d=1000, count=50)
    rows = dense(big)
    message = pickle.dumps(big)
    assert len(message) < 1000
    assert np.array_equal(dense(pickle.loads(message)), rows)  # noqa: S301


def test_reused_memory_changes_nothing(drawn):
    rows = dense(drawn)
    following = SampledDirections(
        distribution=drawn.distribution, key=Key(seed=1, iteration=3), d=20, count=50
    )
    fresh = SampledDirections(
        distribution=drawn.distribution, key=Key(seed=1, iteration=3), d=20, count=50
    )
    following.recycle(drawn)
    assert np.array_equal(dense(following), dense(fresh))
    # the earlier directions are drawn again when somebody still wants them
    assert np.array_equal(dense(drawn), rows)
    assert np.array_equal(dense(following), dense(fresh))


@pytest.mark.parametrize("size", [1, 7, 20])
def test_sphere_directions_are_unit_vectors_on_their_support(size):
    rows = dense(
        SampledDirections(
            distribution=SphereDistribution(support_size=size), key=Key(seed=0), d=20, count=99
        )
    )
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert (np.count_nonzero(rows, axis=1) == size).all()


@pytest.mark.parametrize(
    ("distribution", "scale"),
    [
        (SphereDistribution(support_size=1), 1 / 20),
        (SphereDistribution(support_size=7), 1 / 20),
        (SphereDistribution(support_size=20), 1 / 20),
        (OrthogonalDistribution(support_size=6), 1 / 20),
        (OrthogonalDistribution(support_size=20), 1 / 20),
        (GaussianDistribution(), 1.0),
        (RademacherDistribution(), 1.0),
    ],
    ids=str,
)
def test_second_moment_is_a_multiple_of_the_identity(distribution, scale):
    count = 40_000
    rows = dense(SampledDirections(distribution=distribution, key=Key(seed=3), d=20, count=count))
    products = rows[:, :, np.newaxis] * rows[:, np.newaxis, :]
    error = products.std(axis=0) / np.sqrt(count)
    off = np.abs(products.mean(axis=0) - scale * np.eye(20))
    assert (off <= 5 * error + 1e-12).all()


@pytest.mark.parametrize(
    ("size", "count", "group"), [(20, 20, 20), (6, 18, 18), (6, 40, 18), (1, 9, 20)]
)
def test_orthogonal_groups(size, count, group):
    rows = dense(
        SampledDirections(
            distribution=OrthogonalDistribution(support_size=size),
            key=Key(seed=0),
            d=20,
            count=count,
        )
    )
    for start in range(0, count, group):
        part = rows[start : start + group]
        assert np.allclose(part @ part.T, np.eye(len(part)), atol=1e-12)
    assert (np.count_nonzero(rows, axis=1) <= size).all()


def test_orthogonal_directions_spread_over_disjoint_supports_first():
    rows = dense(
        SampledDirections(
            distribution=OrthogonalDistribution(support_size=6), key=Key(seed=0), d=20, count=3
        )
    )
    assert (np.count_nonzero(rows, axis=0) <= 1).all()


def test_weighted_sum_equals_the_dense_product(drawn):
    weights = np.random.default_rng(0).standard_normal(50)
    assert np.allclose(weighted_sum(drawn, weights), weights @ dense(drawn))


def test_explicit_directions():
    given = ArrayDirections(d=5, indices=np.array([[1], [4]]), values=np.array([[2.0], [3.0]]))
    given.recycle(None)
    assert given.count == 2
    assert np.array_equal(dense(given), [[0, 2, 0, 0, 0], [0, 0, 0, 0, 3]])
    assert list(given.slices(1, 1)) == []


def test_rademacher_entries_are_signs():
    rows = dense(
        SampledDirections(distribution=RademacherDistribution(), key=Key(seed=0), d=20, count=50)
    )
    assert set(np.unique(rows)) == {-1.0, 1.0}


def test_a_part_has_the_rows_of_the_whole(drawn):
    part = DirectionSlice(whole=drawn, start=13, count=20)
    part.recycle(None)
    assert part.d == 20
    assert np.array_equal(dense(part), dense(drawn)[13:33])
    assert np.array_equal(dense(part, 4, 9), dense(drawn)[17:22])
