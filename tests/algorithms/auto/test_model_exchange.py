"""Exchanges by a model of second derivatives: correlated designs, and ratios of risk and return."""

from itertools import combinations

import numpy as np
import pytest

import szoht
from outcomes import most_seeds
from szoht import SparseBox, Status
from szoht.algorithms.auto.restricted.best_subset import Quadratic, exchanged, ranked_exchanges
from szoht.algorithms.auto.scale_free import Form


def minimize(fun, x0, **settings):
    """Minimize a function that some points are no arguments of: it divides by a sum."""
    return szoht.minimize(fun, x0, on_error="skip", **settings)


class Assets:
    """Returns of correlated assets, and functions of weights of which k may differ from zero."""

    def __init__(self, seed, d=14):
        rng = np.random.default_rng(seed)
        loadings = 0.1 * rng.standard_normal((d, 3)) + [0.15, 0.0, 0.0]
        self.covariance = loadings @ loadings.T + np.diag(rng.uniform(0.005, 0.03, d))
        self.mean = 0.05 * rng.standard_normal(d) + 0.08
        self.ones = np.ones(d)
        self.start = np.zeros(d)
        self.start[:4] = 0.25

    def variance(self, x):
        w = x / x.sum()
        return float(w @ self.covariance @ w)

    def variance_slopes(self, x):
        total = x.sum()
        return 2 * (self.covariance @ x - (x @ self.covariance @ x) / total) / total**2

    def sharpe(self, x):
        return -float(self.mean @ x) / float(np.sqrt(x @ self.covariance @ x))

    def rayleigh(self, x):
        return -float(x @ self.covariance @ x) / float(x @ x)

    def least(self, k, what):
        return min(what(list(s)) for s in combinations(range(self.mean.size), k))

    def least_variance(self, s):
        block = self.covariance[np.ix_(s, s)]
        return 1 / float(np.linalg.solve(block, self.ones[s]).sum())

    def best_sharpe(self, s):
        block = self.covariance[np.ix_(s, s)]
        return -float(np.sqrt(self.mean[s] @ np.linalg.solve(block, self.mean[s])))

    def best_rayleigh(self, s):
        return -float(np.linalg.eigvalsh(self.covariance[np.ix_(s, s)])[-1])


@most_seeds
def test_the_least_variance_of_weights_that_f_makes_sum_to_one(seed):
    assets = Assets(seed)
    best = assets.least(4, assets.least_variance)
    by_values = minimize(assets.variance, assets.start, k=4, max_queries=1_000, rng=seed)
    by_slopes = minimize(
        assets.variance, assets.start, k=4, gradient=assets.variance_slopes, rng=seed
    )
    assert by_values.fun <= best * (1 + 1e-4)
    assert by_slopes.fun <= best * (1 + 1e-4)
    assert by_slopes.nfev < 80


@most_seeds
def test_ratios_that_no_sum_explains(seed):
    assets = Assets(seed)
    for fun, bound in (
        (assets.sharpe, assets.best_sharpe),
        (assets.rayleigh, assets.best_rayleigh),
    ):
        best = assets.least(4, bound)
        result = minimize(fun, assets.start, k=4, max_queries=2_000, rng=seed)
        assert result.fun <= best + 0.01 * abs(best)


@most_seeds(seeds=(0, 2, 3, 6, 7))
def test_weights_in_a_box_of_unlike_widths(seed):
    assets, rng = Assets(seed), np.random.default_rng(seed)
    width = 10 ** rng.uniform(0.5, 1.5, assets.mean.size)
    best = assets.least(4, assets.least_variance)
    result = minimize(
        assets.variance,
        assets.start,
        constraint=SparseBox(4, -width, width),
        target=best * (1 + 1e-4),
        max_queries=600,
        rng=seed,
    )
    assert result.status is Status.TARGET


@most_seeds
def test_values_that_bend_within_the_lengths_of_the_noise_test_are_exact(seed):
    """Over a hundredth of the box the sum that f divides by may change its sign."""
    assets, rng = Assets(seed), np.random.default_rng(seed)
    unit = 10 ** rng.uniform(-2, 2, assets.mean.size)
    result = minimize(
        lambda x: assets.variance(x / unit),
        assets.start * unit,
        constraint=SparseBox(4, -5 * unit, 5 * unit),
        max_queries=1_000,
        rng=seed,
    )
    assert "values are exact" in result.explain[0]
    assert result.fun_error == 0


@pytest.mark.parametrize("seed", range(3))
def test_what_is_the_same_everywhere(seed):
    """Of f(x) = w' A w with w = x / sum(x), by its derivatives."""
    rng = np.random.default_rng(seed)
    root, x = rng.standard_normal((5, 5)), rng.uniform(0.2, 1.0, 5)
    a, ones, s = root @ root.T, np.ones(5), x.sum()
    n, ax = x @ a @ x, a @ x
    gradient = 2 * ax / s**2 - 2 * n / s**3
    hessian = 2 * a / s**2 - 4 * (np.outer(ax, ones) + np.outer(ones, ax)) / s**3 + 6 * n / s**4
    form = Form(s**2, 2 * s * gradient + n / s**2)
    i, j = np.ix_(range(5), range(5))
    assert form.constant(hessian, i, j) == pytest.approx(2 * a)
    assert form.hessian(2 * a, i, j) == pytest.approx(hessian)


@most_seeds(seeds=range(3, 8))
def test_a_model_that_promised_too_much_is_measured_again(seed):
    """The ratio of return to risk is no quadratic function, whatever is held."""
    assets = Assets(seed, d=60)
    start = np.zeros(60)
    start[:5] = 0.2

    def slopes(x):
        square = x @ assets.covariance @ x
        across = (assets.mean @ x) * (assets.covariance @ x) / square**1.5
        return across - assets.mean / np.sqrt(square)

    result = minimize(assets.sharpe, start, k=5, gradient=slopes, rng=seed)
    # exchanges of one or two weights, each worked out exactly, gain nothing
    here, gain = list(result.support), assets.best_sharpe(list(result.support))
    for n in (1, 2):
        for out in combinations(here, n):
            left = [i for i in here if i not in out]
            for new in combinations(set(range(60)) - set(here), n):
                assert assets.best_sharpe([*left, *new]) > gain * (1 + 1e-3)


@most_seeds
def test_a_pole_is_not_taken_for_noise(seed):
    """Dense lines through weights that f divides by their sum cross points where that vanishes."""
    rng = np.random.default_rng(0)
    d = 225
    loadings = 0.01 * rng.standard_normal((d, 5)) + 0.02
    covariance = loadings @ loadings.T + 1e-4 * np.diag(rng.uniform(0.5, 3, d))

    def fun(x):
        w = x / x.sum()
        return float(w @ covariance @ w)

    start = np.zeros(d)
    start[::45] = 0.2
    result = minimize(fun, start, k=5, max_queries=1_200, rng=seed)
    assert not any("fixed error" in line for line in result.explain)
    assert result.fun < 0.5 * fun(start)


@pytest.mark.parametrize("seed", range(20))
def test_ranked_exchanges_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n, k = 8, 3
    factor = rng.standard_normal((n, 12))
    model = Quadratic.around(
        rng.standard_normal(n), rng.standard_normal(n), factor @ factor.T, np.array([0])
    )
    support = np.array([0, 3, 5])
    pairs, gains = ranked_exchanges(model, support, 4)
    every = [
        (model.minimum(exchanged(support, np.array([i, j])))[2] - model.minimum(support)[2], i, j)
        for i in (3, 5)
        for j in (1, 2, 4, 6, 7)
    ]
    best = sorted(every, reverse=True)[:4]
    assert gains == pytest.approx([gain for gain, _, _ in best])
    assert pairs.tolist() == [[i, j] for _, i, j in best]
    assert pairs.shape[1] + k == exchanged(support, pairs[0]).size + 2


def test_a_model_steps_neither_along_what_is_held_nor_the_wrong_way():
    hessian = np.diag([2.0, -4.0, 1.0])
    z, slopes = np.array([1.0, 1.0, 1.0]), np.array([2.0, 4.0, 1.0])
    model = Quadratic.around(z, slopes, hessian, np.empty(0, dtype=np.intp))
    assert model.minimum(np.arange(3))[0] == pytest.approx([0.0, 0.0, 0.0])
    held = np.array([0.0, 0.0, 3.0])
    model = Quadratic.around(z, slopes, hessian, np.empty(0, dtype=np.intp), held)
    assert model.minimum(np.arange(3))[0] == pytest.approx([0.0, 0.0, 1.0], abs=1e-3)


@most_seeds
def test_correlated_designs_from_values_alone(seed):
    rng = np.random.default_rng(seed)
    n, d, k = 80, 25, 4
    design = np.sqrt(0.2) * rng.standard_normal((n, d)) + np.sqrt(0.8) * rng.standard_normal((n, 1))
    weights = np.zeros(d)
    weights[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    observed = design @ weights + 0.5 * rng.standard_normal(n)

    def loss(x):
        return float(((design @ x - observed) ** 2).mean())

    def least(s):
        return float(np.linalg.lstsq(design[:, s], observed, rcond=None)[1][0]) / n

    best = min(least(list(s)) for s in combinations(range(d), k))
    target = best * (1 + 1e-3)
    result = minimize(loss, np.zeros(d), k=k, target=target, max_queries=3_000, rng=seed)
    assert result.status is Status.TARGET


@pytest.mark.parametrize("with_gradient", [False, True])
@most_seeds
def test_f_is_not_asked_where_no_model_holds(seed, with_gradient):
    """Along most coordinates f is nearly a straight line: a quadratic model sees no end of it."""
    rng = np.random.default_rng(0)
    slopes = rng.uniform(0.5, 1.5, 30) * rng.choice([-1, 1], 30)
    farthest = 0.0

    def fun(x):
        nonlocal farthest
        farthest = max(farthest, float(np.abs(x).max()))
        return float(slopes @ x + 1e-9 * (x**4).sum() + ((x[:3] - 1) ** 2).sum())

    def gradient(x):
        found = slopes + 4e-9 * x**3
        found[:3] += 2 * (x[:3] - 1)
        return found

    given = {"gradient": gradient} if with_gradient else {}
    result = minimize(fun, np.zeros(30), k=4, max_queries=1_500, rng=seed, **given)
    assert farthest < 1e6  # 1e10 otherwise
    assert result.fun < -3_000
