"""Units that are not given, from the lengths over which f changes and curves."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.curvatures import axis_curvatures
from szoht.algorithms.auto.noise import estimate_noise
from szoht.algorithms.auto.records import ROUNDING, EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.state import SearchState
from szoht.estimators.sensing.noise_test import LINE_STEPS
from szoht.types import Vector

__all__ = ["equalize_units", "find_units"]

LENGTHS = (1e-14, 1e-11, 1e-8, 1e-5, 1e-2, 1.0, 1e3, 1e6, 1e9)
"""Lengths along one direction of signs that are tried where those of the noise test say nothing."""

USUAL = 1e-3, 1e3
"""Between these, in given units, lies the reach of functions of unit scale."""

LINEAR = 0.02
"""Slopes over two lengths that differ by less than this share belong to a straight line."""

RIPPLE = 2.0
"""Over lengths beyond its unit a function gets steeper by more than this factor."""

MAX_RATIO = 1e7
"""Curvature along an axis is looked for over at most this many units."""

ONE_SIGN = 0.9
"""Small slopes of which more than this share are positive are curvature."""

CURVED_SHARES = 0.01, 3.0
"""Curvature is read off where it makes up between these shares of the slope."""


def find_units(  # noqa: PLR0911  (one decision after the other)
    context: SearchContext, start: EvaluatedPoint, noise: NoiseModel
) -> Steps[tuple[EvaluatedPoint, NoiseModel]]:
    """Choose one unit for all coordinates without bounds, such that f curves over about one.

    Nothing is done, and nothing asked, where the noise test saw slopes and curvature of unit scale.
    """
    structure = context.structure
    if structure.has_units or noise.fresh or noise.irregular:
        return start, noise
    reach = _reach(noise, structure.d)
    if noise.exact and reach is not None:
        if USUAL[0] <= reach <= USUAL[1]:
            return start, noise
        start = _take_as_unit(context, start, reach)
        return start, _rescaled_noise(noise, reach)
    if context.left < 2 * len(LENGTHS):
        return start, noise
    straight = abs(noise.curvature) * LINE_STEPS[-1] < 1e-4 * noise.slope
    if noise.exact and straight and (yield from _curves_over_one(context, start)):
        return start, noise
    reach = yield from _try_lengths(context, start)
    if reach is None and noise.exact and not straight and context.left > 2 * len(LENGTHS):
        reach = yield from _try_lengths(context, start)  # slopes may have canceled along the first
    usual = USUAL[0] if noise.exact else 0.1 * USUAL[1]
    if reach is None or usual <= reach <= USUAL[1]:
        return start, noise
    start = _take_as_unit(context, start, reach)
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


def equalize_units(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    """Choose a unit for each coordinate such that f is equally curved along all of them.

    Once per run, where all slopes are known and differ so much that units must: one query per axis.
    Slopes per unit, not per whatever x is measured in, then say which coordinates matter.
    """
    structure, slopes = context.structure, state.slopes
    free = structure.free
    if structure.has_units or context.units_equalized or not state.exact or slopes is None:
        return state
    context.units_equalized = True
    g = slopes.values[free]
    low, middle, high = np.quantile(np.abs(g), [0.1, 0.5, 0.9])
    # what curvature adds to a difference is no slope; it is positive
    sparse = np.mean(g[np.abs(g) <= middle] >= 0) > ONE_SIGN
    known = state.noise.curvature != 0 and low > 3 * state.noise.sigma / state.noise.axis_step
    if (
        sparse
        or not high > 3 * context.policy.slope_spread * low
        or not known
        or context.left < 2 * free.size
    ):
        return state
    curvatures = yield from axis_curvatures(
        context, state.point, free, g, state.noise, longest=MAX_RATIO
    )
    if curvatures is None:
        return state
    root = np.sqrt(curvatures)
    scale = np.ones(structure.d)
    scale[free] = float(np.quantile(np.abs(g) / root, 0.9)) / root
    context.explain(f"units differ by {scale.max() / scale.min():.0e}: curvatures are equalized.")
    point = _rescale(context, state.point, scale)
    values = slopes.values * scale
    noise = replace(
        state.noise,
        slope=float(np.linalg.norm(values)),
        curvature=0.5 * float((curvatures * scale[free] ** 2).sum()),
        row_step=context.policy.axis_step / math.sqrt(structure.d),
    )
    candidates = context.structure.head(values, 2 * structure.size, point.support)
    memory = replace(state.memory, matched=None)
    slopes = replace(slopes, values=values, candidates=candidates)
    return replace(state, point=point, slopes=slopes, noise=noise, memory=memory, curvature=None)


def _rescale(
    context: SearchContext, start: EvaluatedPoint, scale: float | Vector
) -> EvaluatedPoint:
    """Multiply the units of all coordinates whose units are not known by ``scale``."""
    old = context.structure
    context.structure = old.rescaled(scale)

    def moved(point: EvaluatedPoint) -> EvaluatedPoint:
        return EvaluatedPoint(context.structure.to_z(old.to_x(point.z)), point.value)

    context.best = None if context.best is None else moved(context.best)
    return moved(start)


def _take_as_unit(context: SearchContext, start: EvaluatedPoint, length: float) -> EvaluatedPoint:
    context.explain(f"f changes over lengths of about {length:.1e}: that is taken as the unit.")
    return _rescale(context, start, length)


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

    rounding = 100 * ROUNDING * abs(start.value)

    def straight_pairs() -> list[tuple[float, float]]:
        return [
            (a, b)
            for a, b in pairwise(sorted(changes))
            if abs(changes[a]) > rounding
            and abs(changes[b] / b - changes[a] / a) <= LINEAR * abs(changes[a] / a)
        ]

    yield from measure(LENGTHS)
    straight = straight_pairs()
    shortest = [i for i, t in enumerate(LENGTHS[:-1]) if abs(changes[t]) > rounding]
    if shortest and not straight:  # f curves before the next length
        yield from measure((math.sqrt(LENGTHS[shortest[0]] * LENGTHS[shortest[0] + 1]),))
        straight = straight_pairs()
    if not straight:
        vertex = _vertex({t: change for t, change in changes.items() if abs(change) > rounding})
        return None if vertex is None else vertex * math.sqrt(structure.d)
    length = straight[0][1]  # the shortest: far away, many functions are straight again
    for a, b in straight[1:]:
        length = b if a == length else length
    slope = changes[length] / length

    def share(t: float) -> float:
        """Return what curvature makes up of the change over a length."""
        value = abs(changes[t] - slope * t) / abs(slope * t)
        return value if math.isfinite(value) else math.inf

    longer = [t for t in changes if t > length and share(t) > CURVED_SHARES[0]]
    if not longer:
        return None
    low, high = length, min(longer)
    for _ in range(6):
        if share(high) <= CURVED_SHARES[1] and high <= 10 * low:
            break
        middle = math.sqrt(low * high)
        yield from measure((middle,))
        low, high = (middle, high) if share(middle) < CURVED_SHARES[0] else (low, middle)
    if _is_ripple(slope, high, changes):
        return None
    if not math.isfinite(share(high)):
        return high
    return high / (2 * share(high)) * math.sqrt(structure.d)


def _vertex(changes: dict[float, float]) -> float | None:
    """Return how far away the minimum of a parabola is that three lengths in a row agree on."""
    slopes = [(t, changes[t] / t) for t in sorted(changes) if math.isfinite(changes[t])]
    for (a, first), (b, second), (c, third) in zip(slopes, slopes[1:], slopes[2:], strict=False):
        short, long = (second - first) / (b - a), (third - first) / (c - a)
        vertex = abs(first / long - a) / 2 if long > 0 else 0.0
        if vertex > 10 * a and abs(short - long) <= LINEAR * long:
            return vertex
    return None


def _is_ripple(slope: float, length: float, changes: dict[float, float]) -> bool:
    """Tell whether f is no steeper beyond a length than before, and then goes on changing.

    What curves over the short length is then an error of the values, not f: a function of that
    unit gets steeper, or has changed all that it will.
    """
    beyond = [t for t in sorted(changes) if t > 100 * length and math.isfinite(changes[t])]
    return any(
        abs(changes[t]) <= RIPPLE * abs(slope) * t and abs(changes[later]) > 10 * abs(changes[t])
        for t, later in pairwise(beyond)
    )
