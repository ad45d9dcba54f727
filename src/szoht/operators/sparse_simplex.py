"""At most k non-zeros, none negative, with a given sum: long-only portfolios of few assets."""

from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_integer, check_real
from szoht.operators.base import check_finite
from szoht.types import Indices, Vector

__all__ = ["SparseSimplex"]


@dataclass(frozen=True)
class SparseSimplex:
    """The set {x : ||x||_0 <= k, x >= 0, sum(x) = total}.

    The projection keeps the k largest entries of y, negative ones included if there are not
    enough others, and projects these onto the simplex (Kyrillidis, Becker, Cevher and Koch, 2013,
    Sparse projections onto the simplex, theorem 1).

    Parameters
    ----------
    k : int
        How many entries may be non-zero, in [1, d].
    total : float > 0
        What the entries sum to.

    Examples
    --------
    >>> import numpy as np
    >>> SparseSimplex(2).prox(np.array([0.9, -3.0, 0.5, 0.2]), 1.0)
    array([0.7, 0. , 0.3, 0. ])
    """

    k: int
    total: float = 1.0

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        check_real("total", self.total, low=0.0, open_low=True)

    def check(self, d: int) -> None:
        """Raise unless k is in [1, d]."""
        check_integer("k", self.k, low=1, high=d, high_name="d")

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter. O(d log d)."""
        del step
        check_finite(y)
        kept = self._highest(y)
        x = np.zeros_like(y)
        x[kept] = _onto_simplex(y[kept], self.total)
        return x

    def lmo(self, gradient: Vector) -> Vector:
        """Return the vertex that minimises the inner product with ``gradient``."""
        vertex = np.zeros_like(gradient)
        vertex[np.argmin(gradient)] = self.total
        return vertex

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` is k-sparse, not negative, and sums to the total up to rounding."""
        close = abs(float(x.sum()) - self.total) <= 1e-9 * self.total
        return close and bool((x >= 0).all()) and int(np.count_nonzero(x)) <= self.k

    def _highest(self, y: Vector) -> Indices:
        """Return the k largest entries in descending order; ties go to the lowest index."""
        return np.argsort(-y, kind="stable")[: self.k]


def _onto_simplex(descending: Vector, total: float) -> Vector:
    """Project onto {x >= 0, sum x = total}: subtract one number from all, cut at 0.

    With j entries left positive the number is (sum of the j largest - total) / j; j is the largest
    for which the j-th entry still exceeds it (Held, Wolfe and Crowder, 1974).
    """
    shift = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    last = np.flatnonzero(descending > shift)
    # a total that rounding swallows leaves nothing above its shift: the largest takes all
    theta = shift[last[-1]] if last.size else descending[0]
    x = np.maximum(descending - theta, 0.0)
    mass = float(x.sum())
    if mass == 0:
        x[0] = mass = total
    scaled: Vector = x * (total / mass)
    return scaled
