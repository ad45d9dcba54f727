"""At most k non-zeros: hard thresholding."""

from dataclasses import dataclass

import numpy as np

from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import check_integer
from szoht.operators.always import (
    as_always,
    check_always,
    count_others,
    describe_always,
    with_always,
)
from szoht.operators.base import check_finite
from szoht.types import Vector

__all__ = ["Sparse"]


@dataclass(frozen=True)
class Sparse:
    """The set {x : ||x||_0 <= k}, projected onto by keeping the k largest magnitudes.

    Coordinates in ``always`` are free and not counted: at most k of the others are not zero.

    ``H_k(y)`` keeps the k entries of largest ``|y_i|`` and zeroes the rest. Ties go to the lowest
    index, so that runs can be repeated. The set is not convex and the projection not
    non-expansive: ``||H_k(y) - x|| <= gamma ||y - x||`` for k_star-sparse x with gamma > 1.

    Parameters
    ----------
    k : int
        How many entries may be non-zero, in [1, d].
    always : sequence of int
        Coordinates that may be non-zero besides, such as an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> Sparse(2).prox(np.array([3.0, -1.0, 2.0, -2.0]), 1.0)
    array([3., 0., 2., 0.])
    >>> Sparse(1, always=[1]).prox(np.array([3.0, -1.0, 2.0, -2.0]), 1.0)
    array([ 3., -1.,  0.,  0.])

    Notes
    -----
    O(d) time and memory, or O(non-zeros) for a `SparseVector`. Reference: SZOHT, section 3.2.
    """

    k: int
    always: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        object.__setattr__(self, "always", as_always(self.always))

    def __repr__(self) -> str:
        return f"Sparse(k={self.k}{describe_always(self.always)})"

    def check(self, d: int) -> None:
        """Raise unless k is in [1, d], and so are the coordinates that are not counted."""
        check_integer("k", self.k, low=1, high=d, high_name="d")
        check_always(self.always, d)

    def prox(self, y: Vector, step: float) -> Vector:
        """Return H_k(y); a projection does not depend on ``step``."""
        if isinstance(y, SparseVector):  # zeros never win, and the rest keeps its order
            stored = np.flatnonzero(np.isin(y.indices, self.always))
            return y.with_values(Sparse(self.k, tuple(stored.tolist())).prox(y.values, step))
        del step
        check_finite(y)
        return self._kept(y, np.abs(y))

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return the nearest point in the weighted norm: keep the k largest ``w_i y_i^2``."""
        del step
        check_finite(y)
        # sqrt(w_i) |y_i| ranks alike and does not overflow
        return self._kept(y, np.sqrt(weights) * np.abs(y))

    def stays_sparse(self, d: int) -> bool:
        """Nothing but the non-zeros is looked at."""
        del d
        return True

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` has at most k non-zeros that count."""
        return count_others(x, self.always) <= self.k

    def _kept(self, y: Vector, scores: Vector) -> Vector:
        kept = with_always(scores, self.k, self.always)
        x = np.zeros_like(y)
        x[kept] = y[kept]
        return x
