import math

import numpy as np
import pytest
from scipy import integrate

from szoht.errors import ParameterError
from szoht.theory import (
    direction_covariance,
    estimate_sphere,
    projection_fourth_moment,
    projection_mean,
    projection_mean_bound,
    projection_second_moment,
    sphere_integral,
)


def unit_vectors(n, d, rng):
    vectors = rng.standard_normal((n, d))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def assert_mean(sample, expected, *, precision):
    error = sample.std(ddof=1) / math.sqrt(sample.size)
    assert error < precision * abs(expected)  # else the comparison proves nothing
    assert abs(sample.mean() - expected) < 4 * error


@pytest.mark.parametrize("powers", [(0, 0), (1, 0), (1, 1), (2, 1), (3, 0)])
def test_lemma_b1_on_the_circle(powers):
    def density(angle):
        return math.cos(angle) ** (2 * powers[0]) * math.sin(angle) ** (2 * powers[1])

    expected, _ = integrate.quad(density, 0, 2 * math.pi)
    assert sphere_integral(powers) == pytest.approx(expected, rel=1e-10)


def test_lemma_b1_gives_lemma_b2():
    d, size = 9, 4
    area = sphere_integral([0] * d)
    square = sphere_integral([1, *[0] * (d - 1)]) / area
    fourth = sphere_integral([2, *[0] * (d - 1)]) / area
    mixed = sphere_integral([1, 1, *[0] * (d - 2)]) / area
    assert projection_second_moment(d=d, size=size) == pytest.approx(size * square)
    expected = size * fourth + size * (size - 1) * mixed
    assert projection_fourth_moment(d=d, size=size) == pytest.approx(expected)


@pytest.mark.parametrize(("d", "size"), [(3, 1), (20, 5), (20, 20)])
def test_lemma_b2_by_simulation(d, size):
    norms = np.linalg.norm(unit_vectors(40_000, d, np.random.default_rng(1))[:, :size], axis=1)
    if size == d:
        assert projection_mean(d=d, size=size) == pytest.approx(1.0)
        assert projection_fourth_moment(d=d, size=size) == 1.0
        return
    assert_mean(norms, projection_mean(d=d, size=size), precision=0.01)
    assert_mean(norms**2, projection_second_moment(d=d, size=size), precision=0.01)
    assert_mean(norms**4, projection_fourth_moment(d=d, size=size), precision=0.01)
    assert projection_mean(d=d, size=size) < projection_mean_bound(d=d, size=size)


@pytest.mark.parametrize("support_size", [1, 4, 12])
def test_lemma_b3_for_every_support_size(support_size):
    d, n, rng = 12, 40_000, np.random.default_rng(2)
    vectors = np.zeros((n, d))
    supports = rng.random((n, d)).argsort(axis=1)[:, :support_size]
    np.put_along_axis(vectors, supports, unit_vectors(n, support_size, rng), axis=1)
    covariance = vectors.T @ vectors / n
    error = np.sqrt((vectors**2).T @ vectors**2 / n / n).max()
    assert error < 0.05 / d
    np.testing.assert_allclose(covariance, np.eye(d) * direction_covariance(d=d), atol=5 * error)


def test_remark_5_every_estimate_is_on_the_sphere():
    gradient = np.array([1.0, -2.0, 0.5, 3.0])
    directions = unit_vectors(1000, 4, np.random.default_rng(3))
    estimates = 4 * (directions @ gradient)[:, None] * directions
    centre, radius = estimate_sphere(gradient)
    np.testing.assert_allclose(np.linalg.norm(estimates - centre, axis=1), radius, rtol=1e-12)


@pytest.mark.parametrize("size", [0, 6])
def test_bad_size_is_refused(size):
    with pytest.raises(ParameterError, match=r"`size` must be an integer in \[1, d\]"):
        projection_second_moment(d=5, size=size)


def test_negative_power_is_refused():
    with pytest.raises(ParameterError, match=r"`powers\[1\]`"):
        sphere_integral([0, -1])
