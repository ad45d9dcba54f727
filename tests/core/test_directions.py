"""Directions: slicing and memory change nothing."""

import pickle

import numpy as np
import pytest

from dense import dense
from szoht.core import directions as module
from szoht.core import distributions
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

DISTRIBUTIONS = [
    SphereDistribution(support_size=1),
    SphereDistribution(support_size=7),
    SphereDistribution(support_size=20),
    OrthogonalDistribution(support_size=20),
    OrthogonalDistribution(support_size=6),
    GaussianDistribution(),
    RademacherDistribution(),
]


@pytest.fixture(params=DISTRIBUTIONS, ids=str)
def drawn(request):
    return SampledDirections(
        distribution=request.param, key=Key(seed=1, iteration=2), d=20, count=50
    )


def test_any_slicing_gives_the_same_rows(drawn, monkeypatch):
    monkeypatch.setattr(distributions, "BLOCK_VALUES", 60)
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


def test_weighted_sum_equals_the_dense_product(drawn):
    weights = np.random.default_rng(0).standard_normal(50)
    assert np.allclose(weighted_sum(drawn, weights), weights @ dense(drawn))


def test_explicit_directions():
    given = ArrayDirections(d=5, indices=np.array([[1], [4]]), values=np.array([[2.0], [3.0]]))
    given.recycle(None)
    assert given.count == 2
    assert np.array_equal(dense(given), [[0, 2, 0, 0, 0], [0, 0, 0, 0, 3]])
    assert list(given.slices(1, 1)) == []


def test_a_part_has_the_rows_of_the_whole(drawn):
    part = DirectionSlice(whole=drawn, start=13, count=20)
    part.recycle(None)
    assert part.d == 20
    assert np.array_equal(dense(part), dense(drawn)[13:33])
    assert np.array_equal(dense(part, 4, 9), dense(drawn)[17:22])
