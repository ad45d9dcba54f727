"""At most k groups of coordinates that move together, such as the channels of a pixel."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.validation import check_integer
from szoht.errors import CapabilityError, ParameterError, ParameterTypeError
from szoht.operators.base import largest
from szoht.operators.box import Bound, as_bounds, check_bounds, clip_with_gains
from szoht.types import Indices, Vector

__all__ = ["GroupSparse"]


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSparse:
    """The set of x that are non-zero in at most k groups, with low <= x <= high.

    Groups do not overlap. Keeping group G, clipped to c, instead of zeroing it lowers the squared
    distance to y by the gain ``sum_{i in G} y_i^2 - (y_i - c_i)^2``, its squared norm if there are
    no bounds. The projection keeps the k groups of largest gain and clips; ties go to the group
    of lowest number.

    Parameters
    ----------
    k : int
        How many groups may be non-zero, in [1, number of groups].
    groups : array of shape (d,) of int
        The number of each coordinate's group; numbers 0, 1, ... without a gap.
    size : int
        Instead of ``groups``: groups are runs of this many neighbouring coordinates.
    low, high : float or array of shape (d,)
        Bounds with low <= 0 <= high; by default none.

    Examples
    --------
    >>> import numpy as np
    >>> GroupSparse(k=1, size=2).prox(np.array([3.0, 0.0, 2.0, 2.5]), 1.0)
    array([0. , 0. , 2. , 2.5])
    >>> GroupSparse(k=1, groups=[0, 1, 0, 1], high=2.0).prox(np.array([2.0, 9.0, 1.0, 0.0]), 1.0)
    array([0., 2., 0., 0.])

    Notes
    -----
    O(d) time and memory. A group may hold zeros: k bounds the groups that are touched.
    """

    k: int
    groups: Indices | None = None
    size: int | None = None
    low: Bound = -np.inf
    high: Bound = np.inf

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="number of groups")
        if (self.groups is None) == (self.size is None):
            raise ParameterError(
                "exactly one of `groups` and `size` must be given; got "
                f"groups={self.groups!r}, size={self.size!r}."
            )
        if self.size is not None:
            check_integer("size", self.size, low=1)
        else:
            object.__setattr__(self, "groups", _as_groups(self.groups))
        as_bounds(self, around_zero=True)

    def check(self, d: int) -> None:
        """Raise unless the groups fit dimension d, there are at least k, and bounds fit."""
        if self.groups is not None and self.groups.shape != (d,):
            raise ParameterError(
                f"`groups` must have shape (d,); got {self.groups.shape} with d={d}."
            )
        if self.size is not None and d % self.size:
            raise ParameterError(f"`size` must divide d; got size={self.size} with d={d}.")
        check_integer("k", self.k, low=1, high=self.n_groups(d), high_name="number of groups")
        check_bounds(self.low, self.high, d)

    def n_groups(self, d: int) -> int:
        """Return how many groups there are in dimension ``d``."""
        return self._count if self.size is None else d // self.size

    def members(self, d: int) -> Indices:
        """Return the number of each coordinate's group."""
        if self.groups is not None:
            return self.groups
        assert self.size is not None, "groups are given in one of two ways"  # noqa: S101
        return np.arange(d) // self.size

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter."""
        return self.weighted_prox(y, step, np.ones_like(y))

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return the nearest point in the weighted norm: weights multiply the gains."""
        del step
        clipped, gains = clip_with_gains(y, weights, self.low, self.high)
        members = self.members(y.size)
        totals = np.bincount(members, weights=gains, minlength=self.n_groups(y.size)).astype(
            np.float64
        )
        kept = np.zeros(totals.size, dtype=bool)
        kept[largest(totals, self.k)] = True
        return np.where(kept[members], clipped, 0.0)

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` touches at most k groups and is within the bounds."""
        inside = bool(np.all((x >= self.low) & (x <= self.high)))
        return inside and self.touched(x) <= self.k

    def touched(self, x: Vector) -> int:
        """Return how many groups have a non-zero entry."""
        return int(np.unique(self.members(x.size)[np.flatnonzero(x)]).size)

    @cached_property
    def _count(self) -> int:
        assert self.groups is not None, "groups by size have no list"  # noqa: S101
        return int(self.groups.max()) + 1


def _as_groups(value: object) -> Indices:
    """Return group numbers as a read-only integer array, or raise."""
    if isinstance(value, list | tuple) and any(np.ndim(entry) > 0 for entry in value):
        listed, counts = np.unique(np.concatenate([np.ravel(e) for e in value]), return_counts=True)
        if (counts > 1).any():
            raise CapabilityError(
                "`groups` must not overlap; got lists of coordinates, with coordinate "
                f"{listed[counts > 1][0]} in several. Repeat such a coordinate in x, once per "
                "group, and let the function add the copies up; then number the groups."
            )
        raise ParameterTypeError(
            "`groups` must be 1-d and hold the number of each coordinate's group, as [0, 0, 1]; "
            "got lists of the coordinates of each group."
        )
    groups = np.array(value)
    if groups.dtype.kind not in "iu":
        raise ParameterTypeError(f"`groups` must hold integers; got an array of {groups.dtype}.")
    groups = groups.astype(np.intp)
    if groups.ndim != 1 or groups.size == 0:
        raise ParameterError(
            f"`groups` must be 1-d with at least one entry; got shape {groups.shape}."
        )
    if groups.min() < 0 or np.unique(groups).size != groups.max() + 1:
        raise ParameterError(
            "`groups` must hold the numbers 0, 1, ... without a gap; got numbers from "
            f"{groups.min()} to {groups.max()}, {np.unique(groups).size} of them different."
        )
    groups.flags.writeable = False
    return groups
