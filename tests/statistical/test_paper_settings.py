"""The paper's synthetic experiments at full size: long, so behind a marker."""

import numpy as np
import pytest

from szoht import algorithms, minimize, theory

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("d", [5_000, 10_000])
@pytest.mark.parametrize("seed", [0, 1])
def test_dimension_experiment(d, seed):
    """f = 0.231 after ten iterations of 2014 directions, whatever the dimension."""
    y = np.zeros(d)
    y[-5:] = np.arange(1, 6) / 5
    method = algorithms.szoht(k=500, q=2014, mu=1e-8, step_size=1 / 13, iterate="last")
    result = minimize(
        lambda points: 0.5 * ((points - y) ** 2).sum(axis=1),
        np.zeros(d),
        method=method,
        vectorized=True,
        max_iterations=10,
        rng=seed,
    )
    assert result.history["value"][0] == pytest.approx(1.1)
    assert result.fun == pytest.approx(0.231, abs=0.01)


def test_sensitivity_experiment():
    """f = 0.0021 at 50,000 queries for q = 5000; the objective that reproduces the figure."""
    d, k_star, k = 5_000, 5, 370
    size = 2 * k + k_star
    a, b = np.zeros(d), np.zeros(d)
    a[-size:] = 1.0
    index = np.arange(1, d + 1)
    b[-70 * k_star :] = index[-70 * k_star :] / (100 * d)

    def values(points):
        return 0.5 * (a * (points - b) ** 2).sum(axis=1)

    assert values(np.zeros((1, d)))[0] == pytest.approx(0.01631, abs=1e-5)
    setting = theory.Setting(d=d, k=k, k_star=k_star, q=5_000, support_size=d)
    step = theory.step_size(setting, theory.Regularity(smoothness=1.0, convexity=1.0))
    method = algorithms.szoht(k=k, q=5_000, mu=1e-4, step_size=float(step), iterate="last")
    result = minimize(values, np.zeros(d), method=method, vectorized=True, max_iterations=10, rng=0)
    assert result.fun == pytest.approx(0.0021, abs=2e-4)
