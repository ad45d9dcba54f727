"""All slopes at a point: along the axes, or fewer of them where measurements along signs help."""

import numpy as np

from szoht.algorithms.automatic.glance import glance
from szoht.algorithms.automatic.measure import Measurements, Point, Talk, axis_slopes
from szoht.algorithms.automatic.search import Search
from szoht.types import Indices, Vector

__all__ = ["all_slopes"]

SPARED = 0.8
"""Axes that a measurement along signs saves: less than 1, for equations that are well posed."""

AGREED = 1e-2
"""Equations agree if least squares leave no more than this share of them."""


def all_slopes(
    search: Search, point: Point, current: Indices, measured: Measurements | None
) -> Talk[Vector]:
    """Measure all slopes; those along signs that are ``measured`` already save some of the axes.

    Where f is rough, all axes are compared with each other, and signs say too little to help.
    """
    if search.gauge.rough:
        every = np.arange(point.x.size)
        return (yield from axis_slopes(search.context, point, search.gauge, every, scan=True))
    if measured is None:
        return (yield from _in_halves(search, point))
    return (yield from _completed(search, point, current, measured))


def _in_halves(search: Search, point: Point) -> Talk[Vector]:
    """Measure along every other axis, glance, and measure along the rest."""
    slopes, every = np.zeros(point.x.size), np.arange(point.x.size)
    first, second = every[::2], every[1::2]
    slopes[first] = yield from axis_slopes(search.context, point, search.gauge, first)
    if second.size:
        yield from glance(search, point, slopes)
        slopes[second] = yield from axis_slopes(search.context, point, search.gauge, second)
    return slopes


def _completed(
    search: Search, point: Point, current: Indices, measured: Measurements
) -> Talk[Vector]:
    """Measure along the axes that stand out, and work the others out of what is measured.

    With the slopes of some coordinates known, the measurements ``y = U g`` are linear equations
    for the others. They outnumber the unknowns, so they also show whether they agree (f may be
    undefined along some of them); if not, the remaining axes are measured as well.
    """
    y = measured.slopes
    seen = np.abs(measured.correlate(measured.centred))
    seen[current] = np.inf
    order = np.argsort(seen, kind="stable")
    rest, known = map(np.sort, np.split(order, [int(SPARED * y.size)]))
    slopes = np.empty(point.x.size)
    slopes[known] = yield from axis_slopes(search.context, point, search.gauge, known)
    y = y - measured.columns(known) @ slopes[known]
    columns = measured.columns(rest)
    slopes[rest] = np.linalg.lstsq(columns, y, rcond=None)[0]
    if np.linalg.norm(y - columns @ slopes[rest]) > AGREED * np.linalg.norm(y):
        slopes[rest] = yield from axis_slopes(search.context, point, search.gauge, rest)
    return slopes
