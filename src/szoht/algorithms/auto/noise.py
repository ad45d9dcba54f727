"""How far values can be trusted."""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import ROUNDING, EvaluatedPoint, NoiseModel, Steps
from szoht.core.repeats import same_value
from szoht.estimators.sensing.noise_test import (
    BETWEEN,
    LINE_STEPS,
    LONG_ROUGH_STEPS,
    LONGER_STEPS,
    REPEATS,
    ROUGH_STEPS,
    difference_noise,
    from_line,
    from_parabola,
    from_repeats,
    interpolates,
    is_smooth_beyond_doubt,
    mostly_equal,
    rough_at,
    with_longer_table,
)
from szoht.types import Vector

__all__ = ["check_roughness", "errs_less_nearby", "estimate_noise"]

SHORTEST_ROW = 1e-12
"""Of differences along dense directions: below that there is rounding only."""

CLEAN = 100.0
"""Neighboring values that err by fewer roundings than this do not err."""

SMOOTH = 1e-3
"""Third differences of smooth values over short steps, in second ones (of errors: about 1)."""

SPIKE, NEARBY = 4.0, 0.35
"""Of a pole: how far the highest value lies above the middle one, in units of how far the lowest
lies below it; and how far values over a tenth of the line differ, in errors seen over all of it."""

LESS, NEARER = 0.1, 0.1
"""Kinks look like an error that falls with the distance: over steps that are shorter by the second
factor, values err by less than the first one of what was taken for their error."""


def estimate_noise(context: SearchContext, start: EvaluatedPoint) -> Steps[NoiseModel]:
    """Judge values by asking one again, and along a short random line; 6 to 8 values.

    Sets ``context.outliers`` if single values are grossly wrong.
    """
    if context.left <= 1:
        return _with_steps(context, NoiseModel())
    again = yield from context.value(start.z)
    if math.isfinite(again) and not same_value(again, start.value):
        if context.left < REPEATS:
            return from_repeats(np.array([start.value, again]))
        more = yield from context.values([start.z] * REPEATS)
        values = np.array([start.value, again, *more[np.isfinite(more)]])
        common = mostly_equal(values)
        if common is None:
            noise = from_repeats(values)
            context.explain(f"{noise.describe()}.")
            return noise
        context.outliers = True
        start = EvaluatedPoint(start.z, common)
        context.forget()
        context.note(start)
    noise = yield from _judge_line(context, start)
    context.explain(f"{noise.describe()}.")
    return _with_steps(context, noise)


def _judge_line(context: SearchContext, start: EvaluatedPoint) -> Steps[NoiseModel]:
    """Judge the values along a line of random signs that points inward at bounds."""
    if context.left < LINE_STEPS.size:
        return NoiseModel()
    line, longer = _line(context, start.z)
    values = yield from context.values(line)
    if not np.isfinite(values).all():
        return NoiseModel()  # undefined next to the start: nothing is known
    noise = from_line(start.value, values)
    if noise.exact or noise.stepwise or context.outliers or context.left < 1:
        return replace(noise, outliers=context.outliers)
    # a fixed error gives the same value again, an outlier does not
    everything = np.array([start.value, *values])
    far = int(np.argmax(np.abs(everything - np.median(everything))))
    again = yield from context.value(start.z if far == 0 else line[far - 1])
    if same_value(again, everything[far]):
        return (yield from _judge_farther(context, start, noise, everything, longer))
    context.outliers = True
    start = EvaluatedPoint(start.z, (yield from context.value(start.z)))
    context.forget()
    context.note(start)
    return (yield from _judge_line(context, start))


def _judge_farther(
    context: SearchContext,
    start: EvaluatedPoint,
    noise: NoiseModel,
    values: Vector,
    longer: list[Vector],
) -> Steps[NoiseModel]:
    """Judge a fixed error from a second table; without one of neighbors, from a longer line."""
    if noise.sigma <= CLEAN * ROUNDING * float(np.abs(values).max()):
        # small units, a kink, or many of them
        return (yield from _roughness(context, start, noise, (LONG_ROUGH_STEPS,)))
    if _is_smooth(values[:4]):
        # no error, unless values err over longer distances: f is no parabola over those
        clean = from_parabola(values[:4], ROUNDING * float(np.abs(values).max()))
        return (yield from _roughness(context, start, clean, (LONG_ROUGH_STEPS, ROUGH_STEPS)))
    if context.left < len(longer):
        return noise
    more = yield from context.values(longer)
    table = np.array([start.value, values[4], *more])
    return with_longer_table(noise, table) if np.isfinite(table).all() else noise


def _is_smooth(values: Vector) -> bool:
    """Tell whether evenly spaced values lie on a parabola, but for a small share of its bend."""
    second, third = difference_noise(values)
    return third <= SMOOTH * second


def _line(context: SearchContext, z: Vector) -> tuple[list[Vector], list[Vector]]:
    """Return the points of the test line, and those of its second table."""
    line, longer = _points(context, z, (LINE_STEPS, LONGER_STEPS))
    return line, longer


def _points(
    context: SearchContext, z: Vector, tables: tuple[Vector, ...]
) -> tuple[list[Vector], ...]:
    """Return points at several steps along random signs, which point inward at bounds."""
    structure = context.structure
    longest = max(float(steps[-1]) for steps in tables)
    signs = context.generator().choice(np.array([-1.0, 1.0]), z.size)
    moving = structure.line(z, signs, longest)
    return tuple([structure.clip(z + step * moving) for step in steps] for steps in tables)


def check_roughness(
    context: SearchContext, point: EvaluatedPoint, noise: NoiseModel, *, dense: bool = False
) -> Steps[NoiseModel]:
    """Look for an error that changes over longer distances; at most once per run, 8 or 16 values.

    Called where slopes are not sparse or lead nowhere: over short distances such an error looks
    like a smooth function with a dense gradient. So do quantiles: their slopes are those of one
    component, and hold as far as the next one.
    """
    if context.roughness_checked or context.gradients or not noise.exact:
        return noise
    context.roughness_checked = True
    tables = (LONG_ROUGH_STEPS, ROUGH_STEPS) if dense else (ROUGH_STEPS,)
    found = yield from _roughness(context, point, noise, tables)
    if not found.exact:
        context.explain(f"slopes lead nowhere; over longer distances {found.describe()}.")
    return found


def errs_less_nearby(context: SearchContext, point: EvaluatedPoint, error: float) -> Steps[bool]:
    """Tell whether values around a point, on its support, do not err as they should; 8 values.

    An error is there over all distances. That of kinks (largest residuals, quantiles) falls with
    them, and so does that of waves which are longer than the distance: both are the shape of f.
    """
    structure, steps = context.structure, NEARER * ROUGH_STEPS
    if context.left <= steps.size:
        return False
    moving = np.zeros(structure.d)
    active = structure.active(point.z)
    size = max(1.0, float(np.abs(point.z).max(initial=0.0)))
    moving[active] = size * context.generator().choice(np.array([-1.0, 1.0]), active.size)
    values = yield from context.values([structure.clip(point.z + step * moving) for step in steps])
    return bool(np.isfinite(values).all() and difference_noise(values)[1] < LESS * error)


def _roughness(
    context: SearchContext, point: EvaluatedPoint, noise: NoiseModel, tables: tuple[Vector, ...]
) -> Steps[NoiseModel]:
    """Return a model of fixed error if values along one of some lines show one."""
    for steps in tables:
        if context.left <= steps.size:
            break
        (line,) = _points(context, point.z, (steps,))
        values = yield from context.values(line)
        if not np.isfinite(values).all():
            break
        everything = np.array([point.value, *values])
        found = rough_at(noise, everything)
        if found is noise:
            if (yield from _leaves_no_doubt(context, point, line, everything)):
                break
            continue
        far = int(np.argmax(np.abs(values - np.median(values))))
        again = yield from context.value(line[far])
        if not same_value(again, values[far]):
            yield from context.distrust(line[far], [float(values[far]), again])
            return replace(noise, outliers=True)
        pole = yield from _is_pole(context, point, line, everything, found)
        return noise if pole else found
    return noise


def _leaves_no_doubt(
    context: SearchContext, point: EvaluatedPoint, line: list[Vector], values: Vector
) -> Steps[bool]:
    """Tell whether a smooth line makes a shorter one superfluous: two more values instead."""
    if not is_smooth_beyond_doubt(values) or context.left <= BETWEEN.size:
        return False
    step, clip = line[0] - point.z, context.structure.clip
    between = yield from context.values([clip(point.z + times * step) for times in BETWEEN])
    return interpolates(values, between)


def _is_pole(
    context: SearchContext,
    point: EvaluatedPoint,
    line: list[Vector],
    values: Vector,
    found: NoiseModel,
) -> Steps[bool]:
    """Tell whether a line crosses a pole of f, where values are as rough as if they erred.

    They are high there and differ little over a tenth of the line. Neighbors that err independently
    differ by about their error over any distance: eight more values.
    """
    low, middle, high = np.quantile(values, (0.0, 0.5, 1.0))
    if high - middle <= SPIKE * (middle - low) or context.left <= len(line):
        return False
    near = yield from context.values([point.z + 0.1 * (z - point.z) for z in line])
    return bool(np.ptp(np.array([point.value, *near])) < NEARBY * found.sigma)


def _with_steps(context: SearchContext, noise: NoiseModel) -> NoiseModel:
    """Add the lengths of differences for the exact regime.

    The error of a forward difference is sigma / h + c h, least at h = sqrt(sigma / c); an axis has
    its share of the curvature c of a dense direction.
    """
    bend, shortest = max(abs(noise.curvature), 1e-300), context.policy.axis_step
    longest = context.policy.flat_step
    axis = min(max(math.sqrt(noise.sigma * context.structure.free.size / bend), shortest), longest)
    # nearly all of the curvature is common to all rows and is taken out
    row = min(max(math.sqrt(noise.sigma / (0.03 * bend)), SHORTEST_ROW), longest)
    if noise.curvature == 0:
        axis = shortest
        row = axis / math.sqrt(context.structure.d)
    return replace(noise, axis_step=axis, row_step=row)
