"""Units that are not given, from the lengths over which f changes and curves."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.noise import estimate_noise
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.estimators.sensing.noise_test import LINE_STEPS
from szoht.types import Vector

__all__ = ["find_units"]

ROUNDING = float(np.finfo(np.float64).eps)

LENGTHS = (1e-14, 1e-11, 1e-8, 1e-5, 1.0, 1e3, 1e6, 1e9)
"""Lengths along one direction of signs that are tried where those of the noise test say nothing."""

USUAL = 1e-3, 1e3
"""Between these, in given units, lies the reach of functions of unit scale."""

LINEAR = 0.02
"""Slopes over two lengths that differ by less than this share belong to a straight line."""

CURVED_SHARES = 0.01, 3.0
"""Curvature is read off where it makes up between these shares of the slope."""


def find_units(  # noqa: PLR0911  (one decision after the other)
    context: SearchContext, start: EvaluatedPoint, noise: NoiseModel
) -> Steps[tuple[EvaluatedPoint, NoiseModel]]:
    """Choose one unit for all coordinates without bounds, such that f curves over about one.

    Nothing is done, and nothing asked, where the noise test saw slopes and curvature of unit scale.
    """
    structure = context.structure
    if structure.has_units or noise.stepwise or noise.fresh or noise.irregular:
        return start, noise
    reach = _reach(noise, structure.d)
    if noise.exact and reach is not None:
        if USUAL[0] <= reach <= USUAL[1]:
            return start, noise
        start = _rescale(context, start, reach)
        return start, _rescaled_noise(noise, reach)
    if context.left < 2 * len(LENGTHS):
        return start, noise
    straight = abs(noise.curvature) * LINE_STEPS[-1] < 1e-4 * noise.slope
    if noise.exact and straight and (yield from _curves_over_one(context, start)):
        return start, noise
    reach = yield from _try_lengths(context, start)
    if reach is None or USUAL[0] <= reach <= USUAL[1]:
        return start, noise
    start = _rescale(context, start, reach)
    return start, (yield from estimate_noise(context, start))


def _reach(noise: NoiseModel, d: int) -> float | None:
    """Return the length over which f curves by as much as it slopes, None if that did not show."""
    middle, longest = LINE_STEPS[3], LINE_STEPS[4]
    curvature = abs(noise.curvature)
    # too straight to show where it curves, or so curved that no slope shows
    straight = curvature * longest < 1e-4 * noise.slope or curvature == 0
    if straight or noise.slope < 3 * curvature * middle:
        return None
    return noise.slope / (2 * curvature) * math.sqrt(d)


def _rescale(context: SearchContext, start: EvaluatedPoint, scale: float) -> EvaluatedPoint:
    """Make ``scale`` the unit of all coordinates whose units are not known."""
    old = context.structure
    x = old.to_x(start.z)
    context.structure = old.rescaled(scale)
    context.explain(f"f changes over lengths of about {scale:.1e}: that is taken as the unit.")
    point = EvaluatedPoint(context.structure.to_z(x), start.value)
    context.best = None if context.best is None else point
    return point


def _rescaled_noise(noise: NoiseModel, scale: float) -> NoiseModel:
    return replace(
        noise,
        row_step=noise.row_step / scale,
        slope=noise.slope * scale,
        curvature=noise.curvature * scale**2,
    )


def _curves_over_one(context: SearchContext, start: EvaluatedPoint) -> Steps[bool]:
    """Tell whether f is straight over the noise test's lengths only, and not over one unit."""
    structure, longest = context.structure, float(LINE_STEPS[-1])
    signs = _signs(context)
    points = [structure.clip(start.z + length * signs) for length in (longest, 1.0)]
    short, long = (yield from context.values(points)) - start.value
    return not abs(long - short / longest) <= LINEAR * abs(short / longest)


def _signs(context: SearchContext) -> Vector:
    structure = context.structure
    signs = np.zeros(structure.d)
    free = structure.free
    signs[free] = context.generator().choice(np.array([-1.0, 1.0]), free.size)
    return signs


def _try_lengths(  # noqa: C901  (two searches, one after the other)
    context: SearchContext, start: EvaluatedPoint
) -> Steps[float | None]:
    """Look for two lengths over which f is a straight line, then for one over which it curves."""
    structure, signs = context.structure, _signs(context)
    changes: dict[float, float] = {}

    def measure(lengths: tuple[float, ...]) -> Steps[None]:
        points: list[Vector] = [structure.clip(start.z + length * signs) for length in lengths]
        values = yield from context.values(points)
        changes.update(zip(lengths, (values - start.value).tolist(), strict=True))

    yield from measure(LENGTHS)
    rounding = 100 * ROUNDING * abs(start.value)
    straight = [
        (a, b)
        for a, b in pairwise(LENGTHS)
        if abs(changes[a]) > rounding
        and abs(changes[b] / b - changes[a] / a) <= LINEAR * abs(changes[a] / a)
    ]
    if not straight:
        return None
    length = straight[0][1]  # the shortest: far away, many functions are straight again
    for a, b in straight[1:]:
        length = b if a == length else length
    slope = changes[length] / length

    def share(t: float) -> float:
        """Return what curvature makes up of the change over a length."""
        value = abs(changes[t] - slope * t) / abs(slope * t)
        return value if math.isfinite(value) else math.inf

    longer = [t for t in LENGTHS if t > length and share(t) > CURVED_SHARES[0]]
    if not longer:
        return None
    low, high = length, min(longer)
    for _ in range(6):
        if share(high) <= CURVED_SHARES[1] and high <= 10 * low:
            break
        middle = math.sqrt(low * high)
        yield from measure((middle,))
        low, high = (middle, high) if share(middle) < CURVED_SHARES[0] else (low, middle)
    if _is_ripple(high, changes):
        return None
    if not math.isfinite(share(high)):
        return high
    return high / (2 * share(high)) * math.sqrt(structure.d)


def _is_ripple(length: float, changes: dict[float, float]) -> bool:
    """Tell whether f stops changing beyond a length and then changes again, over longer ones.

    What curves over the short length is then an error of the values, not f.
    """
    beyond = [abs(changes[t]) for t in sorted(changes) if t >= length]
    beyond = [size for size in beyond if math.isfinite(size)]
    return any(
        after <= 3 * before and max(beyond[i + 1 :], default=0.0) > 10 * max(before, after)
        for i, (before, after) in enumerate(pairwise(beyond))
    )
