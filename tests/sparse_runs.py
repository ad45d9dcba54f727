"""Runs from sparse starts, on a function of few coordinates."""

import numpy as np


class Quadratic:
    """0.5 sum_j c_j (x_j - v_j)^2 over ten coordinates, whatever the dimension."""

    def __init__(self, d, *, seed=0, k=10, support=None, wanted=None, conditioning=3.0):
        generator = np.random.default_rng(seed)
        self.support = (
            np.sort(generator.choice(d, k, replace=False)) if support is None else support
        )
        self.wanted = generator.standard_normal(k) if wanted is None else wanted
        self.curvature = np.linspace(1, conditioning, self.support.size)

    def value(self, x, sample=None):
        return 0.5 * float((self.curvature * (x[self.support] - self.wanted) ** 2).sum())

    def along(self, x, indices, offsets, sample=None):
        place = np.searchsorted(self.support, indices).clip(max=self.support.size - 1)
        curvature = np.where(self.support[place] == indices, self.curvature[place], 0.0)
        slope = curvature * (x[indices] - self.wanted[place])
        return self.value(x) + (slope * offsets + 0.5 * curvature * offsets**2).sum(axis=1)


def assert_same_run(dense, thin):
    """Check that a run from a sparse start has the bits of the run from a dense one."""
    assert np.array_equal(dense.x, thin.x.toarray())
    assert np.array_equal(dense.support, thin.support)
    assert dense.fun == thin.fun
    for column in ("queries", "value", "best", "support_size"):
        assert np.array_equal(dense.history[column], thin.history[column], equal_nan=True)
    assert dense.history["entered"] == thin.history["entered"]
