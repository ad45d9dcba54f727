"""The default solver on stochastic objectives, and without a k."""

from itertools import pairwise

import numpy as np
import pytest

from outcomes import always, most_seeds
from szoht import Status, minimize
from szoht.algorithms.auto import AutoPath
from szoht.algorithms.auto.path import find_knee
from szoht.core.algorithm import PathPoint


def truth(rng, d, k):
    w = np.zeros(d)
    w[rng.choice(d, k, replace=False)] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    return w


def regression(n, d, k, spread, seed=0):
    rng = np.random.default_rng(seed)
    a, w = rng.standard_normal((n, d)), truth(rng, d, k)
    return a, w, a @ w + spread * rng.standard_normal(n)


@most_seeds
def test_a_seed_never_comes_back(seed):
    y = np.zeros(200)
    y[[4, 100]] = [1.0, -1.0]
    seeds = []

    def fun(x, sample):
        seeds.append(int(sample[0]))
        noise = np.random.default_rng(sample[0]).standard_normal()
        return float(((x - y) ** 2).sum()) + 0.1 * noise

    result = minimize(
        fun, np.zeros(200), k=2, method="auto", stochastic=True, max_queries=1_500, rng=seed
    )
    runs = 1 + np.count_nonzero(np.diff(seeds))
    always(len(set(seeds)) == runs > 10)  # a seed never comes back
    assert np.array_equal(result.support, [4, 100])
    assert ((result.x - y) ** 2).sum() < 0.01


@most_seeds
def test_without_k_the_knee_is_found(seed):
    a, w, b = regression(120, 80, 5, 0.3, seed)
    result = minimize(
        lambda x: 0.5 * float(((a @ x - b) ** 2).mean()),
        np.zeros(80),
        method="auto",
        max_queries=20_000,
        rng=seed,
    )
    assert result.status is Status.CONVERGED
    assert np.array_equal(result.support, np.flatnonzero(w))
    assert result.knee == 5
    ks = [point.k for point in result.path]
    assert ks[: ks.index(5) + 2] == list(range(7))
    values = [point.fun for point in result.path]
    assert all(after <= 1.02 * before for before, after in pairwise(values))
    always(all(np.count_nonzero(point.x) <= point.k for point in result.path))
    assert "knee at 5" in str(result)
    assert any(line.startswith("k = 5") for line in result.explain)


@most_seeds
def test_the_way_up_goes_on_while_it_gains(seed):
    y = np.zeros(80)
    y[::7] = 1.0  # 12 of them, all alike
    result = minimize(lambda x: float(((x - y) ** 2).sum()), np.zeros(80), method="auto", rng=seed)
    assert result.knee == 12
    assert result.path[-1].k > 12


def test_a_path_cut_short_is_still_a_path():
    """Whatever the budget, the result is a measured point of the path so far."""
    _, y = None, np.arange(40.0) % 7 - 3

    def fun(x):
        return float(((x - y) ** 2).sum())

    for budget in (1, 5, 60, 200, 800):
        result = minimize(fun, np.zeros(40), method="auto", max_queries=budget, rng=0)
        assert result.fun == pytest.approx(fun(result.x), rel=1e-12)
        assert result.nfev <= budget


@most_seeds
def test_a_path_from_a_start_that_is_not_zero(seed):
    y = np.zeros(60)
    y[[4, 7, 20]] = [1.0, -1.0, 2.0]
    start = np.zeros(60)
    start[:12] = 0.5
    result = minimize(
        lambda x: float(((x - y) ** 2).sum()), start, method="auto", max_queries=5_000, rng=seed
    )
    assert np.array_equal(result.support, [4, 7, 20])
    assert result.path[0].k == 1


def test_no_knee_in_too_short_a_path():
    path = [PathPoint(k, np.zeros(3), 1.0 - k) for k in range(2)]
    assert find_knee(path) == (1, 1.0)
    assert find_knee(path[:1]) == (0, 1.0)


def test_the_knee_is_where_gains_per_nonzero_drop_most():
    curve = {0: 10.0, 1: 7.0, 2: 4.0, 3: 1.0, 6: 0.9, 12: 0.8}
    path = [PathPoint(k, np.zeros(20), value) for k, value in curve.items()]
    assert find_knee(path)[0] == 3
    # a value above that of a smaller k counts as equal to it
    path[4] = PathPoint(6, np.zeros(20), 1.5)
    assert find_knee(path)[0] == 3


def test_without_k_only_the_default_method_knows_what_to_do():
    with pytest.raises(ValueError, match="exactly one of `k` and `constraint`"):
        minimize(lambda x: 0.0, np.zeros(5), method="szoht")
    assert isinstance(AutoPath(), AutoPath)
