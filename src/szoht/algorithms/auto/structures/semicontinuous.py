"""At most k non-zeros, none of which is small."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.algorithms.auto.records import Curvature
from szoht.algorithms.auto.restricted.bounded_model import Interval, best_branch, bounded_step
from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.core.validation import frozen
from szoht.types import Indices, Mask, Vector

__all__ = ["NotSmall"]

NEAR_LIMIT = 1e-12
"""Entries this close to the smallest that is allowed, as a share of it, are equal to it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NotSmall(Coordinates):
    """`Coordinates` that are zero, or ``x_least`` at least in magnitude.

    Probes may be small: they lie within the bounds, as those of `Coordinates`. Answers are not. A
    coordinate that is large enough stays on its side of zero during a solve; small ones choose
    a side, or zero, by the model when it has ended.
    """

    x_least: Vector

    gaps = True

    @cached_property
    def least(self) -> Vector:
        """The smallest magnitude of z."""
        return frozen(self.x_least / self._one)

    def to_x(self, z: Vector) -> Vector:
        """Return the user's point; what is too small by rounding only is not."""
        x = super().to_x(z)
        size = np.abs(x)
        rounded = (size < self.x_least) & (size >= self.x_least * (1 - NEAR_LIMIT))
        return np.where(rounded, np.copysign(self.x_least, x), x) if rounded.any() else x

    def contains(self, z: Vector) -> bool:
        """Tell whether at most k coordinates are not zero, and none of these is small."""
        return super().contains(z) and not self._small(self.to_x(z)).any()

    def _small(self, x: Vector) -> Mask:
        small: Mask = (x != 0) & (np.abs(x) < self.x_least)
        return small

    def nearest(self, z: Vector) -> Vector:
        """Return the point with small entries zero or at the limit, whichever is nearer."""
        z = self.clip(z)
        small = np.flatnonzero(self._small(self.to_x(z)))
        if not small.size or not self.fits(np.flatnonzero(z)):
            return z
        moved = z.copy()
        moved[small] = [self._sides(int(i), z[i])[0][0 if z[i] > 0 else 1] for i in small]
        return moved

    def _sides(self, i: int, value: float) -> list[Interval]:
        """Return the intervals that a coordinate may be in, the nearest first."""
        least, low, high = float(self.least[i]), float(self.low[i]), float(self.high[i])
        sides = [(0.0, 0.0)]
        sides += [(least, high)] if high >= least else []
        sides += [(low, -least)] if low <= -least else []
        return sorted(sides, key=lambda side: max(side[0] - value, value - side[1], 0.0))

    def by_models(self, z: Vector) -> bool:
        """Tell whether a coordinate is at its limit: it may stay there, or choose."""
        return bool((np.abs(np.abs(z) - self.least) <= NEAR_LIMIT * self.least)[z != 0].any())

    def best_step(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector, *, fits: bool
    ) -> Vector:
        """Return the step that minimizes a model; what is large enough stays so if all fit."""
        values, low, high = z[support], self.low[support], self.high[support]
        if fits:
            least = self.least[support] * (1 - NEAR_LIMIT)
            low = np.where(values >= least, np.minimum(values, self.least[support]), low)
            high = np.where(values <= -least, np.maximum(values, -self.least[support]), high)
        return bounded_step(slopes, hessian, low - values, high - values)

    def best_choice(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector
    ) -> Vector | None:
        """Return where the model is least if small coordinates, and those at the limit, choose."""
        values = z[support]
        open_ = (values != 0) & (np.abs(values) <= self.least[support] * (1 + NEAR_LIMIT))
        if not open_.any():
            return None
        sides = [
            self._sides(int(i), value)[: None if undecided else 1]
            for i, value, undecided in zip(support, values, open_, strict=True)
        ]
        return best_branch(slopes, hessian, values, sides, given_sum=False)

    def prune(self, z: Vector, curvature: Curvature | None, size: int) -> Vector:
        """Return the point with the ``size`` coordinates only whose loss would cost most."""
        return self.nearest(super().prune(z, curvature, size))
