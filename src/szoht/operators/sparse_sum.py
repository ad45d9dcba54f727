"""At most k non-zeros with a given sum, of either sign: portfolios with short positions."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_integer, check_real, shown
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators.base import check_finite
from szoht.types import Indices, Vector

__all__ = ["SparseSum", "onto_sum"]


@dataclass(frozen=True)
class SparseSum:
    """The set {x : ||x||_0 <= k, sum(x) = total, low <= x <= high}, low <= 0 <= high.

    Positive entries of the nearest point belong to the largest of y, negative ones to the smallest:
    giving the value of x_i > 0 to a larger y_j instead changes the squared distance by
    ``-2 x_i (y_j - y_i)``. So the support is the p largest and the k - p smallest entries for some
    p, and the best of k + 1 projections is exact.

    Parameters
    ----------
    k : int
        How many entries may be non-zero, in [1, d].
    total : float
        What the entries sum to.
    low, high : float
        Bounds on every entry, low <= 0 <= high, infinite by default; k entries must be able to
        sum to the total.

    Examples
    --------
    >>> import numpy as np
    >>> SparseSum(2).prox(np.array([0.9, -3.0, 0.5, 0.2]), 1.0)
    array([ 2.45, -1.45,  0.  ,  0.  ])
    """

    k: int
    total: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        check_real("total", self.total)
        for name, bound in (("low", self.low), ("high", self.high)):
            if not _is_number(bound):
                raise ParameterTypeError(
                    f"`{name}` must be one number for all entries; got {shown(bound)}."
                )
        if not self.low <= 0 <= self.high:
            raise ParameterError(
                f"`low` and `high` must include 0; got low={self.low}, high={self.high}."
            )
        if not self.k * self.low <= self.total <= self.k * self.high:
            raise ParameterError(
                f"`total` must be in [k low, k high], what k entries can sum to; got "
                f"total={self.total}, k={self.k}, low={self.low}, high={self.high}. Raise `k`, or "
                "widen the bounds."
            )

    def check(self, d: int) -> None:
        """Raise unless k is in [1, d]."""
        check_integer("k", self.k, low=1, high=d, high_name="d")

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter. O(d log d + k^2 log k)."""
        del step
        check_finite(y)
        order, best, least = np.argsort(-y, kind="stable"), None, math.inf
        for support in self._supports(order):
            values = onto_sum(y[support], self.total, self.low, self.high)
            # what the other entries add to the distance is the sum of squares less these
            distance = float(values @ (values - 2 * y[support]))
            if distance < least:
                best, least = (support, values), distance
        assert best is not None, "there is a support"  # noqa: S101
        x = np.zeros_like(y)
        x[best[0]] = best[1]
        return x

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` is k-sparse, within bounds, and sums to the total up to rounding."""
        size = max(abs(self.total), float(np.abs(x).sum()), 1e-300)
        close = abs(float(x.sum()) - self.total) <= 1e-9 * size
        inside = bool(((x >= self.low) & (x <= self.high)).all())
        return close and inside and int(np.count_nonzero(x)) <= self.k

    def _supports(self, order: Indices) -> list[Indices]:
        """Return the p largest and k - p smallest entries, for all p."""
        if self.k >= order.size:
            return [order]
        end = order.size - self.k
        return [np.append(order[:p], order[end + p :]) for p in range(self.k, -1, -1)]


def _is_number(bound: object) -> bool:
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.integer | np.floating):
        return False
    try:
        return not math.isnan(bound)
    except OverflowError:  # an integer of 400 digits
        return False


def onto_sum(y: Vector, total: float, low: float, high: float) -> Vector:
    """Project onto {x : sum(x) = total, low <= x <= high}: subtract one number from all, and clip.

    The sum falls with that number, linearly between the places where an entry meets a bound.

    >>> onto_sum(np.array([2.0, 0.5, 0.0]), 1.0, -0.25, 1.0)
    array([ 1.  ,  0.25, -0.25])
    """
    if math.isinf(low) and math.isinf(high):
        return _shifted(y, total)
    bends = np.sort(np.concatenate([y - bound for bound in (low, high) if math.isfinite(bound)]))
    first, last = 0, bends.size
    while first < last:  # the first bend at which the sum is no more than the total
        middle = (first + last) // 2
        if np.clip(y - bends[middle], low, high).sum() > total:
            first = middle + 1
        else:
            last = middle
    left = bends[first - 1] if first > 0 else bends[0] - 1.0
    right = bends[first] if first < bends.size else bends[-1] + 1.0
    between = y - 0.5 * (left + right)
    inner = (between > low) & (between < high)
    if not inner.any():
        return np.asarray(np.clip(y - right, low, high))
    x = np.where(between <= low, low, high)
    x[inner] = np.clip(_shifted(y[inner], total - x[~inner].sum()), low, high)
    return np.asarray(x)


def _shifted(y: Vector, total: float) -> Vector:
    """Subtract one number from all, so that the sum is right up to rounding of what is returned.

    Once is not enough: with a total of 0, three times 0.1 becomes three times -1e-17.
    """
    for _ in range(2):
        y = y - (y.sum() - total) / y.size
    return y
