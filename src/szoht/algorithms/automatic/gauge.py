"""How far apart to take values: noise shows when one is asked again, steps when none changes."""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.automatic.measure import Gauge, Point, Talk, signs, value_at
from szoht.algorithms.generator import SolverContext
from szoht.core.query import Plan
from szoht.types import Vector

__all__ = ["choose_gauge", "finer", "longer"]

RADIUS = 1e-6
"""Of a difference, relative to the point, when values carry no noise."""

AGAIN = 3
"""How many more values judge the noise once two have been seen to differ."""

LONGEST = 2.0
"""Of a difference, relative to the point."""

STEP = 0.5
"""Of a difference along an axis, relative to the point, where f is a step function."""

LENGTHS = (STEP, 1.0, 10.0)


def choose_gauge(context: SolverContext, point: Point) -> Talk[Gauge]:
    """Ask the first value again; if it differs, ask a few times more to see by how much.

    A central difference over h errs by noise / h and by a multiple of h^2: least for h in
    proportion to noise^(1/3), in units in which point and value have size 1. Along m vectors of
    signs, noise adds ``d (noise / span)^2 / m`` to the variance ``|g|^2 / m`` of an estimated
    slope; the span is such that the first is about half of the second, with |f| in place of |g|.
    """
    size = max(1.0, float(np.abs(point.x).max()))
    again = yield from value_at(context, point.x)
    exact = Gauge(radius=RADIUS * size, span=RADIUS * size)
    if again == point.value or not math.isfinite(again):
        return exact
    more = yield Plan(queries=tuple(context.query(point.x) for _ in range(AGAIN)))
    values = [point.value, again, *(float(answer.values[0]) for answer in more)]
    noise = float(np.nanstd(values, ddof=1))
    share = noise / max(abs(point.value), noise)
    radius = size * max(RADIUS, share ** (1 / 3))
    span = size * min(LONGEST, share * math.sqrt(2 * point.x.size))
    context.explain(
        f"asked again, values differ by {noise:.1e}: differences over {radius:.1e} along axes."
    )
    return Gauge(radius=radius, span=max(radius, span), noise=noise, rough=True)


def longer(context: SolverContext, point: Point, gauge: Gauge) -> Talk[Gauge | None]:
    """Return a gauge over which values change at last, if there is one.

    Where they do not change over a short difference, f is a step function or coarsely rounded, and
    only long ones mean anything.
    """
    if gauge.rough:
        return None
    size = _size(point.x)
    for length in LENGTHS:
        longest = replace(gauge, radius=length * size, span=2 * length * size, rough=True)
        few = yield from signs(context, point, longest, 4)
        if few.slopes.any():
            context.explain(
                f"values do not change over {gauge.radius:.1e}: "
                f"differences over {length * size:.1e}."
            )
            return longest
    return None


def finer(gauge: Gauge) -> Gauge:
    """Return what to try where f changes in steps and long differences have led no further."""
    if not gauge.rough or gauge.noise > 0:
        return gauge
    return replace(gauge, radius=gauge.radius / 2, span=gauge.span / 2)


def _size(x: Vector) -> float:
    return float(np.abs(x).max()) or 1.0
