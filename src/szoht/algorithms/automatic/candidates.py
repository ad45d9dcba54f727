"""Which coordinates to try: by sparse recovery, by the matched filter, or along all axes."""

import math

import numpy as np

from szoht.algorithms.automatic.axes import all_slopes
from szoht.algorithms.automatic.gauge import longer
from szoht.algorithms.automatic.glance import glance
from szoht.algorithms.automatic.measure import (
    Measurements,
    Point,
    Talk,
    axis_slopes,
    signs,
)
from szoht.algorithms.automatic.recover import Recovery, gather, recover
from szoht.algorithms.automatic.search import Candidates, Search
from szoht.operators.base import largest
from szoht.types import Indices

__all__ = ["find_candidates"]

FEW, MANY, FILTER = 1.3, 2.9, 4.0
"""Measurements for sparse recovery at first and at most, and for the matched filter, in units of
k (1 + log(d / k)). The last is doubled after each round in vain."""

DENSE = 3.0
"""A gradient that is not sparse is measured along all axes if that costs this many times the
matched filter at most: its slopes are then exact."""

SAVED = 2.3
"""All axes are measured straight away unless that costs this many times the first look."""

RACES, HEAT = 2, 2
"""How often the coordinates that the filter puts first are measured, and how many, times k."""


def find_candidates(search: Search, point: Point, current: Indices) -> Talk[Candidates]:
    """Find coordinates to try besides the ``current`` ones."""
    k, d = search.k, point.x.size
    unit = k * (1 + math.log(d / k))
    most = math.ceil(FILTER * unit * 2**search.in_vain)
    affordable = d <= DENSE * most
    axes_are_few = SAVED * FEW * unit >= d or (search.in_vain > 0 and most >= d)
    if axes_are_few or (affordable and search.dense):
        return (yield from _axes(search, point, current))
    measured = yield from _look(search, point, math.ceil(FEW * unit), most)
    if not measured.slopes.any() and (yield from _lengthen(search, point)):
        return (yield from find_candidates(search, point, current))
    # y_i = <u_i, g> has the variance |g|^2; its mean is curvature, see `signs`
    search.weigh(point, float(measured.slopes.std()), search.gauge.span / math.sqrt(d))
    if search.flat:
        search.context.explain(f"{measured.slopes.size} measurements: all slopes vanish.")
        return Candidates(current)
    enough = min(MANY * unit, d / 2) if affordable else MANY * unit
    recovery, measured = yield from _explain(search, point, measured, enough)
    if recovery.believed:
        return _recovered(search, recovery, current, measured.slopes.size)
    if affordable:
        search.dense = True
        return (yield from _axes(search, point, current, measured))
    measured = yield from _more(search, point, measured, most - measured.slopes.size)
    return (yield from _filtered(search, point, current, measured))


def _look(search: Search, point: Point, few: int, most: int) -> Talk[Measurements]:
    """Measure along a few vectors of signs, or all that the filter needs if it will need them."""
    if search.filtering:
        return (yield from signs(search.context, point, search.gauge, most))
    measured = yield from signs(search.context, point, search.gauge, few // 2)
    yield from glance(search, point, measured.correlate(measured.centred))
    return (yield from _more(search, point, measured, few - few // 2))


def _explain(
    search: Search, point: Point, measured: Measurements, enough: float
) -> Talk[tuple[Recovery, Measurements]]:
    """Try to explain the measurements by few coordinates, and measure more until it is enough."""
    noise = search.gauge.noise / search.gauge.span * math.sqrt(point.x.size)
    while True:
        recovery = recover(measured, 2 * search.k, noise)
        size = measured.slopes.size
        if recovery.believed:
            return recovery, measured
        yield from glance(search, point, measured.correlate(measured.centred))
        if size >= enough:
            return recovery, measured
        measured = yield from _more(search, point, measured, max(4, size // 3))


def _more(search: Search, point: Point, so_far: Measurements, count: int) -> Talk[Measurements]:
    if count <= 0:
        return so_far
    return so_far.more((yield from signs(search.context, point, search.gauge, count)))


def _axes(
    search: Search, point: Point, current: Indices, measured: Measurements | None = None
) -> Talk[Candidates]:
    """Measure all slopes; those along signs that are ``measured`` already save some of the axes."""
    d = point.x.size
    slopes = yield from all_slopes(search, point, current, measured)
    if not slopes.any() and (yield from _lengthen(search, point)):
        return (yield from _axes(search, point, current))
    yield from glance(search, point, slopes)
    search.slopes, search.looking = slopes, d
    search.trusted = search.exact = True
    outside = np.delete(slopes, current)
    search.weigh(point, float(np.abs(outside).max(initial=0.0)), search.gauge.radius)
    search.context.explain(f"all {d} slopes measured: random directions are no cheaper.")
    support = search.steepest(slopes, current, 2 * search.k)
    return Candidates(support, search.known_slopes(np.union1d(support, current)))


def _filtered(
    search: Search, point: Point, current: Indices, measured: Measurements
) -> Talk[Candidates]:
    """Race the coordinates that a matched filter points out against each other.

    Those in front are measured, one query each; what they explain is taken out of the
    measurements, which makes the others clearer; and so on.
    """
    known, slopes = current, np.empty(0)
    if current.size:
        slopes = yield from axis_slopes(search.context, point, search.gauge, current)
    for _ in range(RACES):
        front = search.steepest(
            gather(measured, known, slopes, search.evidence).slopes, known, HEAT * search.k
        )
        more = yield from axis_slopes(search.context, point, search.gauge, front)
        known, slopes = np.append(known, front), np.append(slopes, more)
    search.evidence = gather(measured, known, slopes, search.evidence)
    search.looking = measured.slopes.size + known.size
    search.slopes, search.filtering = search.evidence.slopes, True
    search.trusted, search.exact = search.in_vain > 1, False
    search.slopes[known] = slopes
    support = search.steepest(search.slopes, current, 2 * search.k)
    search.context.explain(
        f"{measured.slopes.size} measurements: the gradient is not sparse; the {support.size} "
        "coordinates that stand out most are tried."
    )
    return Candidates(support, search.known_slopes(np.union1d(support, current)))


def _recovered(search: Search, recovery: Recovery, current: Indices, size: int) -> Candidates:
    """Keep the k steepest; slopes can be used as they are only if nothing else joins them."""
    search.looking, search.trusted, search.exact, search.filtering = size, False, False, False
    search.context.explain(
        f"{size} measurements: the gradient is sparse (held-out error {recovery.error:.1e})."
    )
    steepest = np.sort(largest(np.abs(recovery.slopes), search.k))
    order = steepest[np.argsort(recovery.support[steepest])]
    support = recovery.support[order]
    alone = bool(np.isin(current, support).all())
    return Candidates(support, recovery.slopes[order] if alone else None)


def _lengthen(search: Search, point: Point) -> Talk[bool]:
    found = yield from longer(search.context, point, search.gauge)
    if found is not None:
        search.gauge = found
    return found is not None
