"""Minimize over a few coordinates: projected BFGS with differences along the axes."""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.curvatures import axis_curvatures
from szoht.algorithms.auto.records import (
    Curvature,
    EvaluatedPoint,
    NoiseModel,
    Steps,
    schur_complement,
)
from szoht.algorithms.auto.restricted.face import Face
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.restricted.line_search import (
    MAX_UNITS,
    RestrictedProblem,
    difference_lengths,
    in_steps,
    line_search,
    moved_by,
)
from szoht.algorithms.auto.restricted.pattern_search import sweep
from szoht.algorithms.auto.restricted.sqp import minimize_by_models
from szoht.algorithms.auto.sensing.axis_slopes import axis_slopes
from szoht.types import Indices, Mask, Vector

__all__ = ["minimize_in_box", "minimize_on"]


def minimize_on(  # noqa: C901, PLR0912  (one loop, read from top to bottom)
    context: SearchContext,
    start: EvaluatedPoint,
    support: Indices,
    noise: NoiseModel,
    goal: Goal,
    *,
    slopes: Vector | None = None,
    curvature: Curvature | None = None,
) -> Steps[Solution]:
    """Run BFGS on the coordinates ``support`` (sorted), one difference per coordinate and step.

    ``slopes`` is the gradient at the start, if known, ``curvature`` a guess of the inverse Hessian.
    Coordinates at a bound that the gradient pushes against are left there, and the inverse Hessian
    is reduced to the others. A trial that fails is a trial that went too far.
    """
    structure = context.structure
    if structure.by_models(start.z):
        return (
            yield from minimize_by_models(
                context, start, support, noise, goal, slopes=slopes, curvature=curvature
            )
        )
    feasible = structure.fits(support)
    problem = RestrictedProblem(
        context, noise, support, structure.low[support], structure.high[support], feasible
    )
    point, central, stay = start, False, None
    inverse = None if curvature is None else curvature.inverse
    if slopes is None:
        slopes = yield from _gradient(problem, point, inverse, central=False)
    if inverse is None and goal.unequal and _needs_diagonal(problem, slopes):
        inverse = yield from _diagonal(problem, point, slopes)
    first = float(np.linalg.norm(slopes))
    for step in range(goal.steps):
        direction = _direction(problem, point, slopes, inverse)
        if not structure.is_within(moved_by(problem, point, direction)):
            return (yield from _by_models(problem, point, goal, slopes=slopes, inverse=inverse))
        slope = float(direction @ slopes)
        judged = inverse is not None and (step > 0 or not goal.patient)
        hopeless = point.value + context.policy.hope * slope > goal.value > -math.inf
        if not slope < 0 or (judged and hopeless):
            moved = point
        else:
            moved = yield from line_search(
                problem, point, direction, slope, inverse=inverse, central=central
            )
        stalled = not point.value - moved.value > 1e-9 * abs(point.value) * goal.thorough
        if stalled and not moved.value < point.value and not (goal.thorough and not central):
            break
        if stalled and goal.thorough and not central and not (judged and hopeless):
            central, point = True, moved  # keep the curvature, measure better
            slopes = yield from _gradient(problem, point, inverse, central=True)
            continue
        if not moved.value < point.value:
            break
        short = float(np.abs(moved.z - point.z).max()) < context.policy.short_step_box
        few = context.left < context.policy.long_steps_left * support.size
        if inverse is None and (short or few) and goal.long_steps and feasible:
            far = yield from _long_steps(problem, moved, slopes)
            if far.value < moved.value:
                point = far
                slopes = yield from _gradient(problem, point, None, central=False)
                continue
        scale = point.value if context.speculation.active else moved.value
        after = yield from _gradient(problem, moved, inverse, central=central, value=scale)
        inverse = _updated(inverse, (moved.z - point.z)[support], after - slopes)
        point, slopes = moved, after
        accurate = _accuracy(problem, point, slopes) <= goal.accuracy * first
        before, stay = stay, _staying(problem, point, inverse) if goal.settled else None
        settled = step >= context.policy.steps_wide - 1 and _are_equal(before, stay)
        if accurate or settled or np.abs(point.z[support]).max() > MAX_UNITS:
            break
    hopeless = point.value >= goal.value > -math.inf
    if structure.gaps and feasible and not hopeless and not structure.contains(point.z):
        return (yield from _by_models(problem, point, goal, slopes=slopes, inverse=inverse))
    return Solution(point, None if inverse is None else Curvature(support, inverse))


def _staying(
    problem: RestrictedProblem, point: EvaluatedPoint, inverse: Vector | None
) -> Indices | None:
    """Return the coordinates of the atoms that pruning would keep; None without a curvature."""
    if inverse is None:
        return None
    structure = problem.context.structure
    curvature = Curvature(problem.support, inverse)
    return structure.active(structure.prune(point.z, curvature, structure.size))


def _are_equal(before: Indices | None, after: Indices | None) -> bool:
    return before is not None and after is not None and np.array_equal(before, after)


def _accuracy(problem: RestrictedProblem, point: EvaluatedPoint, slopes: Vector) -> float:
    """Return the size of the gradient of the coordinates that are free."""
    return float(np.linalg.norm(slopes[~_stuck(problem, point, slopes)]))


def _by_models(
    problem: RestrictedProblem,
    point: EvaluatedPoint,
    goal: Goal,
    *,
    slopes: Vector,
    inverse: Vector | None,
) -> Steps[Solution]:
    """Go on where bounds are not enough: at the border of a convex set, or with small entries."""
    return (
        yield from minimize_by_models(
            problem.context,
            point,
            problem.support,
            problem.noise,
            goal,
            slopes=slopes,
            curvature=None if inverse is None else Curvature(problem.support, inverse),
        )
    )


def _long_steps(
    problem: RestrictedProblem, point: EvaluatedPoint, slopes: Vector
) -> Steps[EvaluatedPoint]:
    """Try each coordinate by shares of the box, downhill first: a local minimum may be near."""
    if not np.isfinite(problem.high - problem.low).all():
        return point
    face = Face(problem.context, problem.support)
    unit = problem.high - problem.low
    lengths = problem.context.policy.long_steps_box
    return face.point((yield from sweep(face, face.local(point), lengths, unit, -np.sign(slopes))))


def minimize_in_box(
    context: SearchContext,
    start: EvaluatedPoint,
    support: Indices,
    noise: NoiseModel,
    goal: Goal,
    *,
    slopes: Vector | None = None,
    curvature: Curvature | None = None,
) -> Steps[Solution]:
    """Run `minimize_on`; in a finite box, go on from where long steps along the axes gain.

    A box says how far a minimum can be, so that other minima are worth a few queries.
    """
    structure = context.structure
    low, high = structure.low[support], structure.high[support]
    finite = bool(np.isfinite(high - low).all()) and not structure.sums_to_one
    goal = replace(goal, long_steps=finite)
    problem = RestrictedProblem(context, noise, support, low, high, feasible=True)
    solution = yield from minimize_on(
        context, start, support, noise, goal, slopes=slopes, curvature=curvature
    )
    while finite and solution.point.value < goal.value:
        before = solution.point
        far = yield from _long_steps(problem, before, np.zeros(support.size))
        if not before.value - far.value > 1e-3 * abs(context.first_value - far.value):
            break
        solution = yield from minimize_on(context, far, support, noise, goal)
    return solution


def _gradient(
    problem: RestrictedProblem,
    point: EvaluatedPoint,
    inverse: Vector | None,
    *,
    central: bool,
    value: float | None = None,
) -> Steps[Vector]:
    """Measure the gradient over lengths that balance rounding and what is known of curvature."""
    noise, policy = problem.noise, problem.context.policy
    if in_steps(problem):
        return (
            yield from axis_slopes(problem.context, point, problem.support, noise, central=True)
        )
    steps = difference_lengths(problem, point.value if value is None else value, inverse)
    if central:
        steps = steps * policy.central_factor
    return (
        yield from axis_slopes(
            problem.context, point, problem.support, noise, steps=steps, central=central
        )
    )


def _stuck(problem: RestrictedProblem, point: EvaluatedPoint, slopes: Vector) -> Mask:
    """Tell which coordinates are at a bound and pushed against it."""
    z = point.z[problem.support]
    stuck: Mask = ((z <= problem.low) & (slopes > 0)) | ((z >= problem.high) & (slopes < 0))
    return stuck


def _direction(
    problem: RestrictedProblem, point: EvaluatedPoint, slopes: Vector, inverse: Vector | None
) -> Vector:
    """Return the quasi-Newton step of the coordinates that are free, or the first step."""
    free = np.flatnonzero(~_stuck(problem, point, slopes))
    direction = np.zeros(slopes.size)
    if free.size == 0 or not slopes[free].any():
        return direction
    if inverse is None:
        structure, policy = problem.context.structure, problem.context.policy
        length = max(1.0, float(np.abs(point.z[problem.support]).max()))
        if structure.has_units:
            length = policy.first_step_box
        direction[free] = -slopes[free] * (length / float(np.abs(slopes[free]).max()))
        return direction
    direction[free] = -(schur_complement(inverse, free) @ slopes[free])
    if direction @ slopes >= 0:
        direction[free] = -slopes[free] * np.diag(inverse)[free]
    return direction


def _updated(inverse: Vector | None, step: Vector, change: Vector) -> Vector | None:
    """Return the BFGS inverse Hessian (Nocedal and Wright, Numerical Optimization, 6.17)."""
    product = float(step @ change)
    size = float(np.linalg.norm(step) * np.linalg.norm(change))
    if not product > 1e-10 * size or not math.isfinite(size):
        return inverse
    if inverse is None:
        inverse = np.eye(step.size) * (product / float(change @ change))  # (6.20)
    image = inverse @ change
    scale = 1 + float(change @ image) / product
    cross = np.outer(image, step)
    updated = inverse + (scale * np.outer(step, step) - cross - cross.T) / product
    sound = np.isfinite(updated).all() and (np.diag(updated) > 0).all()
    return np.asarray(updated) if sound else inverse


def _needs_diagonal(problem: RestrictedProblem, slopes: Vector) -> bool:
    """Tell whether slopes are so unequal that units must differ, where they are not known."""
    if problem.context.structure.has_units or problem.noise.curvature == 0:
        return False
    sizes = np.abs(slopes[slopes != 0])
    spread = problem.context.policy.slope_spread
    return sizes.size > 1 and bool(sizes.max() > spread * sizes.min())


def _diagonal(
    problem: RestrictedProblem, point: EvaluatedPoint, slopes: Vector
) -> Steps[Vector | None]:
    """Return the inverse of the curvatures along the axes, as a matrix."""
    curvatures = yield from axis_curvatures(
        problem.context, point, problem.support, slopes, problem.noise
    )
    return None if curvatures is None else np.diag(1 / curvatures)
