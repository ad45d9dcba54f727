"""Baselines converge on the class that their theory covers, at its rate within a stated factor."""

import numpy as np
import pytest

from szoht import Sparse, algorithms, minimize
from szoht.operators import L1Ball, SoftThreshold

D = 20


@pytest.fixture
def quadratic():
    """f = |A x - b|^2 / 2, convex, smoothness 1; with its gradient."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((30, D))
    a /= np.linalg.norm(a, 2)
    b = a @ rng.standard_normal(D)

    def f(x):
        return 0.5 * float(((a @ x - b) ** 2).sum())

    def gradient(x):
        return a.T @ (a @ x - b)

    return f, gradient


def solve(operator, gradient, steps=20_000):
    """Minimise by many exact proximal gradient steps of length 1 / L = 1."""
    x = np.zeros(D)
    for _ in range(steps):
        x = operator.prox(x - gradient(x), 1.0)
    return x


def test_frank_wolfe_gap_falls_like_one_over_t(quadratic):
    """Exact gradients give 2 L diameter^2 / (t + 2): t times the gap does not grow, within 2."""
    f, gradient = quadratic
    ball = L1Ball(2.0)
    best = f(solve(ball, gradient))
    seen = []
    minimize(
        f,
        np.zeros(D),
        method=algorithms.zscg(radius=2.0, q=3_000),
        max_iterations=60,
        rng=0,
        monitor=lambda x: seen.append(f(x) - best) or 0.0,
    )
    gaps = np.array(seen[:60])
    t = np.arange(60)
    assert (gaps <= 2 * 4.0**2 / (t + 2)).all()
    scaled = (t + 2) * gaps
    assert scaled[20:].max() <= 2 * scaled[:20].max()


@pytest.mark.parametrize("horizon", [5, 10, 20])
def test_accelerated_variant_keeps_its_bound(quadratic, horizon):
    """f(z_N) - f* <= 12 L D0 / (N (N + 1)) for exact gradients; here within 1.5."""
    f, gradient = quadratic
    best = solve(L1Ball(2.0), gradient)
    distance = float(best @ best)
    method = algorithms.zscg(
        radius=2.0, variant="accelerated", q=2_000, distance=distance, horizon=horizon
    )
    result = minimize(f, np.zeros(D), method=method, max_iterations=horizon, rng=0)
    assert result.fun - f(best) <= 1.5 * 12 * distance / (horizon * (horizon + 1))


def test_projected_gradient_is_linear_on_strongly_convex_functions():
    """f = |x - y|^2 / 2 with y inside the ball: the gap contracts by (1 - eta)^2, within 4."""
    y = np.linspace(-0.05, 0.05, D)
    method = algorithms.zo_projected_gradient(radius=2.0, q=400, step_size=0.3, iterate="last")
    gaps = []
    minimize(
        lambda x: 0.5 * float(((x - y) ** 2).sum()),
        np.zeros(D),
        method=method,
        max_iterations=30,
        rng=0,
        monitor=lambda x: gaps.append(0.5 * ((x - y) ** 2).sum()) or 0.0,
    )
    expected = 0.5 * (y @ y) * 0.7 ** (2 * np.arange(1, 31))
    assert (gaps[:30] <= 4 * expected).all()


def test_rspgf_gradient_mapping_falls_with_the_budget(quadratic):
    """The rate is sqrt(d / N): 16 times the budget gives a quarter of the mapping, within 2."""
    f, gradient = quadratic
    penalty = SoftThreshold(1e-3)

    def mapping(budget, seed):
        setting = algorithms.rspgf_setting(
            d=D, smoothness=1.0, budget=budget, distance=3.0, gradient_bound=0.0
        )
        method = algorithms.rspgf(penalty=1e-3, iterate="random", **setting)
        x = minimize(f, np.zeros(D), method=method, max_queries=budget, rng=seed).x
        return float(((x - penalty.prox(x - gradient(x), 1.0)) ** 2).sum())

    few, many = (
        np.mean([mapping(budget, seed) for seed in range(12)]) for budget in (1_000, 16_000)
    )
    assert many <= 2 * few / 4


def test_growing_directions_remove_the_error_floor():
    """The gradient does not vanish at the sparse solution, so a constant q leaves noise there."""
    d, k, budget = 100, 3, 30_000
    y = np.full(d, 0.05)
    y[:k] = 1.0
    best = Sparse(k).prox(y, 0.0)

    def distance(method, seed):
        x = minimize(
            lambda x: 0.5 * float(((x - y) ** 2).sum()),
            np.zeros(d),
            method=method,
            max_queries=budget,
            rng=seed,
        ).x
        return float(np.linalg.norm(x - best))

    constant = algorithms.szoht(k=k, q=20, step_size=0.3, iterate="last")
    growing = algorithms.hzo_ht(k=k, q=20, growth=1.1, step_size=0.3, iterate="last")
    floor, hybrid = (
        np.median([distance(method, seed) for seed in range(5)]) for method in (constant, growing)
    )
    assert hybrid < 0.3 * floor


def test_momentum_averages_noise_away():
    """The same step and directions, a lower error where the gradient does not vanish."""
    d, k = 100, 3
    y = np.full(d, 0.05)
    y[:k] = 1.0
    best = Sparse(k).prox(y, 0.0)

    def distance(method, seed):
        x = minimize(
            lambda x: 0.5 * float(((x - y) ** 2).sum()),
            np.zeros(d),
            method=method,
            max_iterations=300,
            rng=seed,
        ).x
        return float(np.linalg.norm(x - best))

    plain = algorithms.szoht(k=k, q=20, step_size=0.1, iterate="last")
    averaged = algorithms.momentum_szoht(k=k, q=20, step_size=0.1, beta=0.9, iterate="last")
    one, other = (
        np.median([distance(method, seed) for seed in range(7)]) for method in (plain, averaged)
    )
    assert other < one
