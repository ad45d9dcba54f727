"""What a line of values says about their error."""

import hashlib

import numpy as np
import pytest

from szoht.estimators.sensing.noise_test import (
    LINE_STEPS,
    ROUGH_STEPS,
    NoiseKind,
    NoiseModel,
    difference_noise,
    from_line,
    from_repeats,
    mostly_equal,
    pool,
    robust_rms,
    robust_scale,
    rough_at,
)


def smooth(t):
    return np.exp(0.7 * t) + 3 * t**2 + 2.0


def hashed(t, size):
    digest = hashlib.md5(np.float64(t).tobytes(), usedforsecurity=False).digest()
    return size * (2 * int.from_bytes(digest[:8], "little") / 2**64 - 1)


def line(f, steps=LINE_STEPS):
    return f(0.0), np.array([f(t) for t in steps])


def test_differences_of_independent_errors_have_their_size():
    rng = np.random.default_rng(0)
    found = np.array([difference_noise(rng.standard_normal(4)) for _ in range(4000)])
    np.testing.assert_allclose(np.sqrt(np.mean(found**2, axis=0)), 1.0, rtol=0.05)


@pytest.mark.parametrize("factor", [1.0, 1e12, 1e-12])
@pytest.mark.parametrize("constant", [0.0, 1e3, -1e6])
def test_a_smooth_function_is_exact_whatever_its_scale(factor, constant):
    noise = from_line(*line(lambda t: factor * (smooth(t) + constant)))
    assert noise.exact
    assert noise.slope == pytest.approx(0.7 * factor, rel=0.01)


@pytest.mark.parametrize("size", [1e-6, 1e-4, 1e-2])
def test_a_fixed_error_is_found_and_sized(size):
    rng = np.random.default_rng(1)
    ratios = []
    for shift in rng.uniform(0, 1, 200):
        noise = from_line(*line(lambda t, s=shift: smooth(t) + hashed(t + s, size)))
        assert noise.kind is NoiseKind.FIXED
        ratios.append(noise.sigma / (size / np.sqrt(3)))
    low, high = np.quantile(ratios, [0.1, 0.9])
    assert low > 0.3
    assert high < 2.5


@pytest.mark.parametrize("w", [2e5, 2e6, 2e8])
def test_a_wave_is_an_error(w):
    rng = np.random.default_rng(2)
    for phase in rng.uniform(0, 2 * np.pi, 50):
        noise = from_line(*line(lambda t, p=phase: smooth(t) + 1e-3 * np.sin(w * t + p)))
        assert not noise.exact


def test_an_error_below_what_slopes_notice_is_exact():
    assert from_line(*line(lambda t: smooth(t) + hashed(t, 1e-12))).exact


def test_no_change_at_all_is_flat():
    assert from_line(1.0, np.ones(5)).flat


@pytest.mark.parametrize("w", [2e3, 2e4])
def test_slow_waves_are_found_over_longer_distances(w):
    rng = np.random.default_rng(3)
    found = 0
    for phase in rng.uniform(0, 2 * np.pi, 50):

        def f(t, phase=phase):
            return smooth(t) + 1e-2 * np.sin(w * t + phase)

        noise = rough_at(NoiseModel(sigma=1e-15), np.array([f(0.0), *map(f, ROUGH_STEPS)]))
        found += not noise.exact
        if not noise.exact:
            assert 1e-3 < noise.sigma < 3e-2
    assert found >= 45


@pytest.mark.parametrize("f", [smooth, lambda t: abs(t - 0.0032), lambda t: np.floor(190 * t)])
def test_smooth_functions_and_kinks_and_single_steps_are_not_rough(f):
    assert rough_at(NoiseModel(sigma=1e-15), np.array([f(0.0), *map(f, ROUGH_STEPS)])).exact


def test_repeats_give_the_size_of_fresh_noise():
    rng = np.random.default_rng(4)
    found = [from_repeats(rng.standard_normal(6)).sigma for _ in range(500)]
    low, high = np.quantile(found, [0.1, 0.9])
    assert low > 0.5
    assert high < 1.5


def test_one_gross_value_does_not_spoil_the_scale():
    values = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1e6])
    assert from_repeats(values).sigma < 1


def test_outliers_among_equal_values_are_told_from_noise():
    assert mostly_equal(np.array([2.0, 2.0, 9.0, 2.0, 2.0, 7.0])) == 2.0
    assert mostly_equal(np.array([2.0, 2.1, 9.0, 2.2, 2.3, 7.0])) is None


def test_pooling_weighs_by_the_number_of_differences():
    noise = pool(NoiseModel(sigma=2.0, weight=5.0), 1.0, 15.0)
    assert noise.sigma == pytest.approx(np.sqrt((5 * 4 + 15) / 20))
    assert noise.weight == 20


def test_robust_scales_agree_with_the_standard_deviation_of_normal_values():
    values = np.random.default_rng(5).standard_normal(100_000)
    assert robust_scale(values) == pytest.approx(1.0, rel=0.02)
    assert robust_rms(values) == pytest.approx(1.0, rel=0.02)
    assert robust_rms(np.append(values[:1000], 1e6)) < 1.1


@pytest.mark.parametrize("near", [[-1, 0, 0], [0, 0, 1], [-1, -1, -2], [0, -1, -1]])
def test_counts_change_in_steps_and_are_no_errors(near):
    """Pairs in the wrong order: neighboring values differ by whole multiples, or not at all."""
    counts = np.array([*near, 6, 135])
    assert from_line(0.551, 0.551 + 2.5106e-5 * counts).stepwise
    assert not from_line(0.551, 0.551 + 2.5106e-5 * (counts + 0.3 * np.sin(counts))).stepwise
    assert not from_line(0.551, 0.551 + 1e-9 * counts).stepwise
