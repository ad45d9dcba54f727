"""At most k non-zeros, none negative, with a given sum: long-only portfolios of few assets."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.validation import as_array, check_integer, check_real, shown
from szoht.errors import ParameterError
from szoht.operators.base import SET_TOLERANCE, check_finite, ranks_within
from szoht.types import Indices, Vector

__all__ = ["SparseSimplex"]


@dataclass(frozen=True)
class SparseSimplex:
    """The set {x : ||x||_0 <= k, sum(x) = total, x_i = 0 or at_least <= x_i <= at_most}.

    By default {x : ||x||_0 <= k, x >= 0, sum(x) = total}. The projection then keeps the k largest
    entries of y, negative ones included if there are not enough others, and projects these onto
    the simplex (Kyrillidis, Becker, Cevher and Koch, 2013, Sparse projections onto the simplex,
    theorem 1). With limits it is exact, too: see the notes.

    Parameters
    ----------
    k : int
        How many entries may be non-zero, in [1, d].
    total : float > 0
        What the entries sum to.
    at_least : float >= 0
        The smallest non-zero entry (semicontinuous weights), at most ``total``.
    at_most : float > 0
        The largest entry; ``k at_most`` must reach the total.
    groups : sequence of d int, optional
        The number of each coordinate's group, with ``per_group``.
    per_group : int, optional
        How many entries of a group may be non-zero.

    Examples
    --------
    >>> import numpy as np
    >>> SparseSimplex(2).prox(np.array([0.9, -3.0, 0.5, 0.2]), 1.0)
    array([0.7, 0. , 0.3, 0. ])
    >>> SparseSimplex(3, at_least=0.2, at_most=0.5).prox(np.array([0.9, -3.0, 0.5, 0.1]), 1.0)
    array([0.5, 0. , 0.5, 0. ])

    Notes
    -----
    Two exchanges prove the projection. For a support S, the squared distance to y is, up to a
    constant, ``sum_{i in S} x_i^2 - 2 x_i y_i``, which falls with each y_i as x_i >= 0. So of two
    supports of m entries, one whose i-th largest y is at least that of the other for all i, is not
    worse: give each entry the other's weight. The m largest entries are such a support, and with
    ``per_group`` those that are left when one goes down and skips full groups (a partition matroid,
    where greedy sets dominate entry by entry). Second, on a support the nearest point is
    ``clip(y - theta, at_least, at_most)`` with the sum ``total``. All m are tried if ``at_least``
    is positive, else the largest. O(d log d + k^2 log k); O(d log d) without limits.
    """

    k: int
    total: float = 1.0
    at_least: float = 0.0
    at_most: float = math.inf
    groups: tuple[int, ...] | None = None
    per_group: int | None = None

    def __post_init__(self) -> None:
        check_integer("k", self.k, low=1, high_name="d")
        check_real("total", self.total, low=0.0, open_low=True)
        check_real("at_least", self.at_least, low=0.0)
        is_open = self.at_least == 0
        check_real("at_most", self.at_most, low=self.at_least, open_low=is_open, infinite=True)
        if self.fewest > self.most:
            raise ParameterError(
                f"`k`, `at_least` and `at_most` must allow the sum {self.total:g}; got k={self.k}, "
                f"at_least={self.at_least:g}, at_most={self.at_most:g}: at least {self.fewest} "
                f"entries are needed, and at most {self.most} fit."
            )
        if (self.groups is None) != (self.per_group is None):
            raise ParameterError(
                "`groups` and `per_group` must be given together; got "
                f"groups={shown(self.groups)}, per_group={shown(self.per_group)}."
            )
        if self.groups is not None:
            check_integer("per_group", self.per_group, low=1)
            groups = as_array("groups", self.groups).ravel().tolist()
            numbers = tuple(check_integer("groups", number, low=0) for number in groups)
            object.__setattr__(self, "groups", numbers)

    @property
    def limited(self) -> bool:
        """Whether there is more than the simplex and k."""
        return self.at_least > 0 or self.at_most < self.total or self.groups is not None

    @property
    def fewest(self) -> int:
        """The fewest entries that reach the total."""
        return max(1, math.ceil(self.total / self.at_most * (1 - SET_TOLERANCE)))

    @property
    def most(self) -> int:
        """The most entries that do not exceed the total, k at most."""
        if self.at_least * self.k <= self.total:
            return self.k
        return math.floor(self.total / self.at_least * (1 + SET_TOLERANCE))

    def check(self, d: int) -> None:
        """Raise unless k is in [1, d] and the groups have d coordinates and allow the total."""
        check_integer("k", self.k, low=1, high=d, high_name="d")
        if self.groups is None:
            return
        if len(self.groups) != d:
            raise ParameterError(
                f"`groups` must have d entries; got {len(self.groups)} with d={d}."
            )
        room = int(np.minimum(np.bincount(self._members), self.per_group or 0).sum())
        if room < self.fewest:
            raise ParameterError(
                f"`per_group` must allow the {self.fewest} entries that the sum needs; got "
                f"per_group={self.per_group}, which allows {room}."
            )

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point of the set; ``step`` does not matter."""
        del step
        check_finite(y)
        kept = self._highest(y)
        x = np.zeros_like(y)
        if self.at_least == 0 and self.at_most >= self.total:
            x[kept] = _onto_simplex(y[kept], self.total)
            return x
        weights = self._within_limits(y[kept] - y[kept[0]])
        x[kept[: weights.size]] = weights
        return x

    def lmo(self, gradient: Vector) -> Vector:
        """Return the vertex that minimises the inner product with ``gradient``."""
        best = self._highest(-gradient)[: self.fewest]
        rest = self.total - self.at_least * best.size
        room = min(self.at_most, self.total) - self.at_least
        extra = np.clip(rest - room * np.arange(best.size), 0.0, room)
        vertex = np.zeros_like(gradient)
        vertex[best] = self.at_least + extra
        return vertex

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` is k-sparse, within its limits, and sums to the total, rounding aside.

        Entries are never negative, not even by rounding.
        """
        slack = SET_TOLERANCE * self.total
        support = np.flatnonzero(x)
        values = x[support]
        close = abs(float(x.sum()) - self.total) <= slack
        inside = (values >= self.at_least - slack) & (values <= self.at_most + slack)
        if not (close and (x >= 0).all() and inside.all() and support.size <= self.k):
            return False
        if self.groups is None:
            return True
        return not np.any(ranks_within(self._members[support]) >= (self.per_group or 0))

    @cached_property
    def _members(self) -> Indices:
        return np.array(self.groups, dtype=np.intp)

    def _highest(self, y: Vector) -> Indices:
        """Return the k largest entries in descending order; ties go to the lowest index."""
        order = np.argsort(-y, kind="stable")
        if self.groups is not None:
            order = order[ranks_within(self._members[order]) < (self.per_group or 0)]
        return order[: self.k]

    def _within_limits(self, y: Vector) -> Vector:
        """Return the best weights of the first m entries, in descending order, over all m.

        The first entry is 0: what all entries have in common does not matter.
        """
        most = min(self.most, y.size)
        sizes = range(self.fewest if self.at_least > 0 else most, most + 1)
        found = [_onto_limits(y[:m], self.total, self.at_least, self.at_most) for m in sizes]
        costs = [float(w @ w - 2 * (w @ y[: w.size])) for w in found]
        return found[int(np.argmin(costs))]


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


def _onto_limits(descending: Vector, total: float, low: float, high: float) -> Vector:
    """Project onto {low <= x <= high, sum x = total}: clip(y - theta, low, high) for one theta.

    The sum falls with theta, and is linear between the corners where an entry leaves a limit.
    """
    high = min(high, total)
    lower, upper = descending - low, descending - high
    corners = np.sort(np.concatenate([lower, upper]))
    sums = low * descending.size + _parts_above(lower, corners) - _parts_above(upper, corners)
    last = int(np.searchsorted(-sums, -total))  # the first corner with too small a sum
    first, last = max(last - 1, 0), min(last, corners.size - 1)
    drop = sums[first] - sums[last]
    share = min(max((sums[first] - total) / drop, 0.0), 1.0) if drop > 0 else 0.0
    theta = corners[first] + share * (corners[last] - corners[first])
    x: Vector = np.clip(descending - theta, low, high)
    # what rounding left over goes to the first, or comes from the last, within limits
    rest = total - float(x.sum())
    room = high - x if rest > 0 else (x - low)[::-1]
    moved = np.clip(abs(rest) - np.cumsum(room) + room, 0.0, room)
    return x + moved if rest > 0 else x - moved[::-1]


def _parts_above(descending: Vector, thresholds: Vector) -> Vector:
    """Return the sum of what exceeds each threshold."""
    counts = np.searchsorted(-descending, -thresholds)
    sums = np.concatenate([[0.0], np.cumsum(descending)])
    above: Vector = sums[counts] - counts * thresholds
    return above
