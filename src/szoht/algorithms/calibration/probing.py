"""Points of probes: all variables at once, never outside the bounds, integers by whole steps."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.operators import Sparse, SparseBox
from szoht.types import Indices, Mask, Vector

__all__ = ["Domain", "Probe"]

QUARTER = 0.25
"""The unit is this share of a finite box, if that is less than one natural change."""


class Probe(NamedTuple):
    """A displacement from the center, and its row of the design.

    They differ at variables that have room on one side only: those stay, or move by two lengths,
    and the design says by how much more or less than on average.
    """

    step: Vector
    row: Vector


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """Bounds, units and grid of the variables; the search is in units, t = z / unit."""

    unit: Vector
    low: Vector
    high: Vector
    grid: Vector

    @classmethod
    def of(cls, operator: Sparse | SparseBox, d: int, grid: Vector | None) -> "Domain":
        """Return the domain of a constraint on z."""
        z_low, z_high = np.full(d, -np.inf), np.full(d, np.inf)
        if isinstance(operator, SparseBox):
            z_low = np.array(np.broadcast_to(operator.low, (d,)), dtype=np.float64)
            z_high = np.array(np.broadcast_to(operator.high, (d,)), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            width = z_high - z_low
        unit = np.where(width > 0, np.minimum(1.0, QUARTER * width), 1.0)
        steps = np.zeros(d) if grid is None else grid
        return cls(unit=unit, low=z_low / unit, high=z_high / unit, grid=steps / unit)

    @property
    def d(self) -> int:
        """How many variables there are."""
        return int(self.unit.size)

    @property
    def free(self) -> Mask:
        """Which variables can be changed."""
        return np.asarray(self.low < self.high)

    def to_z(self, t: Vector) -> Vector:
        """Return the solver's coordinates of a point."""
        return np.clip(t, self.low, self.high) * self.unit

    def from_z(self, z: Vector) -> Vector:
        """Return a point in units."""
        return z / self.unit

    def sign_probe(
        self, generator: np.random.Generator, center: Vector, length: float, *, share: float = 1.0
    ) -> Probe:
        """Return a random sign for each variable; 0/1 where there is room on one side only.

        ``share`` of the variables, chosen at random, take part.
        """
        signs = generator.choice([-1.0, 1.0], size=self.d)
        takes_part = generator.random(self.d) < share
        if share < 1 and not (takes_part & self.free).any():
            takes_part[generator.choice(np.flatnonzero(self.free))] = True
        size = self.whole(np.full(self.d, length))
        up, down = self.high - center, center - self.low
        both = (up >= size) & (down >= size)
        side = np.where(up >= down, 1.0, -1.0)
        room = np.maximum(np.maximum(up, down), 0.0)
        reach = np.minimum(2 * size, room)
        reach = np.where(self.grid > 0, self.whole_within(reach), reach)
        one_sided = np.where(signs > 0, side * reach, 0.0)
        step = np.where(both, signs * size, one_sided)
        row = np.where(both, step, step - 0.5 * side * reach)
        return Probe(np.where(takes_part, step, 0.0), np.where(takes_part, row, 0.0))

    def within(self, center: Vector, step: Vector) -> Vector:
        """Return a step shortened, coordinate by coordinate, to what the bounds and grid allow."""
        step = np.where(self.grid > 0, np.sign(step) * self.whole(np.abs(step)), step)
        step = np.where(self._fits(center, step), step, -step)  # or to the other side
        return np.where(self._fits(center, step), step, 0.0)

    def whole(self, size: Vector) -> Vector:
        """Return lengths as whole steps of the grid, at least one, where there is a grid."""
        grid = np.where(self.grid > 0, self.grid, 1.0)
        return np.where(
            (self.grid > 0) & (size > 0), np.maximum(np.rint(size / grid), 1) * grid, size
        )

    def whole_within(self, size: Vector) -> Vector:
        """Return lengths as whole steps of the grid, not more than given."""
        grid = np.where(self.grid > 0, self.grid, 1.0)
        return np.floor(size / grid * (1 + 1e-12)) * grid

    def toward_zero(self, step: Vector) -> Vector:
        """Return a step with what has a grid shortened to whole steps of it."""
        whole = np.sign(step) * self.whole_within(np.abs(step))
        return np.where(self.grid > 0, whole, step)

    def changed(self, t: Vector) -> Indices:
        """Return which variables a point changes."""
        return np.flatnonzero(t)

    def _fits(self, center: Vector, step: Vector) -> Mask:
        slack = 1e-12 * (1 + np.abs(center))
        point = center + step
        return np.asarray((point <= self.high + slack) & (point >= self.low - slack))
