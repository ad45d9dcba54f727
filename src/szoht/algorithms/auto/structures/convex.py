"""A convex set that points lie in: what `TwoStep` adds to coordinates, groups, trees, graphs."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from szoht.algorithms.auto.structures.projected_axes import projected_axes
from szoht.core.directions import ArrayDirections, Directions
from szoht.core.validation import frozen
from szoht.types import Indices, Vector

__all__ = ["ConvexDomain", "convex_domain"]

SAME = 1e-12
"""A projection that moves a point by less than this share has found it inside."""

FAR = 1e8
"""Points this far away show how far a set extends."""

MODEL_STEPS = 300
"""Steps of the accelerated projected gradient that minimizes a model."""

CHECKED_AXES = 64
"""So many steps along axes are checked one by one."""

MOST_CHECKED = 5000
"""In more dimensions, no step along an axis is checked: what rows have room for is enough."""

SAMPLES = 4
"""Rows of signs with which the room inside is measured."""


class Projection(Protocol):
    """A set that can be projected onto."""

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the nearest point; ``step`` does not matter."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class ConvexDomain:
    """A convex set around zero, in the user's units.

    From ``center`` one can go ``room`` both ways along rows of signs over the coordinates ``free``,
    from zero ``axis_room`` along axes, but not below ``low`` or above ``high``, which are zero or
    infinite. ``extent`` is how far single coordinates can go, infinite if there is no limit.
    """

    projection: Projection
    center: Vector
    free: Indices
    room: float
    axis_room: float
    extent: float
    low: Vector
    high: Vector

    @property
    def far(self) -> float:
        """A length beyond the set, or a unit."""
        return self.extent if np.isfinite(self.extent) else 1.0

    def project(self, x: Vector) -> Vector:
        """Return the nearest point; ``x`` itself if only rounding would move it."""
        nearest = self.projection.prox(x, 1.0)
        return x if _same(nearest, x) else nearest

    def inside_rows(self, x: Vector, length: float) -> Vector:
        """Return a point from which rows of this length stay inside, ``x`` if possible."""
        return self._inward(x, self.center, length / self.room)

    def inside_axes(self, x: Vector, length: float) -> Vector:
        """Return a point from which steps of this length stay inside, ``x`` if possible."""
        if self.center.size > MOST_CHECKED:
            return self.inside_rows(x, length)
        return self._inward(x, np.zeros_like(x), length / self.axis_room)

    def _inward(self, x: Vector, center: Vector, share: float) -> Vector:
        """Return ``x`` if it is inside by a share of the way from the center, or a point closer."""
        share = min(share, 0.45)
        beyond = x + share / (1 - share) * (x - center)
        if _same(self.projection.prox(beyond, 1.0), beyond):
            return x
        return (1 - 2 * share) * x + 2 * share * center

    def axes(self, x: Vector, support: Indices, offsets: Vector) -> Directions:
        """Return steps along axes from ``x``; those that would lead outside are projected."""
        longest = float(np.abs(offsets).max(initial=0.0))
        if support.size > CHECKED_AXES and self.inside_rows(x, longest) is x:
            column = support[:, np.newaxis]
            return ArrayDirections(d=x.size, indices=column, values=offsets[:, np.newaxis])
        return projected_axes(x, support, offsets, self.project)

    def best_step(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector, unit: Vector
    ) -> Vector:
        """Minimize a quadratic model over the set (Beck and Teboulle 2009, with restarts).

        Slopes, curvature and the result are those of z, which is x in these units.
        """
        scale = unit[support]
        slopes, hessian = slopes / scale, hessian / np.outer(scale, scale)
        start = z[support] * scale
        steepest = float(np.linalg.eigvalsh(hessian)[-1])
        if not steepest > 0:
            return np.zeros(support.size)
        x, ahead, inertia = start, start, 1.0
        whole = np.zeros(z.size)
        for _ in range(MODEL_STEPS):
            whole[support] = ahead - (slopes + hessian @ (ahead - start)) / steepest
            moved = self.projection.prox(whole, 1.0)[support]
            after = 0.5 * (1 + np.sqrt(1 + 4 * inertia**2))
            if (ahead - moved) @ (moved - x) > 0:  # O'Donoghue and Candes 2015
                after = inertia = 1.0
            done = float(np.abs(moved - x).max()) <= SAME * float(np.abs(moved).max())
            ahead, x, inertia = moved + (inertia - 1) / after * (moved - x), moved, after
            if done:
                break
        return np.asarray((x - start) / scale)


def convex_domain(projection: Projection, d: int) -> ConvexDomain:
    """Look at a convex set that contains zero: where its middle is, and how large it is."""
    generator = np.random.default_rng(0)
    signs = generator.choice(np.array([-1.0, 1.0]), (SAMPLES, d))
    signs = np.vstack([signs, -signs])
    ends = np.array([projection.prox(FAR * row, 1.0) for row in signs])
    free = np.flatnonzero(ends.any(axis=0))
    some = generator.choice(free, min(free.size, 2 * SAMPLES), replace=False)
    reached = np.array(
        [projection.prox(sign * FAR * np.eye(1, d, i)[0], 1.0)[i] for i in some for sign in (1, -1)]
    )
    sizes = np.abs(reached[reached != 0]) if reached.any() else np.ones(1)
    extent = float(sizes.max()) if sizes.max() < 0.1 * FAR else np.inf
    if np.isinf(extent):
        ends = np.array([projection.prox(row, 1.0) for row in signs])
    center = 0.5 * ends.mean(axis=0)  # on the way to zero, hence not at the border
    moving = np.zeros(d)
    moving[free] = 1.0
    longest = extent if np.isfinite(extent) else 1.0
    return ConvexDomain(
        projection=projection,
        center=frozen(center),
        free=frozen(free),
        room=_room(projection, center, signs * moving, longest),
        axis_room=float(sizes.min()),
        extent=extent,
        low=frozen(np.where(ends.min(axis=0) < 0, -np.inf, 0.0)),
        high=frozen(np.where(ends.max(axis=0) > 0, np.inf, 0.0)),
    )


def _room(projection: Projection, center: Vector, directions: Vector, longest: float) -> float:
    """Return how far one can go from the center along directions; half of it, to be safe."""
    room = longest
    while room > SAME * longest and not all(
        _same(projection.prox(point, 1.0), point) for point in center + room * directions
    ):
        room *= 0.5
    return 0.5 * room


def _same(one: Vector, other: Vector) -> bool:
    return float(np.abs(one - other).max()) <= SAME * max(float(np.abs(other).max()), 1e-300)
