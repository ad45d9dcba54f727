import itertools
import math

import numpy as np
import pytest

from szoht.errors import ParameterError
from szoht.theory import (
    Setting,
    direction_factors,
    error_second_moment,
    orthonormal_second_moment,
    second_moment,
    subspace_second_moment,
)

D, SIZE = 40, 7
GRADIENT = np.linspace(-1.0, 2.0, D)
ON, OFF = float(GRADIENT[:SIZE] @ GRADIENT[:SIZE]), float(GRADIENT[SIZE:] @ GRADIENT[SIZE:])


def estimates(n, q, support_size, rng, *, curvature=0.0, mu=0.0, inside=False):
    """Draw n estimates at the point where f = g.x + curvature |x|^2 / 2 has gradient g."""
    raw = rng.standard_normal((n * q, support_size))
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    directions = np.zeros((n * q, D))
    supports = rng.random((n * q, D)).argsort(axis=1)[:, :support_size]
    np.put_along_axis(directions, supports, raw, axis=1)
    gradient = GRADIENT * (np.arange(D) < SIZE) if inside else GRADIENT
    quotients = directions @ gradient + 0.5 * curvature * mu
    return (D * quotients[:, None] * directions).reshape(n, q, D).mean(axis=1)


def assert_mean(sample, expected, *, precision=0.02):
    error = sample.std(ddof=1) / math.sqrt(sample.size)
    assert error < precision * expected
    assert abs(sample.mean() - expected) < 4 * error


@pytest.mark.parametrize("support_size", [1, 10, D])
@pytest.mark.parametrize("q", [1, 6])
def test_exact_second_moments_are_met(support_size, q):
    sample = estimates(60_000 // q, q, support_size, np.random.default_rng(4))[:, :SIZE]
    setting = Setting(d=D, k=3, k_star=1, q=q, support_size=support_size)
    squares = (sample**2).sum(axis=1)
    assert_mean(squares, second_moment(setting, on=ON, off=OFF))
    errors = ((sample - GRADIENT[:SIZE]) ** 2).sum(axis=1)
    assert_mean(errors, error_second_moment(setting, on=ON, off=OFF))


@pytest.mark.parametrize("support_size", [10, D])
def test_exact_moments_of_a_gradient_inside(support_size):
    """No noise comes from outside, so that the mean itself is visible in the second moment."""
    q = 6
    sample = estimates(10_000, q, support_size, np.random.default_rng(17), inside=True)[:, :SIZE]
    setting = Setting(d=D, k=3, k_star=1, q=q, support_size=support_size)
    assert_mean((sample**2).sum(axis=1), second_moment(setting, on=ON, off=0.0), precision=0.015)
    errors = ((sample - GRADIENT[:SIZE]) ** 2).sum(axis=1)
    assert_mean(errors, error_second_moment(setting, on=ON, off=0.0))


@pytest.mark.parametrize("support_size", [1, 10, D])
def test_the_term_of_the_radius_is_met(support_size):
    curvature, mu, q = 3.0, 2.0, 2
    rng = np.random.default_rng(5)
    sample = estimates(40_000, q, support_size, rng, curvature=curvature, mu=mu)[:, :SIZE]
    setting = Setting(d=D, k=3, k_star=1, q=q, support_size=support_size)
    expected = second_moment(setting, on=ON, off=OFF, curvature=curvature, mu=mu)
    assert expected > 1.3 * second_moment(setting, on=ON, off=OFF)  # the term is visible
    assert_mean((sample**2).sum(axis=1), expected)


def test_factors_by_enumeration_of_every_support():
    """On a support S: E[u_i^2 u_j^2] = (1 + 2 [i = j]) / (s2 (s2 + 2)) for i, j in S."""
    d, support_size, size = 6, 3, 2
    gradient = np.array([1.0, -2.0, 3.0, 0.5, 1.5, -1.0])
    total, count = 0.0, 0
    for support in itertools.combinations(range(d), support_size):
        kept = [j for j in support if j < size]
        total += sum(gradient[i] ** 2 * (3.0 if i == j else 1.0) for i in support for j in kept) / (
            support_size * (support_size + 2)
        )
        count += 1
    on, off = direction_factors(d=d, support_size=support_size, size=size)
    expected = on * (gradient[:size] ** 2).sum() + off * (gradient[size:] ** 2).sum()
    assert d**2 * total / count == pytest.approx(expected, rel=1e-12)


def test_factors_of_single_coordinates_and_of_one_dimension():
    assert direction_factors(d=50, support_size=1, size=8) == (50.0, 0.0)
    assert direction_factors(d=1, support_size=1, size=1) == (1.0, 0.0)


def test_subspace_and_orthonormal_directions():
    d, q, dimension, n = 12, 5, 3, 20_000
    rng = np.random.default_rng(6)
    basis = np.linalg.qr(rng.standard_normal((d, dimension)))[0]
    gradient = rng.standard_normal(d)
    on = float(((gradient @ basis) ** 2).sum())
    off = float(gradient @ gradient) - on
    arguments = {"d": d, "q": q, "dimension": dimension, "on": on, "off": off}
    raw = rng.standard_normal((n, q, d))
    units = raw / np.linalg.norm(raw, axis=2, keepdims=True)
    independent = d / q * np.einsum("nqd,nq->nd", units, units @ gradient)
    squares = ((independent @ basis) ** 2).sum(axis=1)
    assert_mean(squares, subspace_second_moment(**arguments))
    frames = np.linalg.qr(raw.transpose(0, 2, 1))[0]
    projected = d / q * np.einsum("ndq,nq->nd", frames, gradient @ frames)
    squares = ((projected @ basis) ** 2).sum(axis=1)
    assert_mean(squares, orthonormal_second_moment(**arguments))


def test_orthonormal_agrees_with_independent_for_one_direction():
    arguments = {"d": 9, "q": 1, "dimension": 4, "on": 2.0, "off": 3.0}
    assert orthonormal_second_moment(**arguments) == pytest.approx(
        subspace_second_moment(**arguments)
    )


def test_orthonormal_noise_from_outside_shrinks_by_the_stated_factor():
    d, q = 20, 8
    outside = {"d": d, "q": q, "dimension": 4, "on": 0.0, "off": 1.0}
    ratio = orthonormal_second_moment(**outside) / subspace_second_moment(**outside)
    assert ratio == pytest.approx((d - q) / (d - 1))
    assert orthonormal_second_moment(**{**outside, "q": d}) == 0.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"on": -1.0}, "on"),
        ({"off": -1.0}, "off"),
        ({"mu": -1.0}, "mu"),
        ({"size": 41}, "size"),
        ({"size": 2.5}, "size"),
    ],
)
def test_bad_input_is_refused(arguments, name):
    setting = Setting(d=D, k=3, k_star=1, q=1, support_size=D)
    with pytest.raises(ParameterError, match=f"`{name}`"):
        second_moment(setting, **{"on": 1.0, "off": 1.0, **arguments})


def test_more_orthonormal_directions_than_dimensions_are_refused():
    with pytest.raises(ParameterError, match="`q`"):
        orthonormal_second_moment(d=3, q=4, dimension=1, on=1.0, off=1.0)
