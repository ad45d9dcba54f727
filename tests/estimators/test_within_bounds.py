"""Estimators whose probes stay inside declared bounds."""

import numpy as np
import pytest

from szoht import Box, Sparse
from szoht.core.random import Key
from szoht.estimators import (
    AdaptiveRecovery,
    Coordinate,
    Gaussian,
    MemoryTable,
    Sketch,
    SparseRecovery,
    Sphere,
)
from szoht.estimators.within_bounds import WithinBounds, within_bounds

D = 60
SLOPES = np.zeros(D)
SLOPES[[1, 4]] = [2.0, -3.0]


def linear(points):
    return points @ SLOPES + 5.0


def estimate(estimator, x, fun=linear):
    """Return the estimate, its cost, and all points."""
    memory, found, cost, points = estimator.init(x), None, 0, []
    round_ = 0
    while found is None:
        plan = estimator.plan(x, None, memory, Key(seed=0, round=round_))
        values = fun(plan.points())
        points.append(plan.points())
        found, memory = estimator.combine(plan, plan.answered(values), memory)
        cost, round_ = cost + plan.cost, round_ + 1
    return found, cost, np.concatenate(points)


RECOVERING = [
    Sphere(q=D, mu=1e-3, orthogonal=True),
    Sphere(q=D, mu=1e-3, orthogonal=True, central=True),
    Coordinate(mu=1e-3),
    Coordinate(mu=1e-3, central=True),
    SparseRecovery(sparsity=2, mu=1e-3),
    AdaptiveRecovery(sparsity=1, mu=1e-3),
    Sketch(count=2, mu=1e-3, buckets=240),
]


@pytest.mark.parametrize("estimator", RECOVERING, ids=repr)
@pytest.mark.parametrize("x", [np.zeros(D), np.ones(D), np.arange(D) % 2.0], ids=["0", "1", "01"])
def test_gradient_at_a_corner(estimator, x):
    found, _, points = estimate(WithinBounds(estimator, 0.0, 1.0), x)
    assert found.gradient == pytest.approx(SLOPES, abs=1e-9)
    assert found.value == pytest.approx(linear(x), abs=1e-12)
    assert ((points >= 0) & (points <= 1)).all()


@pytest.mark.parametrize("estimator", RECOVERING, ids=repr)
def test_gradient_in_a_box_narrower_than_the_radius(estimator):
    low, high = np.zeros(D), np.full(D, 1.0)
    high[:30] = 1e-5
    high[3] = 0.0
    found, _, points = estimate(WithinBounds(estimator, low, high), np.where(high < 1, high, 0.5))
    assert found.gradient == pytest.approx(SLOPES, abs=1e-7)
    assert ((points >= low) & (points <= high)).all()


@pytest.mark.parametrize(
    ("estimator", "extra"),
    [
        (Sphere(q=5, mu=1e-3), 1),
        (Sphere(q=5, mu=1e-3, central=True), 1),
        (Gaussian(q=5, mu=1e-3), 1),
        (SparseRecovery(sparsity=2, mu=1e-3), 1),
        (AdaptiveRecovery(sparsity=1, mu=1e-3), 1),
        (Coordinate(mu=1e-3), 0),
        (Sketch(count=2, mu=1e-3, buckets=240), 0),
    ],
    ids=repr,
)
def test_a_moved_base_costs_one_query(estimator, extra):
    x = np.ones(D)
    assert estimate(WithinBounds(estimator, 0.0, 1.0), x)[1] == estimate(estimator, x)[1] + extra
    inside = WithinBounds(estimator, -9.0, 9.0)
    assert estimate(inside, x)[1] == estimate(estimator, x)[1]


def test_inside_nothing_changes():
    estimator = Sphere(q=5, mu=1e-3)
    x = np.full(D, 0.5)
    plain, bounded = estimate(estimator, x), estimate(WithinBounds(estimator, 0.0, 1.0), x)
    assert np.array_equal(plain[2], bounded[2])
    assert np.array_equal(plain[0].gradient, bounded[0].gradient)
    assert within_bounds(estimator, Sparse(2)) is estimator
    assert within_bounds(estimator, Box(-np.inf, np.inf)) is estimator


def test_value_is_that_of_the_point_even_if_the_base_fails():
    x = np.zeros(D)

    def fails_off_x(points):
        return np.where((points == x).all(axis=1), 7.0, np.nan)

    found, _, _ = estimate(WithinBounds(Sphere(q=5, mu=1e-3), 0.0, 1.0), x, fails_off_x)
    assert found.value == 7.0
    assert not found.gradient.any()


def test_tables_hold_gradients_whatever_the_factors():
    """A table filled in one box of few floats is used with another radius."""
    estimator = WithinBounds(
        MemoryTable(
            estimator=Sphere(q=D, mu=1e-3, orthogonal=True),
            initial=Sphere(q=D, mu=1e-1, orthogonal=True),
        ),
        0.0,
        1e-2,
    )
    x, sample, memory = np.zeros(D), np.arange(2), estimator.init(np.zeros(D))
    for iteration in range(3):
        plan = estimator.plan(x, sample, memory, Key(seed=0, iteration=iteration))
        answers = plan.answered(linear(plan.points()))
        found, memory = estimator.combine(plan, answers, memory)
        assert found.gradient == pytest.approx(SLOPES, abs=1e-9)
        x = np.full(D, 1e-2)


@pytest.mark.parametrize("low", [1e-20, -1e9, 1 / 3, np.nextafter(1.0, 2.0)])
@pytest.mark.parametrize("width", [0.0, 5e-324, 1e-20, 1e-9, 1e-6, 1e9])
@pytest.mark.parametrize("mu", [1e-9, 1e-6, 0.1, 1e6])
def test_no_rounding_out_of_the_bounds(low, width, mu):
    high = low + width
    estimator = WithinBounds(SparseRecovery(sparsity=1, mu=mu), low, high)
    for start in (low, high, 0.5 * (low + high)):
        plan = estimator.plan(np.full(40, start), None, estimator.init(np.zeros(40)), Key(seed=0))
        points = plan.points()
        assert ((points >= low) & (points <= high)).all()
