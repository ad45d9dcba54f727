"""At most k groups of coordinates that move together, such as the channels of a pixel."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.validation import as_integers, check_choice, check_integer, frozen, shown
from szoht.errors import CapabilityError, ParameterError
from szoht.operators.base import largest, ranks_within
from szoht.operators.box import Bound, as_bounds, check_bounds, clip_with_gains
from szoht.operators.group_overlaps import Overlap, Overlaps
from szoht.types import Indices, Vector

__all__ = ["GroupSparse"]


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSparse:
    """The set of x that are non-zero in at most k groups, with low <= x <= high.

    Keeping group G, clipped to c, instead of zeroing it lowers the squared distance to y by the
    gain ``sum_{i in G} y_i^2 - (y_i - c_i)^2``, its squared norm if there are no bounds. The
    projection keeps the k groups of largest gain and clips; ties go to the group of lowest number.
    With ``per_group``, only the largest gains of a group count and are kept.

    Groups that overlap have two meanings. *Latent*: x is a sum of k vectors, each of which is zero
    outside a group, so that a coordinate may be non-zero if one of its groups is among the k.
    *Explicit*: at most k groups have a non-zero, so that all of its groups must be. The projection
    is exact where groups lie within each other or apart, and where each coordinate is in at most
    two groups and overlaps make no circle. Otherwise latent groups are chosen greedily, which
    keeps at least 1 - 1/e of the best gain, and explicit ones are refused: no factor is known.

    Parameters
    ----------
    k : int
        How many groups may be non-zero, in [1, number of groups].
    groups : array of shape (d,) of int, or list of lists of int
        The number of each coordinate's group, numbers 0, 1, ... without a gap; or the coordinates
        of each group, which may overlap.
    size : int
        Instead of ``groups``: groups are runs of this many neighbouring coordinates.
    low, high : float or array of shape (d,)
        Bounds with low <= 0 <= high; by default none.
    per_group : int, optional
        How many coordinates of a group may be non-zero; by default all. For groups that do not
        overlap.
    overlap : {"latent", "explicit"}
        The meaning of groups that overlap.

    Examples
    --------
    >>> import numpy as np
    >>> GroupSparse(k=1, size=2).prox(np.array([3.0, 0.0, 2.0, 2.5]), 1.0)
    array([0. , 0. , 2. , 2.5])
    >>> GroupSparse(k=1, groups=[0, 1, 0, 1], high=2.0).prox(np.array([2.0, 9.0, 1.0, 0.0]), 1.0)
    array([0., 2., 0., 0.])
    >>> GroupSparse(k=1, groups=[[0, 1, 2], [2, 3]]).prox(np.array([1.0, 1.0, 3.0, 2.0]), 1.0)
    array([0., 0., 3., 2.])
    >>> GroupSparse(k=2, size=3, per_group=1).prox(np.array([1.0, 3.0, 2.0, 0.0, 1.0, 2.0]), 1.0)
    array([0., 3., 0., 0., 0., 2.])

    Notes
    -----
    O(d) time and memory where groups do not overlap, O(d log d) with ``per_group``. A group may
    hold zeros: k bounds the groups that are touched. See `Overlaps` for those that overlap.
    """

    k: int
    groups: Indices | tuple[Indices, ...] | None = None
    size: int | None = None
    low: Bound = -np.inf
    high: Bound = np.inf
    per_group: int | None = None
    overlap: Overlap = "latent"

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="number of groups")
        if (self.groups is None) == (self.size is None):
            raise ParameterError(
                "exactly one of `groups` and `size` must be given; got "
                f"groups={shown(self.groups)}, size={shown(self.size)}."
            )
        if self.size is not None:
            check_integer("size", self.size, low=1)
        else:
            object.__setattr__(self, "groups", _as_groups(self.groups))
        as_bounds(self, around_zero=True)
        check_choice("overlap", self.overlap, ("latent", "explicit"))
        self._check_combination()

    def _check_combination(self) -> None:
        """Raise where no projection is known."""
        if self.per_group is not None:
            check_integer("per_group", self.per_group, low=1)
            if self.overlaps is not None:
                raise CapabilityError(
                    "`per_group` needs groups that do not overlap; got lists that do. Give each "
                    "coordinate to one group."
                )
        if self.overlap == "explicit" and self.overlaps and not self.overlaps.is_exact:
            raise CapabilityError(
                '`overlap="explicit"` needs groups within each other, or overlaps of two groups '
                "without a circle; got others, for which no projection is known. Use "
                'overlap="latent", or merge groups.'
            )

    @cached_property
    def overlaps(self) -> Overlaps | None:
        """The groups if some overlap."""
        return Overlaps(self.groups, self.overlap) if isinstance(self.groups, tuple) else None

    @property
    def limited(self) -> bool:
        """Whether there is more than disjoint groups and k."""
        return self.per_group is not None or self.overlaps is not None

    @property
    def is_exact(self) -> bool:
        """Whether `prox` is the projection."""
        return self.overlaps is None or self.overlaps.is_exact

    def check(self, d: int) -> None:
        """Raise unless the groups fit dimension d, there are at least k, and bounds fit."""
        if isinstance(self.groups, np.ndarray) and self.groups.shape != (d,):
            raise ParameterError(
                f"`groups` must have shape (d,); got {self.groups.shape} with d={d}."
            )
        if self.overlaps is not None and len(self.overlaps.groups_of) != d:
            raise ParameterError(
                "`groups` must hold the coordinates 0, ..., d - 1; got some up to "
                f"{len(self.overlaps.groups_of) - 1} with d={d}."
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
        if self.overlaps is not None:
            raise CapabilityError("groups that overlap do not number the coordinates.")
        if isinstance(self.groups, np.ndarray):
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
        if self.overlaps is not None:
            return np.where(self.overlaps.select(gains, self.k), clipped, 0.0)
        members = self.members(y.size)
        if self.per_group is not None:
            order = np.argsort(-gains, kind="stable")
            outside = order[ranks_within(members[order]) >= self.per_group]
            clipped[outside] = gains[outside] = 0.0
        totals = np.bincount(members, weights=gains, minlength=self.n_groups(y.size)).astype(
            np.float64
        )
        kept = np.zeros(totals.size, dtype=bool)
        kept[largest(totals, self.k)] = True
        return np.where(kept[members], clipped, 0.0)

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` touches few enough groups and coordinates, within the bounds."""
        if not np.all((x >= self.low) & (x <= self.high)):
            return False
        support = np.flatnonzero(x)
        if self.overlaps is not None:
            return self.overlaps.covered(support, self.k)
        counts = np.bincount(self.members(x.size)[support])
        fits = self.per_group is None or bool((counts <= self.per_group).all())
        return fits and int(np.count_nonzero(counts)) <= self.k

    def touched(self, x: Vector) -> int:
        """Return how many groups have a non-zero entry."""
        return int(np.unique(self.members(x.size)[np.flatnonzero(x)]).size)

    @cached_property
    def _count(self) -> int:
        if isinstance(self.groups, tuple):
            return len(self.groups)
        assert self.groups is not None, "groups by size have no list"  # noqa: S101
        return int(self.groups.max()) + 1


def _as_groups(value: object) -> Indices | tuple[Indices, ...]:
    """Return the number of each coordinate's group, or lists that overlap; read-only."""
    if isinstance(value, list | tuple) and any(np.ndim(entry) > 0 for entry in value):
        return _from_lists(value)
    groups = as_integers("groups", value)
    if groups.min() < 0 or np.unique(groups).size != groups.max() + 1:
        raise ParameterError(
            "`groups` must hold the numbers 0, 1, ... without a gap; got numbers from "
            f"{groups.min()} to {groups.max()}, {np.unique(groups).size} of them different."
        )
    return groups


def _from_lists(lists: list[object] | tuple[object, ...]) -> Indices | tuple[Indices, ...]:
    """Return lists of coordinates, or the number of each one's group if they do not overlap."""
    groups = tuple(frozen(np.unique(as_integers("groups", entry))) for entry in lists)
    listed = np.concatenate(groups)
    distinct = np.unique(listed)
    if distinct[0] != 0 or distinct[-1] != distinct.size - 1:
        missing = np.setdiff1d(np.arange(max(distinct[-1], 0) + 1), distinct)
        which = f"{missing[0]} is in none" if missing.size else f"got {distinct[0]}"
        raise ParameterError(
            f"`groups` must hold each of the coordinates 0, 1, ... in some group; {which}."
        )
    if distinct.size < listed.size:
        return groups
    members = np.empty(listed.size, dtype=np.intp)
    for number, group in enumerate(groups):
        members[group] = number
    return frozen(members)
