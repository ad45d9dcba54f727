"""Points with a few groups of coordinates at bounds of a box, and zeros elsewhere."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from szoht.errors import CapabilityError, ParameterError
from szoht.operators import GroupSparse, Operator, SparseBox
from szoht.types import Indices, Vector

__all__ = ["BoxVertices", "check_box"]


def check_box(operator: Operator, method: str) -> SparseBox | GroupSparse:
    """Return ``operator`` if it is a sparse set within finite bounds, else raise."""
    if not isinstance(operator, SparseBox | GroupSparse) or getattr(operator, "limited", False):
        raise ParameterError(
            f"method {method!r} needs a sparse set within bounds, SparseBox(k, low, high) or "
            f"GroupSparse(k=k, ..., low=low, high=high) without overlaps; got {operator!r}."
        )
    if not (np.isfinite(operator.low).all() and np.isfinite(operator.high).all()):
        raise ParameterError(f"method {method!r} needs finite bounds; got {operator!r}.")
    if isinstance(operator, SparseBox) and operator.always:
        raise CapabilityError(
            f"method {method!r} moves whole coordinates between bounds and counts all of them; got "
            f"{operator!r}. Drop `always`, or use method 'auto'."
        )
    return operator


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxVertices:
    """A box, and its coordinates in groups: each by itself, or as a `GroupSparse` has them."""

    low: Vector
    high: Vector
    members: Indices
    n_groups: int

    @classmethod
    def of(cls, operator: SparseBox | GroupSparse, d: int) -> Self:
        """Return the vertices of an operator's box in dimension ``d``."""
        low, high = (
            np.broadcast_to(b, d).astype(np.float64) for b in (operator.low, operator.high)
        )
        if isinstance(operator, GroupSparse):
            members = operator.members(d)
            return cls(low=low, high=high, members=members, n_groups=operator.n_groups(d))
        return cls(low=low, high=high, members=np.arange(d), n_groups=d)

    @cached_property
    def _is_coordinatewise(self) -> bool:
        """Whether each group is one coordinate."""
        return self.n_groups == self.members.size

    @cached_property
    def far(self) -> Vector:
        """For each coordinate the bound farther from zero."""
        return np.where(-self.low > self.high, self.low, self.high)

    def coordinates(self, groups: Indices) -> Indices:
        """Return the coordinates of some groups."""
        if self._is_coordinatewise:
            return groups
        chosen = np.zeros(self.n_groups, dtype=bool)
        chosen[groups] = True
        return np.flatnonzero(chosen[self.members])

    def sum_per_group(self, values: Vector) -> Vector:
        """Return the sum of ``values`` over the coordinates of each group."""
        if self._is_coordinatewise:
            return values
        return np.bincount(self.members, weights=values, minlength=self.n_groups).astype(np.float64)

    def random(self, generator: np.random.Generator, coordinates: Indices) -> Vector:
        """Return a bound for each coordinate, low or high with equal probability."""
        high = generator.integers(2, size=coordinates.size).astype(bool)
        return np.where(high, self.high[coordinates], self.low[coordinates])

    def can_change(self, x: Vector, coordinates: Indices) -> bool:
        """Return whether some vertex of the coordinates differs from their values in ``x``."""
        now = x[coordinates]
        return bool((now != self.low[coordinates]).any() or (now != self.high[coordinates]).any())

    def swapped(self, x: Vector, outgoing: Indices, incoming: Indices, vertex: Vector) -> Vector:
        """Return ``x`` with the groups ``outgoing`` at zero and ``incoming`` at ``vertex``."""
        moved = x.copy()
        moved[self.coordinates(outgoing)] = 0.0
        there = self.coordinates(incoming)
        moved[there] = vertex[there]
        return moved
