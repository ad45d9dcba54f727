"""Small problems with known Jacobians."""

import numpy as np


def sparse_jacobian(*, d=120, m=10, n=5, seed=0):
    """Return a Jacobian with ``n`` columns that are not zero, and which."""
    generator = np.random.default_rng(seed)
    columns = np.sort(generator.choice(d, n, replace=False))
    jacobian = np.zeros((m, d))
    jacobian[:, columns] = generator.standard_normal((m, n))
    return jacobian, columns


def smooth_jacobian(*, d=100, m=10, width=12.0, seed=0):
    """Return a Jacobian whose columns are like those of their neighbors."""
    generator = np.random.default_rng(seed)
    places = np.arange(d)
    kernel = np.exp(-0.5 * ((places[:, np.newaxis] - places) / width) ** 2)
    return generator.standard_normal((m, d)) @ kernel / np.sqrt(width)


def probes(jacobian, *, count, seed=0):
    """Return the design, with its column of ones, and the responses of sign probes."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (count, jacobian.shape[1]))
    return np.column_stack([signs, np.ones(count)]), signs @ jacobian.T


class Simulator:
    """Outputs that depend on few of the variables, not quite linearly; ``calls`` are its points."""

    def __init__(self, *, d=60, m=15, n=10, seed=0, noise=0.0):
        self.jacobian, self.columns = sparse_jacobian(d=d, m=m, n=n, seed=seed)
        self.truth = np.zeros(d)
        generator = np.random.default_rng(seed + 1)
        self.support = np.sort(generator.choice(self.columns, 3, replace=False))
        self.truth[self.support] = generator.choice([-1, 1], 3) * generator.uniform(0.5, 1.0, 3)
        self.noise = noise
        self.generator = np.random.default_rng(seed + 2)
        self.calls = []

    def outputs(self, x):
        linear = self.jacobian @ x
        return linear + 0.1 * linear**2

    def __call__(self, x):
        self.calls.append(np.array(x))
        return self.outputs(x) + self.noise * self.generator.standard_normal(len(self.jacobian))

    @property
    def observed(self):
        return self.outputs(self.truth)
