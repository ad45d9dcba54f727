"""What directions are distributed like."""

import numpy as np
import pytest

from dense import dense
from szoht.core.directions import SampledDirections
from szoht.core.distributions import (
    GaussianDistribution,
    OrthogonalDistribution,
    RademacherDistribution,
    SphereDistribution,
)
from szoht.core.random import Key


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


def test_rademacher_entries_are_signs():
    rows = dense(
        SampledDirections(distribution=RademacherDistribution(), key=Key(seed=0), d=20, count=50)
    )
    assert set(np.unique(rows)) == {-1.0, 1.0}


def first_directions(size):
    """Return the first direction of a group of three at each of 3,000 iterations."""
    distribution = OrthogonalDistribution(support_size=size)
    keys = (Key(seed=0, iteration=t) for t in range(3_000))
    return np.array(
        [
            dense(SampledDirections(distribution=distribution, key=key, d=20, count=3))[0]
            for key in keys
        ]
    )


@pytest.mark.parametrize("size", [6, 20])
def test_directions_have_mean_zero(size):
    rows = first_directions(size)
    assert (np.abs(rows.mean(0)) <= 5 * rows.std(0) / np.sqrt(3_000)).all()


def test_every_direction_of_a_group_has_a_uniform_support():
    shares = (first_directions(6) != 0).mean(axis=0)
    assert np.abs(shares - 0.3).max() <= 5 * np.sqrt(0.21 / 3_000)
