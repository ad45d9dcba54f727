"""Line search along a projected path, over a few coordinates."""

import math
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import ROUNDING, EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.goal import ARMIJO
from szoht.algorithms.auto.sensing.axis_slopes import slope_points
from szoht.types import Indices, Vector

__all__ = [
    "MAX_STEP_GROWTH",
    "MAX_TRIALS",
    "MAX_UNITS",
    "RestrictedProblem",
    "difference_lengths",
    "in_steps",
    "line_search",
    "moved_by",
    "parabola",
]

MAX_STEP_GROWTH = 10.0
MAX_TRIALS = 10

MAX_UNITS = 1e9
"""A point this many units away, with f still falling, has left every reasonable range."""


class RestrictedProblem(NamedTuple):
    """Some coordinates, their bounds, and whether points on all of them are answers."""

    context: SearchContext
    noise: NoiseModel
    support: Indices
    low: Vector
    high: Vector
    feasible: bool


def line_search(
    problem: RestrictedProblem,
    point: EvaluatedPoint,
    direction: Vector,
    slope: float,
    *,
    inverse: Vector | None,
    central: bool,
) -> Steps[EvaluatedPoint]:
    """Follow parabolas through f, its slope and the last trial, along the projected path."""
    length = last = _room(problem, point, direction)
    length, best = min(1.0, length), point
    for _ in range(MAX_TRIALS):
        _propose_gradient(problem, point, length * direction, inverse, central=central)
        trial = yield from _trial(problem, point, length * direction)
        good = trial.value < point.value + ARMIJO * length * slope
        if trial.value < best.value:
            best = trial
        elif good or best.value < point.value:
            break
        better = parabola(point.value, slope, length, trial.value)
        better = min(max(better, length / MAX_STEP_GROWTH), MAX_STEP_GROWTH * length, last)
        # the trial sits where its own parabola has its minimum, within a third: good enough
        if (good and abs(better / length - 1) < 1 / 3) or better == length:
            break
        length = better
    return best


def _propose_gradient(
    problem: RestrictedProblem,
    point: EvaluatedPoint,
    step: Vector,
    inverse: Vector | None,
    *,
    central: bool,
) -> None:
    """Let a wide plan measure the gradient at a trial as well, unless other lengths are likely."""
    context, n = problem.context, problem.support.size
    speculation = context.speculation
    if not speculation.active or central or in_steps(problem):
        return
    lengths = difference_lengths(problem, point.value, inverse)
    points = slope_points(context, moved_by(problem, point, step), problem.support, lengths)
    if inverse is not None and n < speculation.width:
        speculation.propose(wanted=points)
    else:
        speculation.propose(fitting=points)


def in_steps(problem: RestrictedProblem) -> bool:
    """Tell whether f changes in steps, so that differences are long and two-sided."""
    return problem.noise.axis_step >= problem.context.policy.long_difference


def difference_lengths(problem: RestrictedProblem, value: float, inverse: Vector | None) -> Vector:
    """Return lengths that balance the rounding of a value and what is known of curvature."""
    steps = np.full(problem.support.size, problem.noise.axis_step)
    if inverse is None:
        return steps
    balanced = 2 * np.sqrt(ROUNDING * abs(value) * np.maximum(np.diag(inverse), 0.0))
    return np.asarray(np.clip(balanced, steps, 1e4 * steps))


def moved_by(problem: RestrictedProblem, point: EvaluatedPoint, step: Vector) -> Vector:
    """Return the point after a step, within the bounds."""
    z = point.z.copy()
    step = np.clip(step, -MAX_UNITS * MAX_STEP_GROWTH, MAX_UNITS * MAX_STEP_GROWTH)
    z[problem.support] = np.clip(z[problem.support] + step, problem.low, problem.high)
    return z


def _trial(
    problem: RestrictedProblem, point: EvaluatedPoint, step: Vector
) -> Steps[EvaluatedPoint]:
    structure, z = problem.context.structure, moved_by(problem, point, step)
    z = z if structure.is_within(z) else structure.clip(z)
    if problem.feasible:
        return (yield from problem.context.point(z))
    return EvaluatedPoint(z, (yield from problem.context.value(z)))


def _room(problem: RestrictedProblem, point: EvaluatedPoint, direction: Vector) -> float:
    """Return the length at which the whole step has left the box: nothing changes beyond."""
    moving = direction != 0
    z, step = point.z[problem.support][moving], direction[moving]
    bound = np.where(step > 0, problem.high[moving], problem.low[moving])
    with np.errstate(over="ignore"):
        room = (bound - z) / step
    return float(room.max(initial=0.0))


def parabola(value: float, slope: float, length: float, trial: float) -> float:
    """Return where the parabola through a value, its slope and a trial has its minimum."""
    if not math.isfinite(trial):
        return length / MAX_STEP_GROWTH
    curvature = 2 * (trial - value - length * slope)
    if not curvature > 0:
        return MAX_STEP_GROWTH * length
    return -slope * length / curvature * length
