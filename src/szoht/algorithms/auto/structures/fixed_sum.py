"""At most k weights of either sign with a given sum: portfolios with short positions."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.algorithms.auto.structures.given_sum import GivenSum
from szoht.algorithms.auto.structures.projected_axes import projected_axes
from szoht.core.directions import Directions
from szoht.core.validation import frozen
from szoht.estimators.sensing import Recovery
from szoht.operators.sparse_sum import onto_sum
from szoht.types import Indices, Vector

__all__ = ["FixedSum"]

SUMMED = 4e-16
"""Sums this close to the total, relative to the entries, are right but for rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedSum(GivenSum):
    """The set {x : ||x||_0 <= k, sum(x) = total, low <= x <= high}.

    Any z stands for the nearest point with this sum whose non-zeros are among those of z. What is
    added to one weight is taken from the others of the support alike, so that slopes are those of f
    less their mean over the support: at a minimum they vanish there.
    The methods that are not here are those of `GivenSum`.
    """

    lowest: float = -math.inf
    highest: float = math.inf

    @cached_property
    def low(self) -> Vector:
        """The lower bound, for all."""
        return frozen(np.full(self.d, self.lowest))

    @cached_property
    def high(self) -> Vector:
        """The upper bound, for all."""
        return frozen(np.full(self.d, self.highest))

    @property
    def longest_row(self) -> float:
        """What fits between the bounds and the point of equal weights."""
        return 0.4 * self._room

    @property
    def _room(self) -> float:
        center = self.total / self.d
        return min(self.highest - center, center - self.lowest)

    def to_x(self, z: Vector) -> Vector:
        """Return the point for which ``z`` stands."""
        x = self.clip(z)
        return x if self.unit is None else x * self.unit

    def clip(self, z: Vector) -> Vector:
        """Return the nearest point with the right sum on the support of ``z``.

        On more coordinates, the first ones, where those of ``z`` cannot have that sum.
        """
        support = np.flatnonzero(z)
        inside = bool(((z >= self.lowest) & (z <= self.highest)).all())
        right = abs(float(z.sum()) - self.total) <= SUMMED * max(1.0, float(np.abs(z).sum()))
        if inside and right:
            return z
        bound = self.highest if self.total > 0 else self.lowest
        fewest = 1 if math.isinf(bound) else math.ceil(self.total / bound)
        if support.size < fewest:
            others = np.setdiff1d(np.arange(self.d), support)
            support = np.union1d(support, others[: fewest - support.size])
        x = np.zeros(self.d)
        x[support] = onto_sum(z[support], self.total, self.lowest, self.highest)
        return x

    def contains(self, z: Vector) -> bool:
        """Tell whether the point for which ``z`` stands has at most k weights."""
        return int(np.count_nonzero(self.clip(z))) <= self.size

    def axes(self, x: Vector, support: Indices, steps: Vector) -> Directions:
        """Return what steps along axes of z add to ``x``: the others change, too."""
        unit = 1.0 if self.unit is None else float(self.unit[0])
        return projected_axes(
            x, support, steps * unit, lambda moved: self.clip(moved / unit) * unit
        )

    def line(self, z: Vector, signs: Vector, length: float) -> Vector:
        """Return signs that sum to zero, inward at bounds."""
        inward = super().line(z, signs, length)
        return np.asarray(0.5 * (inward - inward.mean()))

    def base(self, z: Vector, length: float) -> Vector:
        """Return a point close by from which rows of this length stay inside the bounds."""
        z = self.clip(z)
        if math.isinf(self._room):
            return z
        share = min(2 * length / self._room, 0.9)
        return self.clip((1 - share) * z + share * self.total / self.d)

    def slopes(self, z: Vector, recovery: Recovery) -> tuple[Vector, Indices]:
        """Return slopes less their mean over the support, and the coordinates found."""
        gradient = np.zeros_like(z)
        gradient[recovery.support] = recovery.slopes
        values, found = self._reduced(z, gradient), recovery.support
        promise = np.where(z[found] != 0, 0.0, self.promise(values[found]))
        return values, found[np.argsort(-promise, kind="stable")]

    def axis_slopes(self, z: Vector, gradient: Vector) -> Vector:
        """Return slopes less their mean over the support."""
        return self._reduced(z, gradient if self.unit is None else gradient * self.unit)

    def _reduced(self, z: Vector, gradient: Vector) -> Vector:
        """Return the slopes along axes: those weights follow that are not at a bound."""
        z = self.clip(z)
        inner = (z != 0) & (z > self.lowest) & (z < self.highest)
        count = int(np.count_nonzero(inner))
        if count == 0:
            return np.zeros_like(z)
        less = gradient - float(gradient[inner].mean())
        return np.where(inner, less, less * (count / (count + 1)))

    def without(self, z: Vector, coordinates: Indices) -> Vector:
        """Return the point with some weights zero, unless these are all."""
        pruned = super().without(z, coordinates)
        return self.clip(pruned if pruned.any() else z)
