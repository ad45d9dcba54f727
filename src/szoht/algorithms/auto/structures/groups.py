"""At most s of many disjoint groups of coordinates, with or without bounds."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.algorithms.auto.records import Curvature
from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.algorithms.auto.structures.importance import importance
from szoht.core.random import Key
from szoht.estimators.sensing import Measurements, PermutedRows, Recovery, Rows, group_pursuit
from szoht.operators.base import largest
from szoht.types import Indices, Vector

__all__ = ["Groups", "rows_for_groups"]

ROWS_PER_FREEDOM = 0.6
"""Rows that the slopes of a group take in a look, per coordinate (between 0.4 and 1 all work)."""

MEDIAN_OF_SQUARES = 0.455
"""The median of the square of a standard normal variable."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups(Coordinates):
    """The points whose non-zeros lie in at most ``size`` groups; atoms are whole groups.

    ``members`` is the number of each coordinate's group. The methods that are not here are those
    of `Coordinates`.
    """

    members: Indices

    @cached_property
    def groups(self) -> list[Indices]:
        """The coordinates of each group that may change."""
        order = self.free[np.argsort(self.members[self.free], kind="stable")]
        sizes = np.bincount(self.members[self.free], minlength=int(self.members.max()) + 1)
        return np.split(order, np.cumsum(sizes)[:-1])

    @cached_property
    def degrees_of_freedom(self) -> int:
        """Those of the largest groups."""
        sizes = np.sort([group.size for group in self.groups])
        return int(sizes[-self.size :].sum())

    @property
    def independent(self) -> bool:  # type: ignore[override]
        """Whether groups are single coordinates."""
        return self.degrees_of_freedom == self.size

    @property
    def look(self) -> float:
        """Some for each coordinate of the groups, and some to tell which groups these are."""
        return rows_for_groups(self.degrees_of_freedom, self.size, len(self.groups))

    @property
    def waves(self) -> bool:  # type: ignore[override]
        """Whether groups are so small that waves need fewer rows to locate their coordinates."""
        return 2 * self.degrees_of_freedom + 5 < self.look

    def rows(self, key: Key, free: Indices) -> Rows:
        """Return rows of signs over some of the coordinates, whatever their order."""
        return PermutedRows(key=key, d=self.d, free=free)

    def recover(
        self, measured: Measurements, start: Indices, *, held_out: int, noise: float
    ) -> Recovery:
        """Find few groups that explain slopes along rows."""
        del start
        return group_pursuit(measured, self.groups, 2 * self.size, held_out=held_out, noise=noise)

    def slopes(self, z: Vector, recovery: Recovery) -> tuple[Vector, Indices]:
        """Return all slopes, and the coordinates of the groups found, the steepest first."""
        values = np.zeros_like(z)
        values[recovery.support] = recovery.slopes
        atoms = self.atoms(recovery.support)
        norms = np.array([np.linalg.norm(values[atom]) for atom in atoms])
        order = np.argsort(-norms, kind="stable")
        return values, np.concatenate([atoms[i] for i in order] or [np.empty(0, dtype=np.intp)])

    def active(self, z: Vector) -> Indices:
        """Return all coordinates of the groups that are touched."""
        return self.whole(np.flatnonzero(z))

    def whole(self, coordinates: Indices) -> Indices:
        """Return all coordinates of the groups that have one among ``coordinates``."""
        atoms = self.atoms(coordinates)
        return np.sort(np.concatenate(atoms)) if atoms else np.empty(0, dtype=np.intp)

    def atoms(self, coordinates: Indices) -> list[Indices]:
        """Return the coordinates of each of these groups, in the order of their first ones."""
        numbers, first = np.unique(self.members[coordinates], return_index=True)
        return [self.groups[g] for g in numbers[np.argsort(first)]]

    def count(self, coordinates: Indices) -> int:
        """Return how many groups these are."""
        return int(np.unique(self.members[coordinates]).size)

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return the coordinates of the ``size`` groups of largest slope, some left out."""
        squares = slopes[self.free] ** 2
        members = self.members[self.free]
        score = np.bincount(members, squares, len(self.groups))
        sizes = np.bincount(members, minlength=len(self.groups))
        # slopes of no meaning add up in large groups: what they would amount to is taken off
        chance = sizes * (float(np.median(squares)) / MEDIAN_OF_SQUARES)
        score = np.maximum(score - chance, 1e-6 * score)
        score[np.unique(self.members[without])] = 0.0
        chosen = [self.groups[g] for g in largest(score, size)]
        return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.intp)

    def importance(self, z: Vector, atoms: list[Indices], curvature: Curvature | None) -> Vector:
        """Return what dropping each of some groups would cost."""
        cost = importance(z, np.concatenate(atoms), curvature)
        ends = np.cumsum([atom.size for atom in atoms])[:-1]
        return np.array([part.sum() for part in np.split(cost, ends)])


def rows_for_groups(freedom: int, size: int, n: int) -> float:
    """Return the order of the number of rows that tell which ``size`` of n groups matter."""
    return ROWS_PER_FREEDOM * freedom + size * (1 + math.log(max(n / size, 1)))
