"""Functions that change in steps, and plateaus."""

import math

import numpy as np
import pytest

from szoht import minimize


def one_minus_auc(features, labels):
    def fun(weights):
        score = features @ weights
        right, wrong = score[labels][:, np.newaxis], score[~labels]
        return float((right < wrong).mean() + 0.5 * (right == wrong).mean())

    return fun


def metric_is_solved(seed):
    """Features are correlated, so that one wrong coordinate is a trap for solves on the support."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(30) + 0.4 * rng.standard_normal((30, 30))
    features = 0.5 * rng.standard_normal((120, 30)) @ mixing
    weights = np.zeros(30)
    weights[[3, 9, 17, 25]] = [1.0, -1.0, 0.8, -0.7]
    labels = features @ weights + 0.5 * rng.standard_normal(120) > 0
    fun = one_minus_auc(features, labels)
    result = minimize(fun, np.zeros(30), k=4, max_queries=1_500, rng=seed)
    return result.fun <= fun(weights)


def wedge_is_found(seed):
    """f is one but for a narrow sector in two of 60 variables, in which it falls to zero."""
    center = np.random.default_rng(seed).standard_normal(2)

    def fun(x):
        a, b = x[[7, 33]] - center
        return math.hypot(a, b) if abs(math.atan2(a, b) - 1) < 0.15 else 1.0

    result = minimize(fun, np.zeros(60), k=3, max_queries=3_000, rng=seed)
    return result.fun < 1e-3 and {7, 33} <= set(result.support)


# of other seeds, 26 of 30 metrics are solved
@pytest.mark.parametrize(("solved", "least"), [(metric_is_solved, 6), (wedge_is_found, 5)])
def test_most_runs_find_what_slopes_do_not_show(solved, least):
    assert sum(solved(seed) for seed in range(8)) >= least
