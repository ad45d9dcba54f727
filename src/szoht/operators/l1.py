"""The l1 norm as a penalty and as a ball: the convex stand-ins for sparsity."""

from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_real
from szoht.operators.base import check_finite
from szoht.types import Vector

__all__ = ["L1Ball", "SoftThreshold"]


@dataclass(frozen=True)
class SoftThreshold:
    """The penalty ``penalty * ||x||_1``; its proximal map shrinks every entry.

    ``prox(y, step)_i = sign(y_i) max(|y_i| - step * penalty, 0)``.

    >>> import numpy as np
    >>> SoftThreshold(0.5).prox(np.array([3.0, -1.0, 0.2]), 1.0)
    array([ 2.5, -0.5,  0. ])
    """

    penalty: float

    def __post_init__(self) -> None:
        check_real("penalty", self.penalty, low=0)

    def check(self, d: int) -> None:
        """Fits every dimension."""

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the soft-thresholded point."""
        check_finite(y)
        return shrink(y, step * self.penalty)

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return the point shrunk by ``step * penalty / w_i`` in each coordinate."""
        check_finite(y)
        return shrink(y, step * self.penalty / weights)

    def value(self, x: Vector) -> float:
        """Return ``penalty * ||x||_1``."""
        return self.penalty * float(np.abs(x).sum())


@dataclass(frozen=True)
class L1Ball:
    """The set {x : ||x||_1 <= radius}.

    >>> import numpy as np
    >>> L1Ball(2.0).prox(np.array([3.0, -1.0, 0.2]), 1.0)
    array([2., 0., 0.])
    """

    radius: float

    def __post_init__(self) -> None:
        check_real("radius", self.radius, low=0, open_low=True)

    def check(self, d: int) -> None:
        """Fits every dimension."""

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the ball; ``step`` does not matter. O(d log d)."""
        del step
        check_finite(y)
        magnitudes = np.abs(y)
        if magnitudes.sum() <= self.radius:
            return y.copy()
        # The projection shrinks by the theta for which the result has norm `radius`: with
        # magnitudes sorted downwards, theta_j = (sum of the j largest - radius) / j for the
        # largest j whose j-th magnitude still reaches theta_j.
        descending = np.sort(magnitudes)[::-1]
        theta = (np.cumsum(descending) - self.radius) / np.arange(1, y.size + 1)
        last = np.flatnonzero(descending >= theta)[-1]
        return shrink(y, float(theta[last]))

    def contains(self, x: Vector) -> bool:
        """Tell whether ``||x||_1 <= radius``, up to rounding."""
        return float(np.abs(x).sum()) <= self.radius * (1 + 1e-12)

    def lmo(self, gradient: Vector) -> Vector:
        """Return the vertex ``-radius sign(g_j) e_j`` with j = argmax |g_j|."""
        check_finite(gradient)
        vertex = np.zeros_like(gradient)
        j = int(np.argmax(np.abs(gradient)))
        vertex[j] = -self.radius if gradient[j] > 0 else self.radius
        return vertex


def shrink(y: Vector, threshold: float | Vector) -> Vector:
    """Move every entry towards zero by ``threshold``, stopping at zero."""
    return y - np.clip(y, -threshold, threshold)
