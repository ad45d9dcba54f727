"""When k is not given: go up until more non-zeros gain little, come down, choose the knee."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.automatic.exchange import drop_smallest
from szoht.algorithms.automatic.measure import Point, Talk, value_at
from szoht.algorithms.automatic.restricted import Solved
from szoht.algorithms.automatic.samples import part
from szoht.algorithms.automatic.search import GAIN, Search
from szoht.algorithms.automatic.solver import begin, descend
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.core.algorithm import Measured, PathPoint, State
from szoht.operators import Identity, Sparse
from szoht.operators.base import largest
from szoht.types import Sample

__all__ = ["AutoPath", "find_knee"]

FIRST, GROWTH = 4, 2
"""The first k on the way up, and by how much it grows."""

LITTLE = 0.05
"""The way up ends when so many more non-zeros gain less than this share of all that was gained."""

ONE_BY_ONE, SHARE = 40, 10
"""On the way down, one non-zero in so many is dropped at a time, and just one below this many."""

FLAT = 1e-4
"""A non-zero that gains less than this share of all that was gained gains nothing."""

ENOUGH = 1e-3
"""A round on the way up that gains less than this share of f, or of all that was gained before,
was in vain."""

FEWEST_POINTS = 3


def find_knee(path: Sequence[PathPoint], noise: float = 0.0) -> tuple[int, float]:
    """Return the place in a path where gains per non-zero drop most, and by what factor they do.

    A value that is not lower than that of a smaller k counts as equal to it: the smaller k is
    feasible for the larger one, too.

    >>> curve = [8.0, 5.0, 2.5, 0.5, 0.45, 0.4]
    >>> find_knee([PathPoint(k, np.zeros(9), value) for k, value in enumerate(curve)])[0]
    3
    """
    k = np.array([point.k for point in path], dtype=float)
    values = np.minimum.accumulate([point.fun for point in path])
    if k.size < FEWEST_POINTS:
        return k.size - 1, 1.0
    gains = -np.diff(values) / np.diff(k)
    floor = max(FLAT * float(values[0] - values[-1]), noise, np.finfo(np.float64).tiny)
    drops = gains[:-1] / np.maximum(gains[1:], floor)
    place = int(np.argmax(drops))
    return place + 1, float(drops[place])


@dataclass(frozen=True, kw_only=True)
class AutoPath(GeneratorAlgorithm):
    """`Auto` for many k at once, and the k after which the gain per non-zero drops most.

    On the way up k doubles, each solve from the last, until that gains little; on the way down the
    smallest non-zeros are dropped and the others solved for again, which costs no search. At the
    knee the search is taken up once more.
    """

    operator: Identity = field(default_factory=Identity)
    seeded: bool = False

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Take a finite sum as a whole: values for different k must be values of one function."""
        return None if n_samples is None else part(seed, n_samples, n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Go up, come down, and search on at the knee."""
        context.seeded = self.seeded
        search = yield from begin(context, Sparse(1))
        if search is None:
            return
        if not context.x.any():
            _record(search, 0, search.start)
        yield from _up(search)
        yield from _down(search)
        knee = context.path[find_knee(context.path, search.gauge.noise)[0]]
        context.knee = knee.k
        context.explain(f"k = {knee.k}: after it, the gain per non-zero drops most.")
        if knee.k > 0:
            search.operator, search.least = Sparse(knee.k), 0.0
            point = yield from descend(search, Point(knee.x, knee.fun), gain=GAIN)
            _record(search, knee.k, point)
            context.move(point.x, point.value)

    def solution(self, state: State) -> Measured:
        """Return the point at the knee, or at that of what is known so far."""
        if not state.path:
            return super().solution(state)
        chosen = [point for point in state.path if point.k == state.knee]
        knee = chosen[0] if chosen else state.path[find_knee(state.path)[0]]
        return Measured(knee.x, knee.fun)


def _up(search: Search) -> Talk[None]:
    """Solve for k = 4, 8, 16, ..., each time from the solution before."""
    d, point = search.start.x.size, search.start
    k = min(d, FIRST)
    while True:
        search.operator, search.evidence, search.inverse = Sparse(k), None, None
        before, point = point, (yield from _start(search, point))
        search.least = ENOUGH * (search.start.value - point.value)
        point = yield from descend(search, point, gain=ENOUGH)
        _record(search, k, point)
        search.context.explain(f"k = {k}: f = {point.value:.6g}.")
        gained = search.start.value - point.value
        if k >= d or (k > FIRST and before.value - point.value <= LITTLE * gained):
            return
        k = min(d, GROWTH * k)


def _start(search: Search, point: Point) -> Talk[Point]:
    """Return the point if it has few enough non-zeros, else the largest of them, measured."""
    if np.count_nonzero(point.x) <= search.k:
        return point
    x = np.zeros_like(point.x)
    kept = largest(np.abs(point.x), search.k)
    x[kept] = point.x[kept]
    value = yield from value_at(search.context, x)
    search.context.note(x, value)
    return Point(x, value)


def _down(search: Search) -> Talk[None]:
    """Drop the smallest non-zeros and solve again, from the largest k down to 1."""
    last = search.context.path[-1]
    support = np.flatnonzero(last.x)
    solved = Solved(Point(last.x, last.fun), search.carried(support, support))
    while support.size > 1:
        number = 1 if support.size <= ONE_BY_ONE else math.ceil(support.size / SHARE)
        search.operator = Sparse(support.size - number)
        solved, support = yield from drop_smallest(search, solved, support, number)
        if math.isnan(solved.point.value):
            return
        _record(search, support.size, solved.point)


def _record(search: Search, k: int, point: Point) -> None:
    """Keep the better of what is known for ``k``, and for fewer if fewer are not zero."""
    known = {other.k: other for other in search.context.path}
    for number in {k, int(np.count_nonzero(point.x))}:
        if number not in known or point.value < known[number].fun:
            known[number] = PathPoint(number, point.x, point.value)
    search.context.path[:] = [known[number] for number in sorted(known)]
