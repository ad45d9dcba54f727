"""Slopes along single axes."""

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.types import Indices, Vector

__all__ = ["axis_slopes", "slope_points"]


def axis_steps(context: SearchContext, z: Vector, support: Indices, steps: Vector) -> Vector:
    """Return signed steps along axes that stay inside: upwards where there is room for it."""
    structure = context.structure
    above, below = structure.high[support] - z[support], z[support] - structure.low[support]
    up = (above >= 2 * steps) | (above >= below)
    room = 0.5 * np.where(up, above, below)
    signed = np.where(up, 1.0, -1.0) * np.minimum(steps, room)
    # what is added is what was meant: a step that rounding changes would spoil the quotient
    return np.asarray((z[support] + signed) - z[support]) if structure.unit is None else signed


def axis_slopes(
    context: SearchContext,
    point: EvaluatedPoint,
    support: Indices,
    noise: NoiseModel,
    *,
    steps: Vector | None = None,
    central: bool = False,
) -> Steps[Vector]:
    """Measure slopes along axes, one query each, or two if ``central``; failed ones are zero.

    A gradient, where the objective has one, gives all of them at once.
    """
    if context.gradients and noise.axis_step < context.policy.long_difference:
        gradient = yield from context.gradient_at(point)
        if gradient is not None:
            return np.asarray(gradient[support])
    if steps is None:
        steps = np.full(support.size, noise.axis_step)
    point = yield from _inside(context, point, float(np.max(steps, initial=0.0)))
    signed = axis_steps(context, point.z, support, steps)
    if not central:
        changes = yield from context.axis_differences(point, support, signed)
        return _quotient(changes, signed)
    structure = context.structure
    low, high = structure.low[support], structure.high[support]
    back = np.clip(point.z[support] - signed, low, high) - point.z[support]
    both = yield from context.axis_differences(
        point, np.append(support, support), np.append(signed, back)
    )
    there, other = np.split(both, 2)
    # the parabola through three points; a plain quotient where one of them failed or is missing
    two_sided = (there * back**2 - other * signed**2) / np.where(
        back == 0, 1.0, signed * back * (back - signed)
    )
    plain = _quotient(there, signed)
    return np.where((back != 0) & np.isfinite(two_sided), two_sided, plain)


def _inside(context: SearchContext, point: EvaluatedPoint, length: float) -> Steps[EvaluatedPoint]:
    """Return the point, or one beside it from which steps stay inside a convex set."""
    z = context.structure.inside(point.z, length)
    return point if z is point.z else EvaluatedPoint(z, (yield from context.value(z)))


def slope_points(
    context: SearchContext, z: Vector, support: Indices, steps: Vector
) -> list[Vector]:
    """Return the points that `axis_slopes` would ask around a point, in the user's coordinates."""
    return context.points_along_axes(z, support, axis_steps(context, z, support, steps))


def _quotient(changes: Vector, steps: Vector) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = changes / steps
    return np.where(np.isfinite(slopes), slopes, 0.0)
