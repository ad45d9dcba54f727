"""Groups with more rules than their number: few coordinates in each, or shared ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from szoht.algorithms.auto.structures.bounds import bounds_and_units
from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.algorithms.auto.structures.groups import rows_for_groups
from szoht.algorithms.auto.structures.importance import MOST_WORTH
from szoht.core.random import Key
from szoht.estimators.sensing import Measurements, PermutedRows, Recovery, Rows, group_pursuit
from szoht.operators import GroupSparse
from szoht.types import Indices, Vector

__all__ = ["Limited", "limited_groups"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Limited(Coordinates):
    """The points whose non-zeros a rule allows, at most ``size`` of them; atoms are coordinates.

    The rule allows every part of what it allows. It decides what stays; what may matter is found
    as for `Coordinates`, and all methods that are not here are theirs.
    """

    operator: GroupSparse

    independent = False

    @cached_property
    def _rule(self) -> GroupSparse:
        return replace(self.operator, low=-np.inf, high=np.inf)

    def fits(self, coordinates: Indices) -> bool:
        """Tell whether the rule allows these."""
        chosen = np.zeros(self.d)
        chosen[coordinates] = 1.0
        return coordinates.size <= self.size and self._rule.contains(chosen)

    def kept(self, atoms: list[Indices], worth: Vector, size: int) -> Indices:
        """Return coordinates that are allowed and worth most together; the best ``size`` of them.

        Of fewer than the rule allows, others might be worth more.
        """
        everything = np.zeros(self.d)
        everything[np.concatenate(atoms)] = np.clip(worth, 0.0, MOST_WORTH)
        allowed = np.flatnonzero(self._rule.prox(np.sqrt(everything), 1.0))
        return np.sort(allowed[np.argsort(-everything[allowed], kind="stable")[:size]])


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlapping(Limited):
    """The points whose non-zeros few groups hold, some of which share coordinates."""

    groups: Sequence[Indices]

    waves = False

    @property
    def look(self) -> float:
        """As for groups that do not overlap."""
        return rows_for_groups(self.size, self.operator.k, len(self.groups))

    def rows(self, key: Key, free: Indices) -> Rows:
        """Return rows of signs over some of the coordinates, whatever their order."""
        return PermutedRows(key=key, d=self.d, free=free)

    def recover(
        self, measured: Measurements, start: Indices, *, held_out: int, noise: float
    ) -> Recovery:
        """Find few groups that explain slopes along rows."""
        del start
        most = 2 * self.operator.k
        return group_pursuit(measured, self.groups, most, held_out=held_out, noise=noise)


def limited_groups(operator: GroupSparse, d: int) -> Limited:
    """Return the structure of groups that overlap, or of which few coordinates may be chosen."""
    bounds = bounds_and_units(operator.low, operator.high, d)
    if operator.overlaps is None:
        sizes = np.minimum(np.bincount(operator.members(d)), operator.per_group or d)
        return Limited(d=d, size=_most(sizes, operator.k), operator=operator, **bounds)
    groups = operator.overlaps.groups
    most = min(d, _most(np.array([group.size for group in groups]), operator.k))
    return Overlapping(d=d, size=most, operator=operator, groups=groups, **bounds)


def _most(sizes: Indices, k: int) -> int:
    """Return how many coordinates the k largest groups have."""
    return int(np.sort(sizes)[-k:].sum())
