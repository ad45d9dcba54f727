"""At most k non-zeros, none of which is small: semicontinuous variables."""

from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_integer
from szoht.errors import ParameterError
from szoht.operators.base import check_finite, largest
from szoht.operators.box import Bound, as_bound, as_bounds, check_bounds
from szoht.types import Vector

__all__ = ["Semicontinuous"]


@dataclass(frozen=True, eq=False)
class Semicontinuous:
    """The set {x : ||x||_0 <= k, x_i = 0 or |x_i| >= at_least, low <= x <= high}.

    With ``low=0``, each entry is 0, or at least ``at_least`` and at most ``high``: what is changed
    at all is changed by that much. Entries do not depend on each other except through k,
    so the projection is exact: each moves to its nearest non-zero value c, and the k are kept that
    lower the squared distance to y most, by ``y_i^2 - (y_i - c_i)^2``, if this is positive.

    Parameters
    ----------
    k : int
        How many entries may be non-zero, in [1, d].
    at_least : float >= 0 or array of shape (d,)
        The smallest magnitude of a non-zero entry.
    low, high : float or array of shape (d,)
        Bounds with low <= 0 <= high; by default none.

    Examples
    --------
    >>> import numpy as np
    >>> Semicontinuous(2, at_least=1.0).prox(np.array([0.4, -0.6, 3.0, 0.0]), 1.0)
    array([ 0., -1.,  3.,  0.])

    Notes
    -----
    O(d) time and memory. For weights with a given sum see `SparseSimplex`.
    """

    k: int
    at_least: Bound
    low: Bound = -np.inf
    high: Bound = np.inf

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        object.__setattr__(self, "at_least", as_bound("at_least", self.at_least))
        if np.any(self.at_least < 0) or not np.all(np.isfinite(self.at_least)):
            raise ParameterError(
                f"`at_least` must be finite and not negative; got at_least={self.at_least}."
            )
        as_bounds(self, around_zero=True)

    def check(self, d: int) -> None:
        """Raise unless k is in [1, d] and arrays have d entries."""
        check_integer("k", self.k, low=1, high=d, high_name="d")
        check_bounds(self.low, self.high, d)
        if np.ndim(self.at_least) and np.shape(self.at_least) != (d,):
            raise ParameterError(
                f"`at_least` must be a number or have shape (d,); got {np.shape(self.at_least)} "
                f"with d={d}."
            )

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter."""
        return self.weighted_prox(y, step, np.ones_like(y))

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return the nearest point in the weighted norm: weights multiply the gains."""
        del step
        check_finite(y)
        upper, lower = np.maximum(y, self.at_least), np.minimum(y, -self.at_least)
        sides = [
            np.where(self.high >= self.at_least, np.minimum(upper, self.high), 0.0),
            np.where(self.low <= -self.at_least, np.maximum(lower, self.low), 0.0),
        ]
        unit = max(float(np.abs(entries).max()) for entries in (y, *sides)) or 1.0
        gains = [(side / unit) * ((2 * y - side) / unit) for side in sides]
        moved = np.where(gains[0] >= gains[1], *sides)
        kept = largest(weights * np.maximum(np.maximum(*gains), 0.0), self.k)
        x = np.zeros_like(y)
        x[kept] = moved[kept]
        return x

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` is k-sparse, without small entries, and within the bounds."""
        inside = (x >= self.low) & (x <= self.high) & ((x == 0) | (np.abs(x) >= self.at_least))
        return bool(inside.all()) and int(np.count_nonzero(x)) <= self.k
