"""BFGS on few coordinates from values with a small error: central differences of noise-aware length.

The difference length balances noise and curvature (Moré and Wild 2012, ACM TOMS 38), the solve ends
where the model promises no more than the noise can hide (Berahas, Byrd, Nocedal 2019).
"""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import Steps
from szoht.types import Indices, Mask, Vector

__all__ = ["NoisySolve", "minimize_with_differences"]

SHOWN = 6.0
"""A second difference shows curvature if it exceeds this many standard deviations of a value."""

PROMISE = 3.0
"""A solve ends when the model promises less than this many standard deviations."""

LONGEST = 0.2

STEPS, TRIALS = 20, 8

ACCURACY = 1e-4
"""The solve also ends when the slopes have shrunk to this share."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisySolve:
    """Where a solve ended, with the inverse Hessian and curvatures seen along the axes."""

    z: Vector
    value: float
    inverse: Vector | None
    curvature: Vector


@dataclass(kw_only=True, eq=False)
class _Differences:
    """Central differences on ``support``; lengths adapt to the curvature seen."""

    values: Values
    support: Indices
    low: Vector
    high: Vector
    sigma: float
    steps: Vector
    curvature: Vector

    def slopes(self, z: Vector, value: float) -> Steps[Vector]:
        """Return the slopes at ``z`` and adapt the lengths."""
        p, h = z.size, self.steps
        up = np.clip(z + np.diag(h), self.low, self.high)
        down = np.clip(z - np.diag(h), self.low, self.high)
        found = yield from self.values.sparse_at(np.concatenate([up, down]), self.support)
        above, below = found[:p], found[p:]
        width = np.diag(up) - np.diag(down)
        slopes = np.divide(above - below, width, out=np.zeros(p), where=width > 0)
        bend = np.abs(above + below - 2 * value)
        whole = (width > 1.99 * h) & np.isfinite(bend)
        shown = whole & (bend > SHOWN * self.sigma)
        self.curvature = np.where(shown, bend / h**2, self.curvature)
        known = self.curvature > 0
        self.steps = np.where(whole & ~known, np.minimum(3 * h, LONGEST), h)
        self.adapt(known)
        return np.where(np.isfinite(slopes), slopes, 0.0)

    def adapt(self, known: Mask) -> None:
        """Set the lengths of differences along axes of known curvature."""
        best = 2 * np.sqrt(self.sigma / np.where(known, self.curvature, 1.0))
        adapted = np.clip(best, self.steps / 10, np.minimum(4 * self.steps, 0.5))
        self.steps = np.where(known, adapted, self.steps)

    def diagonal(self) -> Vector | None:
        """Return an inverse Hessian from the second differences, if most of them were seen."""
        known = self.curvature > 0
        if 2 * int(known.sum()) <= known.size:
            return None
        typical = float(np.median(self.curvature[known]))
        return np.diag(1 / np.where(known, self.curvature, typical))


def minimize_with_differences(
    values: Values,
    start: Vector,
    value: float,
    support: Indices,
    *,
    sigma: float,
    length: float,
    patience: int,
    curvature: Vector | None = None,
) -> Steps[NoisySolve]:
    """Minimize over ``support`` from ``start`` (its entries there), with at most ``patience`` values.

    ``length`` is that of differences along axes of unknown ``curvature`` (0).
    """
    low, high, p = values.low[support], values.high[support], support.size
    differences = _Differences(
        values=values,
        support=support,
        low=low,
        high=high,
        sigma=sigma,
        steps=np.full(p, length),
        curvature=np.zeros(p) if curvature is None else curvature.copy(),
    )
    differences.adapt(differences.curvature > 0)
    z, limit = start.copy(), values.left() - patience
    inverse: Vector | None = None
    if values.affordable(2 * p + 2) < 2 * p + 2:
        return NoisySolve(z=z, value=value, inverse=None, curvature=differences.curvature)
    g = yield from differences.slopes(z, value)
    inverse = differences.diagonal()
    first, stalls = float(np.linalg.norm(g)), 0
    for _ in range(STEPS):
        if values.left() - 2 * p - TRIALS < max(limit, 0):
            break
        held = ((z <= low) & (g > 0)) | ((z >= high) & (g < 0))
        free = np.where(held, 0.0, g)
        if not free.any():
            break
        step = _direction(z, free, held, inverse, bounded=not values.unbounded)
        slope = float(step @ g)
        if slope >= 0:
            inverse = None
            stalls += 1
            if stalls > 1:
                break
            continue
        if inverse is not None and -slope / 2 < PROMISE * sigma:
            break
        new, lower = yield from _line_search(values, support, z, value, step, slope)
        if not lower < value - 2 * sigma:
            if stalls >= (2 if inverse is not None else 1):
                break
            stalls += 1
            differences.steps = np.minimum(2 * differences.steps, LONGEST)
            g = yield from differences.slopes(z, value)
            inverse = differences.diagonal() if stalls == 1 else None
            continue
        after = yield from differences.slopes(new, lower)
        inverse = _update(inverse, new - z, after - g)
        z, value, g = new, lower, after
        if float(np.linalg.norm(g)) <= ACCURACY * first:
            break
    return NoisySolve(z=z, value=value, inverse=inverse, curvature=differences.curvature)


def _direction(
    z: Vector, slopes: Vector, held: Vector, inverse: Vector | None, *, bounded: bool
) -> Vector:
    size = max(1.0, float(np.abs(z).max())) * (0.5 if bounded else 1.0)
    step = -slopes if inverse is None else np.where(held, 0.0, -(inverse @ slopes))
    longest = float(np.abs(step).max())
    return step * size / longest if inverse is None or longest > 2 * size else step


def _line_search(
    values: Values, support: Indices, z: Vector, value: float, step: Vector, slope: float
) -> Steps[tuple[Vector, float]]:
    """Follow a parabola through the first value, its slope and the newest value."""
    low, high = values.low[support], values.high[support]
    best, lowest, length = z, value, 1.0
    for _ in range(TRIALS):
        trial = np.clip(z + length * step, low, high)
        found = float((yield from values.sparse_at(trial[np.newaxis], support))[0])
        good = found < value + 1e-4 * length * slope
        if found < lowest:
            best, lowest = trial, found
        elif good or lowest < value:
            break
        bend = 2 * (found - value - length * slope)
        wanted = -slope * length**2 / bend if bend > 0 else 10 * length
        wanted = length / 10 if not math.isfinite(found) else wanted
        wanted = min(max(wanted, length / 10), 10 * length)
        if good and abs(wanted / length - 1) < 1 / 3:
            break
        length = wanted
    return best, lowest


def _update(inverse: Vector | None, step: Vector, change: Vector) -> Vector | None:
    """Return the BFGS update of the inverse Hessian."""
    product = float(step @ change)
    if product <= 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    identity = np.eye(step.size)
    if inverse is None:
        inverse = identity * product / float(change @ change)
    left = identity - np.outer(step, change) / product
    return np.asarray(left @ inverse @ left.T + np.outer(step, step) / product)
