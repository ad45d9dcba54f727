"""Minimize over a few weights that sum to one: sequential quadratic programming."""

import enum
import math
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import ROUNDING, Curvature, EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.goal import ARMIJO, Goal, Solution
from szoht.algorithms.auto.restricted.simplex_model import best_step
from szoht.algorithms.auto.sensing.axis_slopes import axis_slopes
from szoht.types import Indices, Vector

__all__ = ["minimize_weights"]

STEP_TRIALS = 8
"""Steps that are tried, each shorter than the one before, before a solve ends."""

LEAST_SHARE = 0.2
"""Of the curvature that the model predicts: a step that shows less is damped (Powell 1978)."""


KINK_SHARE = 1e-3
"""Of all that was gained so far: a step that promises more and gains nothing is at a kink."""


class _Lengths(enum.Enum):
    SHORT = "one-sided differences that balance rounding and curvature"
    CENTRAL = "two-sided ones, some times longer"
    LONG = "one-sided ones that reach beyond kinks"


class _Face(NamedTuple):
    context: SearchContext
    noise: NoiseModel
    support: Indices
    feasible: bool

    def at(self, weights: Vector) -> Steps[EvaluatedPoint]:
        """Measure f; infinite where it fails."""
        structure = self.context.structure
        z = np.zeros(structure.d)
        z[self.support] = weights
        z = structure.clip(z)
        if self.feasible:
            point = yield from self.context.point(z)
        else:
            point = EvaluatedPoint(z, (yield from self.context.value(z)))
        return point if math.isfinite(point.value) else EvaluatedPoint(z, math.inf)


def minimize_weights(  # noqa: C901  (one loop, read from top to bottom)
    context: SearchContext,
    start: EvaluatedPoint,
    support: Indices,
    noise: NoiseModel,
    goal: Goal,
    *,
    slopes: Vector | None = None,
    curvature: Curvature | None = None,
) -> Steps[Solution]:
    """Minimize over the weights ``support``; arguments and result are those of `minimize_on`.

    Each step minimizes a quadratic model over all weights that are not negative and sum to one, so
    that many of them can vanish at once, whichever they are.
    """
    structure, policy = context.structure, context.policy
    everything = np.union1d(support, start.support)
    if everything.size > support.size:  # what the others weigh must be able to change
        support, slopes = everything, None
        curvature = None if curvature is None else curvature.transfer(support)
    face = _Face(context, noise, support, structure.fits(support))
    point = EvaluatedPoint(structure.clip(start.z), start.value)
    hessian = None if curvature is None else _inverted(curvature.inverse)
    if slopes is None:
        slopes = yield from _slopes(face, point, hessian, _Lengths.SHORT)
    first, lengths = math.inf, _Lengths.SHORT
    for number in range(goal.steps):
        model = _first_model(slopes, policy.first_step_box) if hessian is None else hessian
        step = best_step(slopes, model, point.z[support])
        slope = float(slopes @ step)
        first = -slope if math.isinf(first) else first
        judged = hessian is not None and (number > 0 or not goal.patient)
        hopeless = judged and point.value + policy.hope * slope > goal.value > -math.inf
        moved = point
        if slope < 0 and not hopeless:
            moved = yield from _line_search(face, point, slopes, step)
            if hessian is None:
                moved, hessian = yield from _rescaled(face, point, moved, slopes)
        stalled = not point.value - moved.value > 1e-12 * abs(point.value)
        if stalled:
            point = moved if moved.value < point.value else point
            other = _other_lengths(context, goal, point, slope)
            if hopeless or lengths is not _Lengths.SHORT or other is _Lengths.SHORT:
                break
            lengths = other
        after = yield from _slopes(face, moved, hessian, lengths)
        if hessian is not None:
            hessian = _updated(hessian, (moved.z - point.z)[support], after - slopes)
        point, slopes = moved, after
        if not stalled and -slope <= goal.accuracy**2 * first:
            break
    if hessian is None:
        return Solution(point, None)
    return Solution(point, Curvature(support, _inverted(hessian)))


def _inverted(matrix: Vector) -> Vector:
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)


def _other_lengths(
    context: SearchContext, goal: Goal, point: EvaluatedPoint, slope: float
) -> _Lengths:
    """Return over which lengths to measure slopes where short ones stall: short ones if none.

    Where much was promised and nothing gained, f has a kink: slopes of what lies around it help.
    """
    gained = abs(context.first_value - point.value)
    if -slope > KINK_SHARE * gained:
        context.kinks = max(context.kinks, 1)
        return _Lengths.LONG
    return _Lengths.CENTRAL if goal.thorough else _Lengths.SHORT


def _slopes(
    face: _Face, point: EvaluatedPoint, hessian: Vector | None, lengths: _Lengths
) -> Steps[Vector]:
    """Measure slopes towards all vertices but one: weighted, they add up to zero."""
    noise, context = face.noise, face.context
    weights = point.z[face.support]
    last = int(np.argmax(weights))
    others = np.delete(np.arange(weights.size), last)
    steps = np.full(others.size, noise.axis_step)
    if hessian is not None and noise.axis_step < context.policy.long_difference:
        rounding = ROUNDING * abs(point.value)
        curved = np.maximum(np.diag(hessian)[others], 1e-300)
        steps = np.clip(2 * np.sqrt(rounding / curved), steps, 1e4 * steps)
    if lengths is _Lengths.CENTRAL:
        steps = steps * context.policy.central_factor
    if lengths is _Lengths.LONG:
        steps = np.maximum(steps, context.policy.flat_step)
    slopes = np.zeros(weights.size)
    slopes[others] = yield from axis_slopes(
        context,
        point,
        face.support[others],
        noise,
        steps=np.minimum(steps, 0.5),
        central=lengths is _Lengths.CENTRAL,
    )
    slopes[last] = -float(weights[others] @ slopes[others]) / float(weights[last])
    return slopes


def _first_model(slopes: Vector, length: float) -> Vector:
    """Return a curvature at which the slopes lead about as far as a first step is to go."""
    return np.eye(slopes.size) * max(float(np.ptp(slopes)) / length, 1e-300)


def _line_search(
    face: _Face, point: EvaluatedPoint, slopes: Vector, step: Vector
) -> Steps[EvaluatedPoint]:
    """Shorten a step until it gains: by a parabola through f, its slope and the trial."""
    weights, slope, length = point.z[face.support], float(slopes @ step), 1.0
    for _ in range(STEP_TRIALS):
        trial = yield from face.at(weights + length * step)
        if trial.value < point.value + ARMIJO * length * slope:
            return trial
        rise = trial.value - point.value - length * slope
        ratio = -slope * length / (2 * rise) if rise > 0 and math.isfinite(rise) else 0.1
        length *= min(max(ratio, 0.1), 0.5)
    return point


def _rescaled(
    face: _Face, point: EvaluatedPoint, moved: EvaluatedPoint, slopes: Vector
) -> Steps[tuple[EvaluatedPoint, Vector | None]]:
    """Read the curvature off the first step, and try where all weights would go with it."""
    support = face.support
    step = (moved.z - point.z)[support]
    bend = moved.value - point.value - float(slopes @ step)
    if not (step.any() and bend > 0):
        return moved, None
    hessian = np.eye(support.size) * (2 * bend / float(step @ step))
    weights = point.z[support] + best_step(slopes, hessian, point.z[support])
    trial = yield from face.at(weights)
    return (trial if trial.value < moved.value else moved), hessian


def _updated(hessian: Vector, step: Vector, change: Vector) -> Vector:
    """Return the damped BFGS Hessian (Nocedal and Wright, Numerical Optimization, 18.16).

    Slopes are known up to a constant, so their change is, too.
    """
    change = change - change.mean()
    image = hessian @ step
    curved, seen = float(step @ image), float(step @ change)
    if not curved > 0:
        return hessian
    share = 1.0 if seen >= LEAST_SHARE * curved else (1 - LEAST_SHARE) * curved / (curved - seen)
    damped = share * change + (1 - share) * image
    updated = hessian - np.outer(image, image) / curved
    updated = updated + np.outer(damped, damped) / float(step @ damped)
    return np.asarray(updated) if np.isfinite(updated).all() else hessian
