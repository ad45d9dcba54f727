"""Where variables may go of which some move in steps: bounds, grid, and steps worth trying."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.algorithms.auto.restricted.grid_model import GridModel
from szoht.types import Indices, Vector

__all__ = ["Lattice"]

SCAN_LENGTH, SCAN_BOX_SHARE = 0.5, 0.25
"""The usual step, in units, and at most this share of the distance of the bounds."""

APART = 0.2
"""Steps along one axis differ by at least this share of the length that is tried."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lattice:
    """Points z with low <= z <= high whose entries are multiples of ``grid``, where that is > 0."""

    low: Vector
    high: Vector
    grid: Vector

    @cached_property
    def free(self) -> Indices:
        """The variables with at least two places."""
        return np.flatnonzero(self.high - self.low > 0.5 * self.grid)

    @cached_property
    def length(self) -> Vector:
        """The usual step of each variable."""
        return np.minimum(SCAN_LENGTH, SCAN_BOX_SHARE * (self.high - self.low))

    def place(self, i: int, z: float) -> float:
        """Return the nearest place of variable i."""
        inside = min(max(z, float(self.low[i])), float(self.high[i]))
        step = float(self.grid[i])
        if step == 0:
            return inside
        first, last = np.ceil(self.low[i] / step - 1e-9), np.floor(self.high[i] / step + 1e-9)
        return float(min(max(np.rint(inside / step), first), last) * step)

    def long_offsets(self, here: float, i: int, length: float) -> list[float]:
        """Return one or two steps from here that matter: to either side, or back to zero."""
        length = max(length, float(self.grid[i]))
        if here == 0:
            return self._distinct(here, i, length, (length, -length, 2 * length, -2 * length))
        away = math.copysign(length, here)
        return self._distinct(here, i, length, (-here, away, -away, -2 * here))

    def short_offsets(self, here: float, i: int, step: float) -> list[float]:
        """Return a step to either side, or two steps to one side at a bound."""
        other = 2 * step if self.grid[i] > 0 else 0.5 * step
        return self._distinct(here, i, step, (step, -step, other, -other))

    def around(self, z: Vector, length: Vector) -> tuple[Vector, Vector]:
        """Return bounds no farther than ``length`` from z."""
        return np.maximum(self.low, z - length), np.minimum(self.high, z + length)

    def around_and_zero(self, z: Vector, length: Vector) -> tuple[Vector, Vector]:
        """Return bounds no farther than ``length`` from z, or from zero if that is farther."""
        low, high = self.around(z, length)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def model(
        self,
        z: Vector,
        where: Indices,
        fit: tuple[Vector, Vector],
        box: tuple[Vector, Vector],
    ) -> GridModel:
        """Return the model with this slope and Hessian on some variables, within a box."""
        return GridModel(
            here=z[where],
            slope=fit[0],
            hessian=fit[1],
            low=box[0][where],
            high=box[1][where],
            grid=self.grid[where],
        )

    def _distinct(self, here: float, i: int, length: float, wanted: Iterable[float]) -> list[float]:
        """Return the first two of the steps that are possible and differ."""
        offsets: list[float] = []
        for step in wanted:
            offset = self.place(i, here + step) - here
            others: Sequence[float] = (0.0, *offsets)
            if all(abs(offset - other) > APART * length for other in others):
                offsets.append(offset)
        return offsets[:2]
