"""Second moments of estimates, compared with their exact values."""

import numpy as np

from szoht.core.random import Key
from szoht.testing.estimators import linear_answers

D, S, N = 20, 5, 3_000
"""The dimension, the size of a set F of coordinates, and the number of estimates."""

SLOPE = np.random.default_rng(3).standard_normal(D)
IN_F = np.arange(D) < S


def squared_norms(estimator):
    """Return N independent values of ||ghat_F||^2 on a linear function."""
    x = np.zeros(D)
    norms = np.empty(N)
    for t in range(N):
        plan = estimator.plan(x, None, None, Key(seed=17, iteration=t))
        estimate, _ = estimator.combine(plan, linear_answers(plan, SLOPE), None)
        norms[t] = (estimate.gradient[IN_F] ** 2).sum()
    return norms


def assert_mean(values, expected):
    """Check a mean within three standard errors."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - expected) <= 3 * error, (values.mean(), expected, error)
    # and the test has power: a value that is wrong by a quarter would be found
    assert abs(values.mean() - 1.25 * expected) > 3 * error
