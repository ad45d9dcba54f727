"""Exchange coordinates of the support for others, when plain rounds gain nothing."""

import math
from collections.abc import Iterator

import numpy as np

from szoht.algorithms.automatic.measure import Point, Talk, value_at
from szoht.algorithms.automatic.restricted import Solved, conditional
from szoht.algorithms.automatic.search import Search
from szoht.core.random import Purpose
from szoht.types import Indices

__all__ = ["drop_smallest", "kick", "splice", "swap"]

PAIRS = 15
"""Exchanges of one for one that are tried at a time."""

ACCURACY, ROUGHLY = 0.1, 0.3
"""How far the gradient must shrink at the end of an exchange, and on the way."""

WIDE_STEPS, STEPS_BETWEEN, STEPS = 10, 4, 20

SHARE = 3
"""One in so many of those that are too many is dropped at a time, and of those that are kicked."""

NEARLY = 4
"""Coordinates that may replace what is kicked out, in units of k."""


def splice(search: Search, point: Point, count: int) -> Talk[Point]:
    """Let ``count`` coordinates join, solve well, and drop the smallest a few at a time.

    Which coordinates can go is seen only once the others have taken over what they did: hence
    a solve after each third of those that are too many.
    """
    assert search.slopes is not None, "slopes have just been measured"  # noqa: S101
    support = np.flatnonzero(point.x)
    wide = np.union1d(support, search.steepest(search.slopes, support, count))
    solved = yield from search.solve(
        point,
        wide,
        accuracy=ACCURACY,
        slopes=search.known_slopes(wide) if search.exact else None,
        inverse=search.carried(support, wide),
        steps=WIDE_STEPS,
    )
    while wide.size > search.k:
        number = max(1, (wide.size - search.k) // SHARE)
        solved, wide = yield from drop_smallest(search, solved, wide, number, goal=point.value)
    return search.settle(point, solved)


def drop_smallest(
    search: Search, solved: Solved, wide: Indices, number: int, goal: float = -math.inf
) -> Talk[tuple[Solved, Indices]]:
    """Drop the smallest coordinates of a solved support and solve on the others."""
    keep = np.sort(np.argsort(-np.abs(solved.point.x[wide]), kind="stable")[:-number])
    left = wide[keep]
    x = np.zeros_like(solved.point.x)
    x[left] = solved.point.x[left]
    start = Point(x, (yield from value_at(search.context, x)))
    if math.isnan(start.value):
        return Solved(start, None), left
    last = left.size <= search.k
    again = yield from search.solve(
        start,
        left,
        accuracy=ACCURACY if last else ROUGHLY,
        inverse=None if solved.inverse is None else conditional(solved.inverse, keep),
        goal=goal if last else -math.inf,
        steps=STEPS if last else STEPS_BETWEEN,
    )
    return again, left


def swap(search: Search, point: Point, *, afresh: bool = False) -> Talk[Point]:
    """Exchange the smallest coordinates for the steepest ones: several at once, then one by one.

    If ``afresh``, each solve begins with a long step, whatever is known of the curvature: that is
    how a coordinate is found whose slope shows little of what lies behind it.
    """
    assert search.slopes is not None, "slopes have just been measured"  # noqa: S101
    support = np.flatnonzero(point.x)
    drops = support[np.argsort(np.abs(point.x[support]), kind="stable")]
    adds = search.steepest(search.slopes, support, max(2 * search.k, PAIRS))
    adds = adds[np.argsort(-np.abs(search.slopes[adds]), kind="stable")]
    for out, new in _exchanges(drops, adds):
        better = yield from _exchange(search, point, out, new, afresh=afresh)
        if search.worth(point, better):
            search.context.explain(f"coordinates {out} exchanged for {new}.")
            return better
    return point


def _exchanges(drops: Indices, adds: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Yield what to exchange for what: a half, a quarter, ... of the support, then single pairs."""
    count = min(drops.size // 2, adds.size)
    while count > 1:
        yield drops[:count], adds[:count]
        count //= 2
    for i, j in sorted(np.ndindex(drops.size, adds.size), key=sum)[:PAIRS]:
        yield drops[i : i + 1], adds[j : j + 1]


def _exchange(
    search: Search, point: Point, out: Indices, new: Indices, *, afresh: bool
) -> Talk[Point]:
    support = np.flatnonzero(point.x)
    x = point.x.copy()
    x[out] = 0.0
    start = Point(x, (yield from value_at(search.context, x)))
    if math.isnan(start.value):
        return point
    other = np.union1d(np.setdiff1d(support, out), new)
    solved = yield from search.solve(
        start,
        other,
        accuracy=ACCURACY,
        inverse=None if afresh else search.carried(support, other),
        goal=point.value,
    )
    return search.settle(point, solved)


def kick(search: Search, point: Point) -> Talk[Point]:
    """Replace a third of the support by coordinates that nearly made it, and solve."""
    assert search.slopes is not None, "a search that has ended knows slopes"  # noqa: S101
    support = np.flatnonzero(point.x)
    generator = search.context.key().generator(Purpose.EXCHANGE)
    lost = generator.choice(support, size=max(1, support.size // SHARE), replace=False)
    near = search.steepest(search.slopes, support, NEARLY * search.k)
    new = generator.choice(near, size=min(near.size, lost.size), replace=False)
    x = point.x.copy()
    x[lost] = 0.0
    start = Point(x, (yield from value_at(search.context, x)))
    if math.isnan(start.value):
        return point
    solved = yield from search.solve(start, np.union1d(np.flatnonzero(x), new), accuracy=ACCURACY)
    search.inverse = None
    return solved.point
