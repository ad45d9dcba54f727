"""At most k non-zeros, each within bounds: the true projection, not threshold-then-clip."""

from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_integer
from szoht.operators.always import (
    as_always,
    check_always,
    count_others,
    describe_always,
    with_always,
)
from szoht.operators.box import Bound, as_bounds, check_bounds, clip_with_gains
from szoht.types import Vector

__all__ = ["SparseBox"]


@dataclass(frozen=True, eq=False)
class SparseBox:
    """The set {x : ||x||_0 <= k, low <= x <= high} with low <= 0 <= high.

    Coordinates in ``always`` are free and not counted: at most k of the others are not zero.

    Keeping coordinate i, clipped to c_i, instead of zeroing it lowers the squared distance to y
    by the gain ``y_i^2 - (y_i - c_i)^2``. The projection keeps the k largest gains and clips.
    Thresholding first and clipping afterwards is not the projection: a large entry that the box
    cuts to almost nothing would displace a smaller one that fits.

    Parameters
    ----------
    k : int
        How many entries may be non-zero, in [1, d].
    low, high : float or array of shape (d,)
        Bounds with low <= 0 <= high; infinite bounds are allowed.
    always : sequence of int
        Coordinates that may be non-zero besides, such as an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> SparseBox(1, low=0.0, high=1.0).prox(np.array([-5.0, 0.7]), 1.0)
    array([0. , 0.7])
    """

    k: int
    low: Bound
    high: Bound
    always: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        object.__setattr__(self, "always", as_always(self.always))
        as_bounds(self, around_zero=True)

    def __repr__(self) -> str:
        bounds = f"low={self.low!r}, high={self.high!r}"
        return f"SparseBox(k={self.k}, {bounds}{describe_always(self.always)})"

    def check(self, d: int) -> None:
        """Raise unless k is in [1, d] and the bounds have d entries."""
        check_integer("k", self.k, low=1, high=d, high_name="d")
        check_bounds(self.low, self.high, d)
        check_always(self.always, d)

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter."""
        return self.weighted_prox(y, step, np.ones_like(y))

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return the nearest point in the weighted norm: weights multiply the gains."""
        del step
        clipped, gains = clip_with_gains(y, weights, self.low, self.high)
        kept = with_always(gains, self.k, self.always)
        x = np.zeros_like(y)
        x[kept] = clipped[kept]
        return x

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` is k-sparse and within the bounds."""
        inside = bool(np.all((x >= self.low) & (x <= self.high)))
        return inside and count_others(x, self.always) <= self.k
