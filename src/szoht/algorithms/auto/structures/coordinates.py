"""At most k non-zeros, with or without bounds."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from szoht.algorithms.auto.records import Curvature, NoiseModel
from szoht.algorithms.auto.restricted.bounded_model import bounded_step
from szoht.algorithms.auto.structures.convex import ConvexDomain
from szoht.algorithms.auto.structures.importance import importance
from szoht.core.directions import ArrayDirections, Directions
from szoht.core.random import Key
from szoht.core.validation import frozen
from szoht.estimators.sensing import (
    HadamardRows,
    Measurements,
    Recovery,
    Rows,
    matching_pursuit,
)
from szoht.operators.base import largest
from szoht.types import Indices, Vector

__all__ = ["Coordinates"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Coordinates:
    """The set {x : ||x||_0 <= k, x_low <= x <= x_high}; one unit is a box width where finite.

    In place of bounds, ``convex`` may be a convex set that x lies in.
    """

    d: int
    size: int
    x_low: Vector | None = None
    x_high: Vector | None = None
    unit: Vector | None = None
    has_units: bool = False
    convex: ConvexDomain | None = None

    sums_to_one = False
    gaps = False
    independent = True
    waves = True

    @cached_property
    def low(self) -> Vector:
        """Lower bounds on z."""
        if self.convex is not None:
            return self.convex.low
        return self._bound(self.x_low, -np.inf)

    @cached_property
    def high(self) -> Vector:
        """Upper bounds on z."""
        if self.convex is not None:
            return self.convex.high
        return self._bound(self.x_high, np.inf)

    @cached_property
    def bounded(self) -> bool:
        """Whether any bound is finite."""
        return bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())

    @cached_property
    def free(self) -> Indices:
        """The coordinates whose bounds differ by more than a few roundings."""
        if self.convex is not None:
            return self.convex.free
        if self.x_low is None or self.x_high is None:
            return np.arange(self.d)
        spacing = np.spacing(np.maximum(np.abs(self._finite_low), np.abs(self._finite_high)))
        return np.flatnonzero(~(self.x_high - self.x_low <= 8 * spacing))

    @property
    def degrees_of_freedom(self) -> int:
        """As many as coordinates."""
        return self.size

    @property
    def look(self) -> float:
        """Of the order k (1 + log(d / k))."""
        k = self.size
        return k * (1 + math.log(max(self.free.size / k, 1)))

    @cached_property
    def longest_row(self) -> float:
        """The longest differences that fit along rows, both ways from a base."""
        if self.convex is not None:
            return 0.4 * self.convex.room / float(np.max(self._one))
        width = (self.high - self.low)[self.free]
        return 0.45 * float(width.min(initial=math.inf))

    def to_x(self, z: Vector) -> Vector:
        """Return the user's point, inside the user's bounds whatever rounding does."""
        x = z if self.unit is None else z * self.unit
        if self.convex is not None:
            return self.convex.project(x)
        if self.x_low is None or self.x_high is None:
            return x
        return np.asarray(np.clip(x, self.x_low, self.x_high))

    def to_z(self, x: Vector) -> Vector:
        """Return the solver's point."""
        return self.clip(np.asarray(x, dtype=float) / (1.0 if self.unit is None else self.unit))

    def clip(self, z: Vector) -> Vector:
        """Return the nearest point within the bounds."""
        if self.convex is not None:
            x = z * self._one
            projected = self.convex.project(x)
            return z if projected is x else projected / self._one
        return np.asarray(np.clip(z, self.low, self.high)) if self.bounded else z

    def nearest(self, z: Vector) -> Vector:
        """Return the nearest point within the bounds: there is nothing else to keep to."""
        return self.clip(z)

    def inside(self, z: Vector, length: float) -> Vector:
        """Return the point itself: steps turn around at bounds; one farther inside a convex set."""
        if self.convex is None:
            return z
        x = self.to_x(z)
        moved = self.convex.inside_axes(x, length * float(np.max(self._one)))
        return z if moved is x else moved / self._one

    def contains(self, z: Vector) -> bool:
        """Tell whether at most k coordinates are not zero; bounds are kept by `to_x`."""
        return self.fits(np.flatnonzero(z))

    def base(self, z: Vector, length: float) -> Vector:
        """Return the nearest point from which ``length * u`` stays inside for all |u_i| <= 1."""
        if self.convex is not None:
            x = self.to_x(z)
            moved = self.convex.inside_rows(x, length * float(np.max(self._one)))
            return z if moved is x else moved / self._one
        if not self.bounded:
            return z
        # a little more than the length, since the user's bounds must hold after rounding
        margin = np.minimum(length * (1 + 1e-3), 0.5 * (self.high - self.low))
        low, high = self.low + margin, self.high - margin
        return np.asarray(np.minimum(np.maximum(z, low), high))

    def axes(self, x: Vector, support: Indices, steps: Vector) -> Directions:
        """Return what steps along axes of z add to the user's point ``x``, inside the bounds."""
        offsets = steps if self.unit is None else steps * self.unit[support]
        if self.convex is not None:
            return self.convex.axes(x, np.asarray(support, dtype=np.intp), offsets)
        if self.x_low is not None and self.x_high is not None:
            here, low, high = x[support], self.x_low[support], self.x_high[support]
            offsets = np.clip(here + offsets, low, high) - here
            for _ in range(2):  # the sum may still be rounded to the other side of a bound
                out = (here + offsets > high) | (here + offsets < low)
                offsets = np.where(out, np.nextafter(offsets, 0.0), offsets)
        indices = np.asarray(support, dtype=np.intp)[:, np.newaxis]
        return ArrayDirections(d=self.d, indices=indices, values=offsets[:, np.newaxis])

    def line(self, z: Vector, signs: Vector, length: float) -> Vector:
        """Return the signs, turned inward at bounds, of the coordinates that may change.

        Within a convex set, the way to a point of it.
        """
        if self.convex is not None:
            return self.clip(self.convex.far * signs / self._one) - z
        signs = np.where(z - length < self.low, 1.0, signs)
        signs = np.where(z + length > self.high, -1.0, signs)
        moving = np.zeros(self.d)
        moving[self.free] = signs[self.free]
        return moving

    def rows(self, key: Key, free: Indices) -> Rows:
        """Return rows of signs over some of the coordinates."""
        return HadamardRows(key=key, d=self.d, free=free)

    def along_rows(self, noise: NoiseModel) -> NoiseModel:
        """Return what the noise test says: its line is a row of signs unless a set is convex."""
        return noise if self.convex is None else replace(noise, curvature=0.0)

    def recover(
        self, measured: Measurements, start: Indices, *, held_out: int, noise: float
    ) -> Recovery:
        """Find few coordinates that explain slopes along rows, by matching pursuit."""
        del start
        k = self.size
        return matching_pursuit(
            measured,
            2 * k,
            held_out=held_out,
            noise=noise,
            per_pass=max(1, k // 8),
            shared=measured.kinds,
        )

    def slopes(self, z: Vector, recovery: Recovery) -> tuple[Vector, Indices]:
        """Return all slopes, and the coordinates found, the steepest first."""
        values = np.zeros_like(z)
        values[recovery.support] = recovery.slopes
        order = np.argsort(-np.abs(recovery.slopes), kind="stable")
        return values, recovery.support[order]

    def axis_slopes(self, z: Vector, gradient: Vector) -> Vector:
        """Return the gradient in the units of z."""
        del z
        return gradient if self.unit is None else gradient * self.unit

    def by_models(self, z: Vector) -> bool:
        """Tell whether steps need models: bounds are enough to begin with."""
        del z
        return False

    def is_within(self, z: Vector) -> bool:
        """Tell whether a point is in the convex set, if there is one."""
        return self.convex is None or self.clip(z) is z

    def centering(self, z: Vector) -> Vector | None:
        """Slopes along axes are the gradient."""
        del z
        return None

    def best_step(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector, *, fits: bool
    ) -> Vector:
        """Return the step that minimizes a quadratic model within the bounds."""
        del fits
        if self.convex is not None:
            return self.convex.best_step(z, support, slopes, hessian, self._one)
        low, high = self.low[support] - z[support], self.high[support] - z[support]
        return bounded_step(slopes, hessian, low, high)

    def best_choice(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector
    ) -> Vector | None:
        """There is nothing to choose."""
        del z, support, slopes, hessian
        return None

    def active(self, z: Vector) -> Indices:
        """Return the coordinates that are not zero."""
        return np.flatnonzero(z)

    def whole(self, coordinates: Indices) -> Indices:
        """Return the coordinates: each is an atom."""
        return coordinates

    def atoms(self, coordinates: Indices) -> list[Indices]:
        """Return each coordinate by itself."""
        return list(coordinates[:, np.newaxis])

    def count(self, coordinates: Indices) -> int:
        """Return how many coordinates these are."""
        return int(coordinates.size)

    def fits(self, coordinates: Indices) -> bool:
        """Tell whether these are not too many."""
        return self.count(coordinates) <= self.size

    def next_to(self, coordinates: Indices) -> Indices:
        """Return all other coordinates."""
        return np.setdiff1d(self.free, coordinates, assume_unique=True)

    def promise(self, slopes: Vector) -> Vector:
        """Return the sizes of the slopes."""
        return np.abs(slopes)

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return the ``size`` coordinates of largest slope, some of them left out."""
        score = np.abs(slopes)
        score[without] = 0.0
        return largest(score, size)

    def importance(self, z: Vector, atoms: list[Indices], curvature: Curvature | None) -> Vector:
        """Return what dropping each of some coordinates would cost."""
        return importance(z, np.concatenate(atoms), curvature)

    def prune(self, z: Vector, curvature: Curvature | None, size: int) -> Vector:
        """Return the point with the ``size`` coordinates only whose loss would cost most."""
        atoms = self.atoms(self.active(z))
        if self.with_size(size).fits(self.active(z)):
            return z.copy()
        kept = self.kept(atoms, self.importance(z, atoms, curvature), size)
        return self.without(z, np.setdiff1d(np.concatenate(atoms), kept))

    def kept(self, atoms: list[Indices], worth: Vector, size: int) -> Indices:
        """Return the coordinates of the ``size`` atoms that are worth most."""
        order = np.argsort(-worth, kind="stable")
        return np.concatenate([atoms[i] for i in order[:size]])

    def without(self, z: Vector, coordinates: Indices) -> Vector:
        """Return the point with some coordinates zero."""
        z = z.copy()
        z[coordinates] = 0.0
        return z

    def exchanged(self, z: Vector, out: Indices, new: Indices) -> Vector:
        """Return the point without some coordinates; new ones begin at zero."""
        del new
        return self.without(z, out)

    def with_size(self, size: int) -> "Coordinates":
        """Return the same set with another number of non-zeros."""
        return replace(self, size=size)

    def rescaled(self, scale: float | Vector) -> "Coordinates":
        """Return the same set with another unit for the coordinates without finite bounds."""
        unit = np.ones(self.d) if self.unit is None else self.unit
        width = self.high - self.low
        return replace(self, unit=frozen(np.where(np.isfinite(width), unit, scale * unit)))

    def _bound(self, bound: Vector | None, default: float) -> Vector:
        if bound is None:
            return frozen(np.full(self.d, default))
        return frozen(bound / (1.0 if self.unit is None else self.unit))

    @property
    def _one(self) -> Vector:
        """One unit of each coordinate."""
        return np.ones(self.d) if self.unit is None else self.unit

    @property
    def _finite_low(self) -> Vector:
        return np.where(np.isfinite(self.x_low), self.x_low, 0.0)  # type: ignore[arg-type]

    @property
    def _finite_high(self) -> Vector:
        return np.where(np.isfinite(self.x_high), self.x_high, 0.0)  # type: ignore[arg-type]
