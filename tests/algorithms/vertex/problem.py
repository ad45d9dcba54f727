"""A function on a box with unequal bounds."""

import numpy as np

LOW = -np.linspace(0.2, 1.0, 12)
HIGH = np.linspace(1.0, 0.1, 12)
SLOPES = np.random.default_rng(0).standard_normal(12)


def bent(x):
    """Return the value of a function that is linear up to small waves and a little curvature."""
    return float(SLOPES @ x + 0.3 * np.sin(3 * x).sum() + (x**2).sum() * 0.1)
