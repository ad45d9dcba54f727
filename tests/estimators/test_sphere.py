"""Directions on the sphere: second moments against their exact values."""

import numpy as np
import pytest

from estimators.moments import IN_F, SLOPE, D, N, S, assert_mean, squared_norms
from szoht.core.query import Answer
from szoht.core.random import Key
from szoht.estimators import Sphere
from szoht.schedules import Geometric


@pytest.mark.parametrize("support_size", [1, 10, D])
@pytest.mark.parametrize("q", [1, 5])
def test_second_moment(support_size, q):
    inside, outside = (SLOPE[IN_F] ** 2).sum(), (SLOPE[~IN_F] ** 2).sum()
    overlap = (support_size - 1) / (D - 1)
    c1 = D / (support_size + 2) * ((S - 1) * overlap + 3)
    c2 = D / (support_size + 2) * S * overlap
    expected = (c1 * inside + c2 * outside) / q + (1 - 1 / q) * inside
    estimator = Sphere(q=q, mu=1e-3, support_size=support_size)
    assert_mean(squared_norms(estimator), expected)


@pytest.mark.parametrize("q", [5, 20, D])
def test_second_moment_of_orthogonal_directions(q):
    inside, total = (SLOPE[IN_F] ** 2).sum(), (SLOPE**2).sum()
    b = q * (D - q) / (D * (D + 2) * (D - 1))
    a = q / D - q * (D - q) / ((D + 2) * (D - 1))
    expected = (D / q) ** 2 * (a * inside + b * S * total)
    norms = squared_norms(Sphere(q=q, mu=1e-3, orthogonal=True))
    if q == D:  # a full basis recovers the gradient exactly
        assert np.allclose(norms, inside, rtol=1e-6)
    else:
        assert_mean(norms, expected)


def test_forward_differences_are_unbiased_on_quadratics_and_pay_in_variance():
    """For f = L |x|^2 / 2 at x = 0: mean 0, and E||ghat_F||^2 = d s mu^2 L^2 / (4 q)."""
    mu, q, smoothness = 0.5, 4, 3.0
    estimator = Sphere(q=q, mu=mu, support_size=10)
    norms = np.empty(N)
    mean = np.zeros(D)
    for t in range(N):
        plan = estimator.plan(np.zeros(D), None, None, Key(seed=5, iteration=t))
        values = 0.5 * smoothness * (plan.points() ** 2).sum(axis=1)
        estimate, _ = estimator.combine(plan, [Answer(values=values)], None)
        norms[t] = (estimate.gradient[:S] ** 2).sum()
        mean += estimate.gradient / N
    assert_mean(norms, D * S * mu**2 * smoothness**2 / (4 * q))
    spread = np.sqrt(norms.mean() / S / N)
    assert np.abs(mean).max() <= 5 * spread


def test_central_differences_do_not_see_curvature():
    estimator = Sphere(q=4, mu=0.5, support_size=10, central=True)
    plan = estimator.plan(np.zeros(D), None, None, Key(seed=5))
    values = 1.5 * (plan.points() ** 2).sum(axis=1)
    estimate, _ = estimator.combine(plan, [Answer(values=values)], None)
    assert np.array_equal(estimate.gradient, np.zeros(D))
    # each of the mirrored points is at distance mu, where f = 1.5 mu^2
    assert estimate.value == pytest.approx(1.5 * 0.25)
    assert not estimate.measured


def test_radius_follows_the_iteration():
    estimator = Sphere(q=2, mu=Geometric(start=1e-1, ratio=0.5))
    plan = estimator.plan(np.zeros(4), None, None, Key(seed=0, iteration=2))
    assert plan.queries[0].radius == pytest.approx(0.025)
