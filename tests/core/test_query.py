"""Points in their order, dense, sparse and one at a time."""

import numpy as np
import pytest

from szoht.core import query as module
from szoht.core.directions import SampledDirections
from szoht.core.distributions import SphereDistribution
from szoht.core.query import Plan, Query, one_point
from szoht.core.random import Key


@pytest.fixture(params=[(3, True, False), (8, True, False), (3, False, True), (8, True, True)])
def query(request):
    size, with_base, mirrored = request.param
    return Query(
        base=np.linspace(1, 2, 8),
        directions=SampledDirections(
            distribution=SphereDistribution(support_size=size), key=Key(seed=0), d=8, count=5
        ),
        radius=0.1,
        with_base=with_base,
        mirrored=mirrored,
    )


def test_order_of_the_points(query):
    points = query.points()
    assert len(points) == query.n_points
    if query.with_base:
        assert np.array_equal(points[0], query.base)
        points = points[1:]
    assert np.allclose(np.linalg.norm(points - query.base, axis=1), 0.1)
    if query.mirrored:
        assert np.allclose(points[:5] + points[5:], 2 * query.base)


def test_any_range_of_points(query):
    points = query.points()
    for start in range(query.n_points):
        for stop in range(start, query.n_points + 1):
            assert np.array_equal(query.points(start, stop), points[start:stop])


def test_one_at_a_time(query, monkeypatch):
    monkeypatch.setattr(module, "STACK_VALUES", 24)
    assert np.array_equal(list(query.each()), query.points())


def test_sparse_points_are_the_same_points(query):
    plan = Plan(queries=(query, Query(base=np.zeros(8))))
    (base, offsets), (second, nothing) = plan.sparse_points()
    assert np.array_equal(base + offsets.toarray(), query.points())
    assert np.array_equal(second + nothing.toarray(), np.zeros((1, 8)))
    assert np.array_equal(plan.points()[:-1], query.points())


def test_a_sample_multiplies_the_cost(query):
    sampled = Query(base=query.base, directions=query.directions, sample=np.arange(4))
    assert Plan(queries=(sampled,)).cost == 4 * 6
    assert one_point(query.base, None).cost == 1
