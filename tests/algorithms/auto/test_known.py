"""Known evaluations as measurements: what they save, and what happens if they are wrong."""

import warnings

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht.errors import KnownPointWarning
from szoht.problems import recovery

D, K = 300, 5
GENERATOR = np.random.default_rng(3)
PEAK = np.zeros(D)
PEAK[GENERATOR.choice(D, K, replace=False)] = GENERATOR.uniform(0.3, 1.0, K)
WEIGHTS = GENERATOR.uniform(0.5, 2.0, D)


def quadratic(x):
    """A function whose gradient at zero is sparse."""
    return 0.5 * float((WEIGHTS * (x - PEAK) ** 2).sum())


SOURCE = recovery(150, 150, 5, correlation=0.5, noise=0.05, rng=4)
regression = SOURCE.objective.value
"""A function whose gradient at zero is not."""


def known(fun, points):
    return points, np.array([fun(x) for x in points])


def signs(n, d=D, length=1e-3, seed=0):
    return length * np.random.default_rng(seed).choice([-1.0, 1.0], (n, d))


def solve(fun, d, pairs=None, seed=0, **options):
    settings = {"k": K, "rng": seed, "max_queries": 3000} | options
    return szoht.minimize(fun, np.zeros(d), known=pairs, **settings)


def solve_regression(pairs=None, seed=0, **options):
    best = regression(SOURCE.reference)
    target = best + 1e-3 * (regression(SOURCE.x0) - best)
    return solve(regression, 150, pairs, seed, target=target, **options)


@most_seeds
def test_rows_around_the_start_recover_a_sparse_gradient(seed):
    cold = solve(quadratic, D, target=1e-6, seed=seed)
    warm = solve(quadratic, D, known(quadratic, signs(60)), target=1e-6, seed=seed)
    assert any("few coordinates explain 60 known rows" in line for line in warm.explain)
    assert warm.nfev <= cold.nfev - 2 * K
    assert warm.support.tolist() == np.flatnonzero(PEAK).tolist()


@most_seeds
def test_rows_save_the_axes_of_a_gradient_that_is_not_sparse(seed):
    cold = solve_regression(seed=seed)
    warm = solve_regression(known(regression, signs(80, 150)), seed)
    assert warm.success
    assert warm.nfev <= cold.nfev - 50


@most_seeds
def test_a_scan_along_all_axes_is_all_that_slopes_need(seed):
    cold = solve_regression(seed=seed)
    warm = solve_regression(known(regression, 0.01 * np.eye(150)), seed)
    assert warm.success
    assert warm.explain[0].startswith("x0 is the start, around which most is known")
    assert warm.nfev <= cold.nfev - 120


@most_seeds
def test_a_scan_of_a_sparse_gradient_is_believed(seed):
    cold = solve(quadratic, D, target=1e-6, seed=seed)
    warm = solve(quadratic, D, known(quadratic, 0.001 * np.eye(D)), target=1e-6, seed=seed)
    assert f"slopes along 0 rows and {D} axes are known." in warm.explain
    assert warm.nfev <= cold.nfev - 2 * K


@most_seeds
def test_curvature_along_axes_is_not_taken_for_slopes_in_other_units(seed):
    generator = np.random.default_rng(3)
    peak, weights = np.zeros(50), generator.uniform(0.5, 2.0, 50)
    peak[generator.choice(50, K, replace=False)] = generator.uniform(0.2, 1.0, K)

    def fun(x):
        return 0.5 * float((weights * (x - peak) ** 2).sum())

    cold = solve(fun, 50, target=1e-6, seed=seed)
    warm = solve(fun, 50, known(fun, 0.01 * np.eye(50)), target=1e-6, seed=seed)
    assert warm.nfev <= cold.nfev
    assert not any("units differ" in line for line in warm.explain)


@most_seeds
def test_an_earlier_run_is_continued_rather_than_repeated(seed):
    seen = []

    def fun(x):
        seen.append(x.copy())
        return regression(x)

    solve(fun, 150, seed=seed + 7, max_queries=300)
    cold = solve_regression(seed=seed)
    warm = solve_regression(known(regression, np.array(seen[:100])), seed)
    assert warm.success
    assert warm.nfev <= cold.nfev - 60


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("length", [0.05, 2.0])
@most_seeds
def test_points_too_far_away_for_slopes_cost_next_to_nothing(seed, length):
    points = np.random.default_rng(1).uniform(-length, length, (100, 150))
    cold, warm = solve_regression(seed=seed), solve_regression(known(regression, points), seed)
    assert warm.success
    assert warm.nfev <= 1.05 * cold.nfev


@most_seeds
def test_evaluations_of_another_function_are_found_by_one_and_dropped(seed):
    points, values = known(regression, signs(80, 150))
    with pytest.warns(KnownPointWarning, match="80 of 80 `known` evaluations are left out"):
        warm = solve_regression((points, values + 0.3), seed)
    assert warm.success
    assert not any("are known" in line for line in warm.explain)
    assert warm.nfev <= solve_regression(seed=seed).nfev + 4


@most_seeds
def test_a_wrong_value_is_dropped_and_the_others_are_used(seed):
    points, values = known(quadratic, signs(60))
    values[7] += 1.0
    with pytest.warns(KnownPointWarning, match="1 of 60 `known` evaluations are left out"):
        warm = solve(quadratic, D, (points, values), target=1e-6, seed=seed)
    assert any("few coordinates explain 59 known rows" in line for line in warm.explain)
    assert warm.support.tolist() == np.flatnonzero(PEAK).tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("digits", [3, 6])
@most_seeds
def test_values_of_few_digits_cost_next_to_nothing(seed, digits):
    peak = np.zeros(120)
    peak[[5, 33, 62, 110]] = 0.4, 0.5, 0.3, 0.6

    def fun(x):
        return float(((x - peak) ** 2).sum())

    points, values = known(fun, signs(80, 120))
    rounded = np.array([float(f"{value:.{digits}g}") for value in values])
    cold = solve(fun, 120, k=4, target=1e-6, seed=seed)
    warm = solve(fun, 120, (points, rounded), k=4, target=1e-6, seed=seed)
    assert warm.nfev <= cold.nfev + 1


@pytest.mark.filterwarnings("error")
@most_seeds
def test_what_curvature_at_the_start_does_not_tell_is_found_by_one_short_difference(seed):
    generator = np.random.default_rng(2)
    slopes, third = generator.normal(0, 2, 150), generator.normal(0, 1000, 150)

    def fun(x):
        return float(slopes @ x + 0.5 * x @ x + third @ x**3)

    warm = solve(fun, 150, known(fun, signs(80, 150, length=0.05)), max_queries=60, seed=seed)
    assert not any("are known" in line for line in warm.explain)
    near = solve(fun, 150, known(fun, signs(80, 150, length=1e-4)), max_queries=60, seed=seed)
    assert any("slopes along 80 rows and 0 axes are known" in line for line in near.explain)


@most_seeds
def test_a_wrong_scan_is_found(seed):
    points, values = known(regression, 0.01 * np.eye(150))
    with (
        pytest.warns(KnownPointWarning, match="its best point has the value"),
        pytest.warns(KnownPointWarning, match="149 of 149 `known`"),
    ):
        warm = solve_regression((points, 1.5 * values), seed=seed)
    assert warm.success


@pytest.mark.filterwarnings("error")
@most_seeds
def test_slopes_are_those_of_variables_with_units_and_bounds(seed):
    nominal = np.full(D, 300.0)
    knobs = szoht.Variables(nominal, low=200, high=500, unit=10.0)

    def fun(x):
        return quadratic((x - nominal) / 50)

    points = nominal + 10 * signs(80)
    cold = szoht.minimize(fun, knobs, k=K, rng=seed, target=1e-6)
    warm = szoht.minimize(fun, knobs, k=K, rng=seed, target=1e-6, known=known(fun, points))
    assert warm.support.tolist() == np.flatnonzero(PEAK).tolist()
    assert warm.nfev <= cold.nfev - K


@most_seeds
def test_noisy_values_are_no_equations(seed):
    noise = np.random.default_rng(seed)

    def fun(x):
        return quadratic(x) + 1e-3 * noise.normal()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warm = solve(fun, D, known(fun, signs(60)), max_queries=600, seed=seed)
    assert not any("are known" in line for line in warm.explain)


@most_seeds
def test_the_path_over_k_uses_them_too(seed):
    warm = solve(quadratic, D, known(quadratic, signs(60)), k=None, max_queries=600, seed=seed)
    assert any("known rows" in line for line in warm.explain)
    assert set(np.flatnonzero(PEAK)) <= set(warm.support)


@pytest.mark.parametrize("as_start", [True, False])
@most_seeds
def test_a_change_that_gains_nothing_is_put_back(seed, as_start):
    target = np.zeros(30)
    target[[3, 7]] = 0.8, -0.6

    def fun(x):  # does not depend on x[13]
        return float(((x - target)[:10] ** 2).sum())

    start = np.zeros(30)
    start[[3, 13]] = 0.2, 0.5
    point = {"known": known(fun, start[np.newaxis])}
    x0, options = (start, {}) if as_start else (np.zeros(30), point)
    result = szoht.minimize(fun, x0, k=3, rng=seed, max_queries=2000, **options)
    assert result.support.tolist() == [3, 7]
    assert result.fun < 1e-12
    assert result.success
