"""Minimize over a few coordinates of a set by models of f: sequential quadratic programming."""

import enum
import math
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import ROUNDING, Curvature, EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.goal import ARMIJO, Goal, Solution
from szoht.algorithms.auto.sensing.axis_slopes import axis_slopes
from szoht.algorithms.auto.structure import Structure
from szoht.types import Indices, Vector

__all__ = ["minimize_by_models"]

STEP_TRIALS = 8
"""Steps that are tried, each shorter than the one before, before a solve ends."""

LEAST_SHARE = 0.2
"""Of the curvature that the model predicts: a step that shows less is damped (Powell 1978)."""


KINK_SHARE = 1e-3
"""Of all that was gained so far: a step that promises more and gains nothing is at a kink."""


MODEL_ERROR = 0.1
"""A change that differs from what a model promised by less than this share shows it to be right."""

CHOICES = 4
"""How often a solve may choose anew which of its weights are zero, and which are not small."""


class _Lengths(enum.Enum):
    SHORT = "one-sided differences that balance rounding and curvature"
    CENTRAL = "two-sided ones, some times longer"
    LONG = "one-sided ones that reach beyond kinks"


class _Face(NamedTuple):
    context: SearchContext
    noise: NoiseModel
    support: Indices
    feasible: bool

    @property
    def structure(self) -> Structure:
        """The constraint."""
        return self.context.structure

    def at(self, weights: Vector) -> Steps[EvaluatedPoint]:
        """Measure f; infinite where it fails."""
        z = np.zeros(self.structure.d)
        z[self.support] = weights
        z = self.structure.clip(z)
        # of many weights most may vanish, so that the others may be an answer
        point = yield from self.context.point(z)
        return point if math.isfinite(point.value) else EvaluatedPoint(z, math.inf)

    def best_step(self, point: EvaluatedPoint, slopes: Vector, hessian: Vector) -> Vector:
        """Return the step that minimizes a model over the set."""
        return self.structure.best_step(point.z, self.support, slopes, hessian, fits=self.feasible)


class _Model(NamedTuple):
    """Where a solve stands: the slopes there, and the Hessian, None before the first step.

    ``settled`` if there is no hope to get below the goal, or nothing that is not known already.
    """

    point: EvaluatedPoint
    slopes: Vector
    hessian: Vector | None
    settled: bool = False


def minimize_by_models(
    context: SearchContext,
    start: EvaluatedPoint,
    support: Indices,
    noise: NoiseModel,
    goal: Goal,
    *,
    slopes: Vector | None = None,
    curvature: Curvature | None = None,
) -> Steps[Solution]:
    """Minimize over the coordinates ``support``; arguments and result are those of `minimize_on`.

    Each step minimizes a quadratic model over all points of the set there: weights that are not
    negative and sum to one, so that many of them can vanish at once, or points of a convex set.
    Where weights must not be small, they may be until a solve has ended; then the model tells which
    of them are better zero, and the others are solved for again.
    """
    structure = context.structure
    everything = np.union1d(support, start.support)
    if everything.size > support.size:  # what the others weigh must be able to change
        support, slopes = everything, None
        curvature = None if curvature is None else curvature.transfer(support)
    face = _Face(context, noise, support, structure.fits(support))
    point = EvaluatedPoint(structure.clip(start.z), start.value)
    hessian = None if curvature is None else _inverted(curvature.inverse)
    if slopes is None:
        slopes = yield from _slopes(face, point, hessian, _Lengths.SHORT)
    model = yield from _descend(face, _Model(point, slopes, hessian), goal)
    for _ in range(CHOICES * structure.gaps):
        if model.settled or not face.feasible:
            break
        chosen = yield from _chosen(face, model)
        if chosen is None:
            break
        face, model = chosen
        if model.settled or not face.support.size:
            break
        model = yield from _descend(face, model, goal)
    if model.hessian is None or not face.support.size:
        return Solution(model.point, None)
    return Solution(model.point, Curvature(face.support, _inverted(model.hessian)))


def _chosen(face: _Face, model: _Model) -> Steps[tuple[_Face, _Model] | None]:
    """Go where the model is least over the set, if that is elsewhere, and better or needed."""
    point, structure = model.point, face.structure
    # before the first step the model has a slope, and a curvature that leads nowhere far
    hessian = np.eye(face.support.size) if model.hessian is None else model.hessian
    weights = structure.best_choice(point.z, face.support, model.slopes, hessian)
    if weights is None or np.array_equal(weights, point.z[face.support]):
        return None
    trial = yield from face.at(weights)
    if structure.contains(point.z) and not trial.value < point.value:
        return None
    support, kept = face.support, np.flatnonzero(trial.z[face.support])
    face = face._replace(support=support[kept])
    if not kept.size:
        return face, _Model(trial, np.empty(0), None)
    matrix = None if model.hessian is None else model.hessian[np.ix_(kept, kept)]
    step = (trial.z - point.z)[support]
    promised = float(model.slopes @ step + 0.5 * step @ hessian @ step)
    if abs(trial.value - point.value - promised) <= MODEL_ERROR * abs(promised):
        # where the model is right, so is its minimum
        slopes = (model.slopes + hessian @ step)[kept]
        return face, _Model(trial, slopes, matrix, settled=True)
    slopes = yield from _slopes(face, trial, matrix, _Lengths.SHORT)
    return face, _Model(trial, slopes, matrix)


def _descend(face: _Face, model: _Model, goal: Goal) -> Steps[_Model]:
    """Take steps until the goal is reached or nothing is gained."""
    context, policy = face.context, face.context.policy
    point, slopes, hessian, hopeless = model
    first, lengths = math.inf, _Lengths.SHORT
    for number in range(goal.steps):
        guess = _first_model(face, point, slopes) if hessian is None else hessian
        step = face.best_step(point, slopes, guess)
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
            change = (moved.z - point.z)[face.support]
            hessian = _updated(hessian, change, _centered(face, moved, after - slopes))
        point, slopes = moved, after
        if not stalled and -slope <= goal.accuracy**2 * first:
            break
    return _Model(point, slopes, hessian, hopeless)


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
    """Measure slopes along all axes; but for one where they add up to zero if weighted."""
    noise, context, support = face.noise, face.context, face.support
    weights = face.structure.centering(point.z)
    last = -1 if weights is None else int(np.argmax(weights[support]))
    others = np.arange(support.size)
    others = others if weights is None else np.delete(others, last)
    steps = np.full(others.size, noise.axis_step)
    if hessian is not None and noise.axis_step < context.policy.long_difference:
        rounding = ROUNDING * abs(point.value)
        curved = np.maximum(np.diag(hessian)[others], 1e-300)
        steps = np.clip(2 * np.sqrt(rounding / curved), steps, 1e4 * steps)
    if lengths is _Lengths.CENTRAL:
        steps = steps * context.policy.central_factor
    if lengths is _Lengths.LONG:
        steps = np.maximum(steps, context.policy.flat_step)
    slopes = np.zeros(support.size)
    slopes[others] = yield from axis_slopes(
        context,
        point,
        support[others],
        noise,
        steps=np.minimum(steps, 0.5),
        central=lengths is _Lengths.CENTRAL,
    )
    if weights is not None:
        own = weights[support]
        slopes[last] = -float(own[others] @ slopes[others]) / float(own[last])
    return slopes


def _first_model(face: _Face, point: EvaluatedPoint, slopes: Vector) -> Vector:
    """Return a curvature at which the slopes lead about as far as a first step is to go."""
    structure, policy = face.structure, face.context.policy
    own = point.z[face.support]
    length = max(1.0, float(np.abs(own).max()))
    if structure.has_units:
        length = policy.first_step_box
    together = structure.centering(point.z) is not None
    spread = float(np.ptp(slopes) if together else np.abs(slopes).max())
    return np.eye(slopes.size) * max(spread / length, 1e-300)


def _centered(face: _Face, point: EvaluatedPoint, change: Vector) -> Vector:
    """Return a change of slopes without what they have in common if they are known up to it."""
    if face.structure.centering(point.z) is None:
        return change
    return np.asarray(change - change.mean())


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
    weights = point.z[support] + face.best_step(point, slopes, hessian)
    trial = yield from face.at(weights)
    return (trial if trial.value < moved.value else moved), hessian


def _updated(hessian: Vector, step: Vector, change: Vector) -> Vector:
    """Return the damped BFGS Hessian (Nocedal and Wright, Numerical Optimization, 18.16)."""
    image = hessian @ step
    curved, seen = float(step @ image), float(step @ change)
    if not curved > 0:
        return hessian
    share = 1.0 if seen >= LEAST_SHARE * curved else (1 - LEAST_SHARE) * curved / (curved - seen)
    damped = share * change + (1 - share) * image
    updated = hessian - np.outer(image, image) / curved
    updated = updated + np.outer(damped, damped) / float(step @ damped)
    return np.asarray(updated) if np.isfinite(updated).all() else hessian
