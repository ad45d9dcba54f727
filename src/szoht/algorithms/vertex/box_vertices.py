"""Points with few units at corners of a box, all else zero: what random searches move among."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from szoht.errors import ParameterError
from szoht.operators import GroupSparse, Operator, SparseBox
from szoht.types import Indices, Vector

__all__ = ["BoxVertices", "check_box"]


def check_box(operator: Operator, method: str) -> SparseBox | GroupSparse:
    """Return ``operator`` if it is a sparse set within finite bounds, else raise."""
    if not isinstance(operator, SparseBox | GroupSparse):
        raise ParameterError(
            f"method {method!r} needs a sparse set within bounds, SparseBox(k, low, high) or "
            f"GroupSparse(k=k, ..., low=low, high=high); got {operator!r}."
        )
    if not (np.isfinite(operator.low).all() and np.isfinite(operator.high).all()):
        raise ParameterError(f"method {method!r} needs finite bounds; got {operator!r}.")
    return operator


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxVertices:
    """The box, and which coordinates are one unit: a coordinate, or a group of them."""

    low: Vector
    high: Vector
    members: Indices
    n_units: int

    @classmethod
    def of(cls, operator: SparseBox | GroupSparse, d: int) -> Self:
        """Return the corners of an operator's box in dimension ``d``."""
        low, high = (
            np.broadcast_to(b, d).astype(np.float64) for b in (operator.low, operator.high)
        )
        if isinstance(operator, GroupSparse):
            members = operator.members(d)
            return cls(low=low, high=high, members=members, n_units=operator.n_groups(d))
        return cls(low=low, high=high, members=np.arange(d), n_units=d)

    @cached_property
    def _alone(self) -> bool:
        """Whether each unit is one coordinate."""
        return self.n_units == self.members.size

    @cached_property
    def far(self) -> Vector:
        """For each coordinate the corner farther from zero."""
        return np.where(-self.low > self.high, self.low, self.high)

    def coordinates(self, units: Indices) -> Indices:
        """Return the coordinates of some units."""
        if self._alone:
            return units
        chosen = np.zeros(self.n_units, dtype=bool)
        chosen[units] = True
        return np.flatnonzero(chosen[self.members])

    def per_unit(self, values: Vector) -> Vector:
        """Return the sum of ``values`` over the coordinates of each unit."""
        if self._alone:
            return values
        return np.bincount(self.members, weights=values, minlength=self.n_units).astype(np.float64)

    def random(self, generator: np.random.Generator, coordinates: Indices) -> Vector:
        """Return a corner for each coordinate, low or high with equal chances."""
        high = generator.integers(2, size=coordinates.size).astype(bool)
        return np.where(high, self.high[coordinates], self.low[coordinates])

    def exchanged(self, x: Vector, out: Indices, into: Indices, corner: Vector) -> Vector:
        """Return ``x`` with the units ``out`` at zero and ``into`` at the corners ``corner``."""
        moved = x.copy()
        moved[self.coordinates(out)] = 0.0
        there = self.coordinates(into)
        moved[there] = corner[there]
        return moved
