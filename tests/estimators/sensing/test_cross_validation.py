"""Matching pursuit and its cross-validation, against naive transcriptions."""

from itertools import combinations

import numpy as np
import pytest

from szoht.estimators.sensing.cross_validation import (
    cross_validate,
    pursue,
    recover_noisy,
    winsorize,
)


def naive_pursuit(rows, y, size):
    norms = np.linalg.norm(rows, axis=0)
    order, residual = [], y
    for _ in range(size):
        fit = np.abs(rows.T @ residual) / norms
        fit[order] = -1
        order.append(int(np.argmax(fit)))
        residual = y - rows[:, order] @ np.linalg.lstsq(rows[:, order], y, rcond=None)[0]
    return order


def problem(seed, m=60, d=40, noise=0.3):
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0.5, 1.0, 2.0], m)
    rows = rng.choice([-1.0, 1.0], (m, d)) * lengths[:, np.newaxis]
    slopes = np.zeros(d)
    slopes[rng.choice(d, 4, replace=False)] = [2.0, -1.5, 1.0, 0.7]
    return rows, rows @ slopes + noise * rng.standard_normal(m), slopes


@pytest.mark.parametrize("seed", range(5))
def test_pursuit_selects_what_a_naive_one_does(seed):
    rows, y, _ = problem(seed)
    *_, last = levels = pursue(rows, y, 6)
    order = list(last.order)
    assert order == naive_pursuit(rows, y, 6)
    assert [list(one.order) for one in levels] == [order[:size] for size in range(7)]
    np.testing.assert_allclose(last.basis @ last.factor, rows[:, order], atol=1e-12)
    np.testing.assert_allclose(last.basis.T @ last.basis, np.eye(6), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_each_of_several_choices_is_that_of_least_squares(seed):
    rows, y, _ = problem(seed, m=14)
    narrow, wide = pursue(rows, y, 4), pursue(rows, y, 4, width=5)
    for one, other in zip(narrow, wide, strict=True):
        on = list(other.order)
        c = np.linalg.lstsq(rows[:, on], y, rcond=None)[0]
        np.testing.assert_allclose(other.solve(y), c, atol=1e-9)
        np.testing.assert_allclose(other.residual, y - rows[:, on] @ c, atol=1e-9)
        assert other.residual @ other.residual <= one.residual @ one.residual * (1 + 1e-12)


def test_all_pairs_are_tried_if_all_are_followed():
    rows, y, _ = problem(3, m=12, d=9)
    squares = {
        pair: np.linalg.lstsq(rows[:, pair], y, rcond=None)[1][0]
        for pair in combinations(range(9), 2)
    }
    # fits below half of the largest are not followed
    assert tuple(sorted(pursue(rows, y, 2, width=9)[2].order)) == min(squares, key=squares.get)


def test_few_rows_are_enough_with_little_noise():
    found = 0
    for seed in range(20):
        rows, y, slopes = problem(seed, m=16, noise=0.01)
        found += set(np.flatnonzero(slopes)) <= set(pursue(rows, y, 4, width=6)[4].order)
        recovery = recover_noisy(rows, y, 8, variance=1e-4)
        assert recovery.order.size == np.unique(recovery.order).size
    alone = sum(
        set(np.flatnonzero(slopes)) <= set(pursue(rows, y, 4)[4].order)
        for rows, y, slopes in (problem(seed, m=16, noise=0.01) for seed in range(20))
    )
    assert found >= 15 > alone


def test_pursuit_ends_where_columns_repeat():
    rows = np.ones((10, 3))
    assert len(pursue(rows, np.arange(10.0), 3)) == 2


def test_a_fixed_coordinate_is_never_selected():
    rows, y, _ = problem(0)
    rows[:, 7] = 0.0
    assert 7 not in pursue(rows, y, 20)[-1].order


@pytest.mark.parametrize("seed", range(3))
def test_cross_validation_selects_inside_each_fold(seed):
    rows, y, _ = problem(seed)
    errors = cross_validate(rows, y, 5)
    fold = np.arange(y.size) % 5
    for number in range(5):
        train, test = fold != number, fold == number
        order = naive_pursuit(rows[train], y[train], 5)
        for size in range(6):
            on = order[:size]
            c = np.linalg.lstsq(rows[train][:, on], y[train], rcond=None)[0]
            naive = (y[test] - rows[test][:, on] @ c) ** 2
            np.testing.assert_allclose(errors[size, test], naive, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_recovers_the_slopes_with_honest_errors(seed):
    rows, y, slopes = problem(seed, m=80)
    found = recover_noisy(rows, y, 8, variance=0.09)
    assert set(np.flatnonzero(slopes)) <= set(found.order[: found.size])
    assert found.r2 > 0.9
    assert found.signal == pytest.approx(1 - 0.09 / np.mean(y**2))
    error = 0.3 / np.linalg.norm(rows[:, found.order[0]])
    assert abs(found.slopes[0] - slopes[found.order[0]]) < 5 * error
    assert found.z[0] == pytest.approx(abs(found.slopes[0]) / error, rel=0.4)


def test_noise_alone_predicts_nothing():
    rng = np.random.default_rng(0)
    significant = 0
    for _ in range(40):
        rows = rng.choice([-1.0, 1.0], (60, 100))
        found = recover_noisy(rows, rng.standard_normal(60), 10, variance=1.0)
        significant += found.size > 0 and found.t > 2.5
        assert found.signal < 0.5
    assert significant <= 2


def test_winsorize_clips_outliers_only():
    y = np.append(np.linspace(-1, 1, 21), 100.0)
    clipped = winsorize(y)
    np.testing.assert_array_equal(clipped[:21], y[:21])
    assert clipped[21] < 4


def test_repeated_rows_are_held_out_together():
    rng = np.random.default_rng(6)
    rows = np.repeat(rng.choice([-1.0, 1.0], (20, 200)), 3, axis=0)
    y = np.repeat(rng.standard_normal(20), 3)  # nothing to predict but the repetitions
    groups = np.repeat(np.arange(20), 3)
    assert recover_noisy(rows, y, 10, 0.0).r2 > 0.5
    assert recover_noisy(rows, y, 10, 0.0, groups).r2 < 0.3
