"""Quadratic models of noisy values, against naive transcriptions and Monte Carlo."""

from itertools import combinations

import numpy as np
import pytest

from szoht.algorithms.auto.restricted.quadratic_model import (
    Region,
    _features,
    eliminate,
    expected_gap,
    fit_quadratic,
    minimize_model,
    n_terms,
    next_shape,
)
from szoht.algorithms.auto.restricted.ridge import Ridge


def curved(seed, p=4):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((p, p)) / 2
    hessian = root @ root.T + np.diag(rng.uniform(0.5, 2, p))
    best = rng.uniform(-1, 1, p)

    def f(x):
        return 3.0 + 0.5 * np.einsum("...i,ij,...j", x - best, hessian, x - best)

    return f, hessian, best


def sample(f, seed, *, n=200, p=4, sigma=0.0, center=0.0):
    rng = np.random.default_rng(1000 + seed)
    points = center + np.cos(np.pi * rng.random((n, p)))
    return points, f(points) + sigma * rng.standard_normal(n)


def region(p=4, radius=1.0, center=None):
    return Region(center=np.zeros(p) if center is None else center, radius=radius, shape=np.eye(p))


def test_penalized_coefficients_are_those_of_augmented_least_squares():
    rng = np.random.default_rng(0)
    z, v, weights = rng.uniform(-1, 1, (50, 3)), rng.standard_normal(50), rng.uniform(0.2, 1, 50)
    free, shrunk = _features(z)
    fit = Ridge.of(free, shrunk, v, weights)
    residuals, _ = fit.solve(0.1)
    penalty = np.sqrt(0.1 * 0.02 * 50)
    root = np.sqrt(weights)[:, np.newaxis]
    rows = np.vstack(
        [
            np.column_stack([free, shrunk]) * root,
            np.column_stack([np.zeros((6, 5)), penalty * np.eye(6)]),
        ]
    )
    naive = np.linalg.lstsq(rows, np.append(v * root[:, 0], np.zeros(6)), rcond=None)[0]
    np.testing.assert_allclose(np.append(fit.free, fit.shrunk), naive, atol=1e-8)
    np.testing.assert_allclose(residuals, v - np.column_stack([free, shrunk]) @ naive, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("constant", [0.0, 1e6])
def test_a_quadratic_is_recovered(seed, constant):
    f, hessian, best = curved(seed)
    points, values = sample(f, seed, sigma=1e-3)
    model = fit_quadratic(points, values + constant, region(), 1e-3)
    assert model is not None
    np.testing.assert_allclose(model.hessian, hessian, atol=0.02)
    x, _, _ = minimize_model(model, np.full(4, -np.inf), np.full(4, np.inf), radii=2.0)
    np.testing.assert_allclose(x, best, atol=5e-3)
    assert model(x) == pytest.approx(3.0 + constant, abs=5e-3)
    assert model.residual == pytest.approx(1e-3, rel=0.3)
    assert model.lack_of_fit < 3


def test_a_sheared_region_gives_the_same_function():
    f, _, _ = curved(1)
    points, values = sample(f, 1, sigma=1e-4)
    shape = np.eye(4) + 0.3 * np.tri(4, k=-1)
    sheared = Region(center=np.full(4, 0.1), radius=0.8, shape=shape)
    one = fit_quadratic(points, values, region(), 1e-4)
    other = fit_quadratic(points, values, sheared, 1e-4)
    assert one is not None
    assert other is not None
    for x in np.random.default_rng(0).uniform(-0.5, 0.5, (5, 4)):
        assert one(x) == pytest.approx(other(x), abs=1e-3)
    np.testing.assert_allclose(one.in_x()[1], other.in_x()[1], atol=1e-2)


def test_gross_errors_do_not_count():
    f, _, best = curved(2)
    points, values = sample(f, 2, sigma=1e-2)
    values[::10] += 50.0
    model = fit_quadratic(points, values, region(), 1e-2)
    assert model is not None
    x, _, _ = minimize_model(model, np.full(4, -2.0), np.full(4, 2.0), radii=2.0)
    np.testing.assert_allclose(x, best, atol=0.05)


def test_residuals_are_never_believed_to_be_far_below_the_noise():
    rng = np.random.default_rng(3)
    points = rng.uniform(-1, 1, (22, 5))
    model = fit_quadratic(points, rng.standard_normal(22), region(5), 1.0)
    assert n_terms(5) == 21
    assert model is not None
    assert model.residual >= 0.7
    assert abs(model(np.zeros(5))) < 3


def test_higher_terms_are_noticed():
    points, values = sample(lambda x: (x**2).sum(-1) + 0.5 * (x**3).sum(-1), 4, sigma=0.02)
    model = fit_quadratic(points, values, region(), 0.02)
    assert model is not None
    assert model.lack_of_fit > 10


def test_the_minimizer_obeys_bounds_and_zeros():
    f, _, _ = curved(5)
    points, values = sample(f, 5, sigma=1e-5)
    model = fit_quadratic(points, values, region(), 1e-5)
    assert model is not None
    high = np.array([0.1, 2.0, 2.0, 2.0])
    zero = np.array([False, False, True, False])
    x, _, _ = minimize_model(model, np.full(4, -2.0), high, radii=3.0, zero=zero)
    assert x[2] == 0
    assert (x <= high).all()
    grid = np.random.default_rng(0).uniform(-2, high, (200_000, 4))
    grid[:, 2] = 0
    assert f(x) <= f(grid).min() + 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_elimination_costs_little_more_than_the_best_subset(seed):
    f, hessian, best = curved(seed, p=5)
    points, values = sample(f, seed, n=300, p=5, sigma=1e-6)
    model = fit_quadratic(points, values, region(5), 1e-6)
    assert model is not None

    def least(on):
        on = list(on)
        pull = hessian[np.ix_(on, range(5))] @ best
        z = np.zeros(5)
        z[on] = np.linalg.solve(hessian[np.ix_(on, on)], pull)
        return f(z)

    found = least(eliminate(model, 3))
    assert found - 3.0 <= 2.0 * (min(map(least, combinations(range(5), 3))) - 3.0) + 1e-9


@pytest.mark.parametrize("away", [0.0, 0.5])
def test_the_expected_gap_is_the_mean_gap(away):
    f, _, best = curved(6)
    center = best + away
    gaps, expected = [], []
    for seed in range(150):
        points, values = sample(f, seed, n=120, sigma=0.1, center=center)
        model = fit_quadratic(points, values, region(center=center), 0.1)
        assert model is not None
        x, _, size = minimize_model(model, np.full(4, -9.0), np.full(4, 9.0), radii=3.0)
        gaps.append(f(x) - 3.0)
        expected.append(expected_gap(model, size))
    assert 0.3 < np.mean(gaps) / np.mean(expected) < 3


def test_shapes_even_out_the_curvature():
    scales = np.array([1.0, 0.1, 0.01])
    shape = np.eye(3)
    for seed in range(8):
        around = Region(center=np.zeros(3), radius=1.0, shape=shape)
        rng = np.random.default_rng(seed)
        points = around.to_x(rng.uniform(-1, 1, (100, 3)))
        values = 0.5 * ((points * scales) ** 2).sum(axis=1) + 1e-8 * rng.standard_normal(100)
        model = fit_quadratic(points, values, around, 1e-8)
        assert model is not None
        shape = next_shape(model)
    curvature = np.diag(shape.T @ np.diag(scales**2) @ shape)
    assert curvature.max() / curvature.min() < 2
