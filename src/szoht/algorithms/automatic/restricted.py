"""Minimise over a few coordinates: quasi-Newton with differences along the axes."""

from typing import NamedTuple

import numpy as np

from szoht.algorithms.automatic.measure import Gauge, Point, Talk, axis_slopes, value_at
from szoht.algorithms.generator import SolverContext
from szoht.types import Indices, Vector

__all__ = ["Problem", "Solved", "conditional", "exchanged", "free_slopes", "minimise_on"]

ARMIJO = 1e-4
LONGEST = 10.0

HOPE = 3.0
"""How many times the decrease that the quadratic model promises a solve may still hope for."""


class Solved(NamedTuple):
    """Where a solve ended, and the inverse Hessian that it learnt, if any."""

    point: Point
    inverse: Vector | None


class Problem(NamedTuple):
    """The few coordinates, and their bounds."""

    context: SolverContext
    support: Indices
    low: Vector
    high: Vector


def minimise_on(
    context: SolverContext,
    start: Point,
    support: Indices,
    *,
    gauge: Gauge,
    steps: int,
    accuracy: float,
    bounds: tuple[Vector, Vector],
    slopes: Vector | None = None,
    inverse: Vector | None = None,
    goal: float = -np.inf,
    feasible: bool = True,
    patient: bool = False,
) -> Talk[Solved]:
    """Run BFGS on the coordinates ``support``, each gradient by one difference per coordinate.

    Stops after ``steps`` steps, when the gradient has shrunk to ``accuracy`` of the first, or when
    a step gains no more than the noise. ``slopes`` is the gradient at the start, if known, and
    ``inverse`` a guess of the inverse Hessian. With a ``goal``, stops as soon as the
    quadratic model leaves no hope to reach it, but if ``patient`` not before the first step.
    ``feasible`` says whether the points may be kept as solutions. Coordinates at a bound that the
    gradient pushes against are left there.
    """
    problem = Problem(context, support, *bounds)
    point = start
    if slopes is None:
        slopes = yield from axis_slopes(context, point, gauge, support)
    first = float(np.linalg.norm(slopes))
    for step in range(steps):
        free = free_slopes(problem, point.x, slopes)
        direction = -free if inverse is None else np.where(free != 0, -(inverse @ free), 0.0)
        slope = float(direction @ slopes)
        judged = inverse is not None and (step > 0 or not patient)
        hopeless = judged and point.value + HOPE * slope > goal > -np.inf
        if not slope < 0 or hopeless:
            break
        scale = _first_length(point, support, slopes) if inverse is None else 1.0
        moved = yield from _line_search(problem, point, scale * direction, slopes)
        if not moved.value < point.value - 2 * gauge.noise:
            break
        if feasible:
            context.note(moved.x, moved.value)
        after = yield from axis_slopes(context, moved, gauge, support)
        inverse = _update(inverse, (moved.x - point.x)[support], after - slopes)
        point, slopes = moved, after
        if np.linalg.norm(slopes) <= accuracy * first:
            break
    return Solved(point, inverse)


def free_slopes(problem: Problem, x: Vector, slopes: Vector) -> Vector:
    """Return the slopes of the coordinates that may follow them."""
    here = x[problem.support]
    stuck = ((here <= problem.low) & (slopes > 0)) | ((here >= problem.high) & (slopes < 0))
    return np.where(stuck, 0.0, slopes)


def _first_length(point: Point, support: Indices, slopes: Vector) -> float:
    """Start with a step as long as the point is large, or 1."""
    return max(1.0, float(np.abs(point.x[support]).max())) / float(np.abs(slopes).max())


def _line_search(problem: Problem, point: Point, step: Vector, slopes: Vector) -> Talk[Point]:
    """Follow parabolas through f(x), its slope and the last trial until one of them fits."""
    slope = float(slopes @ step)
    length, best = 1.0, point
    for _ in range(8):
        x = point.x.copy()
        x[problem.support] = np.clip(x[problem.support] + length * step, problem.low, problem.high)
        value = yield from value_at(problem.context, x)
        good = value < point.value + ARMIJO * length * slope
        if value < best.value:
            best = Point(x, value)
        elif good or best.value < point.value:
            return best
        curvature = 2 * (value - point.value - length * slope)
        better = -slope * length**2 / curvature if curvature > 0 else LONGEST * length
        if not np.isfinite(better):
            better = length / LONGEST
        better = min(max(better, length / LONGEST), LONGEST * length)
        # the trial sits where its own parabola has its minimum, within a third: good enough
        if good and abs(better / length - 1) < 1 / 3:
            return best
        length = better
    return best


def _update(inverse: Vector | None, step: Vector, change: Vector) -> Vector | None:
    """Return the BFGS inverse Hessian (Nocedal and Wright, Numerical Optimization, 6.17)."""
    product = float(step @ change)
    if product <= 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    identity = np.eye(step.size)
    if inverse is None:
        inverse = identity * (product / float(change @ change))  # (6.20)
    left = identity - np.outer(step, change) / product
    updated: Vector = left @ inverse @ left.T + np.outer(step, step) / product
    return updated


def exchanged(inverse: Vector, before: Indices, after: Indices) -> Vector:
    """Carry an inverse Hessian over to a support that shares most of its coordinates.

    New coordinates are taken to be as curved as the old ones are on average.
    """
    result = np.eye(after.size) * float(np.mean(np.diag(inverse)))
    _, old, new = np.intersect1d(before, after, return_indices=True)
    result[np.ix_(new, new)] = inverse[np.ix_(old, old)]
    return result


def conditional(inverse: Vector, keep: Indices) -> Vector:
    """Return the inverse Hessian of what is kept, the rest being fixed.

    With B the inverse Hessian of all, it is the Schur complement B_kk - B_kr B_rr^-1 B_rk.
    """
    rest = np.setdiff1d(np.arange(inverse.shape[0]), keep)
    across = inverse[np.ix_(keep, rest)]
    result: Vector = inverse[np.ix_(keep, keep)] - across @ np.linalg.solve(
        inverse[np.ix_(rest, rest)], across.T
    )
    return result
