"""BFGS on few coordinates from values with a small error, by central differences.

The difference length balances noise and curvature (Moré and Wild 2012, ACM TOMS 38), the solve ends
where the model promises no more than the noise can hide (Berahas, Byrd, Nocedal 2019).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import Steps
from szoht.types import Indices, Mask, Vector

__all__ = ["NoisySolve", "minimize_with_differences"]

MAX_STEPS, MAX_LINE_TRIALS = 20, 8
"""A solve that needs more is going nowhere: noise ends nearly all before."""


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

    @property
    def longest(self) -> float:
        """The longest difference along an axis whose curvature is unknown."""
        return 4 * self.values.policy.noise.short_probe

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
        shown = whole & (bend > self.values.policy.noise.standard_errors_sure * self.sigma)
        self.curvature = np.where(shown, bend / h**2, self.curvature)
        known = self.curvature > 0
        self.steps = np.where(whole & ~known, np.minimum(3 * h, self.longest), h)
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
    curvature: Vector,
) -> Steps[NoisySolve]:
    """Minimize over ``support`` from ``start`` (its entries there), within ``patience`` values.

    ``length`` is that of differences along axes whose ``curvature`` is unknown (0).
    """
    p, limit = support.size, max(values.left() - patience, 0)
    differences = _Differences(
        values=values,
        support=support,
        low=values.low[support],
        high=values.high[support],
        sigma=sigma,
        steps=np.full(p, length),
        curvature=curvature.copy(),
    )
    solve = _BfgsSolve(differences=differences, z=start.copy(), value=value)
    if values.affordable(2 * p + 2) == 2 * p + 2:
        yield from solve.begin()
        for _ in range(MAX_STEPS):
            if values.left() - 2 * p - MAX_LINE_TRIALS < limit or not (yield from solve.step()):
                break
    return NoisySolve(
        z=solve.z, value=solve.value, inverse=solve.inverse, curvature=differences.curvature
    )


@dataclass(kw_only=True, eq=False)
class _BfgsSolve:
    """A solve in progress: the point, its slopes, the inverse Hessian."""

    differences: _Differences
    z: Vector
    value: float
    slopes: Vector = field(init=False)
    inverse: Vector | None = None
    first: float = 0.0
    stalls: int = 0

    def begin(self) -> Steps[None]:
        """Measure the slopes and the curvature along the axes."""
        self.differences.adapt(self.differences.curvature > 0)
        self.slopes = yield from self.differences.slopes(self.z, self.value)
        self.inverse = self.differences.diagonal()
        self.first = float(np.linalg.norm(self.slopes))

    def step(self) -> Steps[bool]:
        """Take a step; tell whether to go on."""
        on, g = self.differences, self.slopes
        held = ((self.z <= on.low) & (g > 0)) | ((self.z >= on.high) & (g < 0))
        if held.all() or not g[~held].any():
            return False
        step = self._direction(np.where(held, 0.0, g), held)
        slope = float(step @ g)
        if slope >= 0:
            self.inverse, self.stalls = None, self.stalls + 1
            return self.stalls == 1
        if (
            self.inverse is not None
            and -slope / 2 < on.values.policy.noise.standard_errors * on.sigma
        ):
            return False
        z, value = yield from _line_search(on, (self.z, self.value), step, slope)
        if not value < self.value - 2 * on.sigma:
            return (yield from self._stall())
        after = yield from on.slopes(z, value)
        self.inverse = _update(self.inverse, z - self.z, after - g)
        self.z, self.value, self.slopes = z, value, after
        return float(np.linalg.norm(after)) > 1e-4 * self.first  # all digits that noise leaves

    def _stall(self) -> Steps[bool]:
        """Measure again over longer differences, with less and less belief in the curvature."""
        if self.stalls >= (2 if self.inverse is not None else 1):
            return False
        self.stalls += 1
        self.differences.steps = np.minimum(2 * self.differences.steps, self.differences.longest)
        self.slopes = yield from self.differences.slopes(self.z, self.value)
        self.inverse = self.differences.diagonal() if self.stalls == 1 else None
        return True

    def _direction(self, slopes: Vector, held: Mask) -> Vector:
        bounded = not self.differences.values.unbounded
        size = max(1.0, float(np.abs(self.z).max())) * (0.5 if bounded else 1.0)
        step = -slopes if self.inverse is None else np.where(held, 0.0, -(self.inverse @ slopes))
        longest = float(np.abs(step).max())
        shorten = self.inverse is None or longest > 2 * size
        return step * size / max(longest, 1e-300) if shorten else step


def _line_search(
    on: _Differences, start: tuple[Vector, float], step: Vector, slope: float
) -> Steps[tuple[Vector, float]]:
    """Follow a parabola through the first value, its slope and the newest value."""
    z, value = start
    best, lowest, length = z, value, 1.0
    for _ in range(MAX_LINE_TRIALS):
        trial = np.clip(z + length * step, on.low, on.high)
        found = float((yield from on.values.sparse_at(trial[np.newaxis], on.support))[0])
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
