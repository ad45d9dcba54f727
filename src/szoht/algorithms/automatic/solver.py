"""The solver that needs no tuning: find the coordinates that matter, solve on them, look again."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from szoht.algorithms.automatic.candidates import find_candidates
from szoht.algorithms.automatic.exchange import kick, splice, swap
from szoht.algorithms.automatic.gauge import choose_gauge, finer
from szoht.algorithms.automatic.measure import Point, Talk, value_at
from szoht.algorithms.automatic.restricted import conditional
from szoht.algorithms.automatic.samples import first_size, part, sizes
from szoht.algorithms.automatic.search import Candidates, Search
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.operators import Sparse, SparseBox
from szoht.types import Indices, Sample, Vector

__all__ = ["Auto", "begin", "descend", "search_thoroughly"]

WIDE, NARROW, POLISH = 0.3, 0.1, 1e-4
"""How far the gradient must shrink: over all candidates, on k of them, on an unchanged support."""

WIDE_STEPS = 3
"""Of a solve over all candidates; more where looking for them was much dearer than solving."""

ROUNDS_IN_VAIN, KICKS = 6, 8

MUCH = 0.01
"""A move that gains this share of f is tried first again."""

COARSE = 0.03
"""On part of a finite sum, a round that gains less than this share of f was in vain."""


@dataclass(frozen=True, kw_only=True)
class Auto(GeneratorAlgorithm):
    """Sparse minimisation that needs no parameter but the constraint.

    Each round (1) measures slopes along random signs at the iterate; (2) tries to explain them by
    few coordinates and believes it if held-out measurements agree; else takes the coordinates
    that a matched filter points out, or measures all axes where that is no dearer; (3) minimises
    over the support and these candidates by quasi-Newton; (4) keeps the k best and minimises
    again. When that gains nothing, coordinates are exchanged. See `auto`.

    ``seeded`` says that the objective takes a seed: each plan gets a fresh one.
    """

    operator: Sparse | SparseBox
    seeded: bool = False

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return the part of a finite sum to begin with."""
        if n_samples is None:
            return None
        return part(seed, n_samples, first_size(n_samples, self.operator.k))

    def steps(self, context: SolverContext) -> Steps[None]:
        """Search on growing parts of a finite sum, and then, or at once, on the whole of f."""
        context.seeded = self.seeded
        search = yield from begin(context, self.operator)
        if search is None:
            return
        point = search.start
        for size in sizes(context.n_samples, self.operator.k) if context.n_samples else ():
            point = yield from descend(search, point, gain=COARSE)
            point = yield from _enlarge(search, point, size)
        yield from search_thoroughly(search, point)


def begin(context: SolverContext, operator: Sparse | SparseBox) -> Talk[Search | None]:
    """Measure the start, and how finely f can be measured; nothing if f is undefined there."""
    point = Point(context.x, (yield from value_at(context, context.x)))
    if math.isnan(point.value):
        return None
    context.note(point.x, point.value)
    gauge = yield from choose_gauge(context, point)
    return Search(context=context, operator=operator, gauge=gauge, start=point)


def search_thoroughly(search: Search, point: Point) -> Talk[Point]:
    """Search until nothing helps; then kick the point out of its place and search again."""
    point = yield from descend(search, point)
    kicks = 0
    while kicks < KICKS and search.exact and not search.flat and point.x.any():
        other = yield from descend(search, (yield from kick(search, point)))
        kicks = 0 if search.worth(point, other) else kicks + 1
        if other.value < point.value:
            point = other
            search.context.explain(f"kicked out of its place, f fell to {point.value:.6g}.")
        search.context.move(point.x, point.value)
    search.context.explain(
        f"{kicks} new starts nearby led no further: done." if kicks else "nothing helps: done."
    )
    return point


def descend(search: Search, point: Point, *, gain: float | None = None) -> Talk[Point]:
    """Run rounds until they gain nothing more."""
    search.begin(gain)
    favourite = 0
    while search.in_vain < ROUNDS_IN_VAIN:
        found = yield from find_candidates(search, point, np.flatnonzero(point.x))
        moves = _moves(search, point, found)
        better = point
        # what helped last time comes first
        for i in sorted(range(len(moves)), key=lambda i: (i != favourite, i)):
            better = yield from moves[i]()
            if search.worth(point, better):
                much = point.value - better.value > MUCH * abs(point.value)
                favourite = i if much else (i + 1) % len(moves)
                break
        gained = search.worth(point, better)
        point = better if better.value < point.value else point
        search.context.move(point.x, point.value)
        if not gained and (search.sure or gain is not None):
            break
        search.in_vain = 0 if gained else search.in_vain + 1
        search.gauge = search.gauge if gained else finer(search.gauge)
    return point


Move = Callable[[], Talk[Point]]


def _moves(search: Search, point: Point, found: Candidates) -> tuple[Move, ...]:
    """List what may be tried from here, the cheapest first."""
    leap = partial(_leap, search, point, found)
    if search.flat or not search.trusted or np.count_nonzero(point.x) < search.k:
        return (leap,)
    several, few = search.k, max(1, search.k // 3)
    return (
        leap,
        partial(swap, search, point),
        partial(splice, search, point, several),
        partial(splice, search, point, few),
        partial(swap, search, point, afresh=True),
    )


def _leap(search: Search, point: Point, found: Candidates) -> Talk[Point]:
    """Solve with all candidates, keep the k largest, solve again."""
    current = np.flatnonzero(point.x)
    support = np.union1d(current, found.support)
    if support.size <= search.k:
        trial, slopes, inverse = point, found.slopes, search.carried(current, support)
    else:
        trial, inverse = yield from _cut_down(search, point, support, found.slopes)
        support, slopes = np.flatnonzero(trial.x), None
    if support.size == 0 or math.isnan(trial.value):
        return point
    solved = yield from search.solve(
        trial,
        support,
        accuracy=POLISH if np.array_equal(support, current) else NARROW,
        slopes=slopes,
        inverse=inverse,
        goal=point.value,
        patient=True,
    )
    return search.settle(point, solved)


def _cut_down(
    search: Search, point: Point, wide: Indices, slopes: Vector | None
) -> Talk[tuple[Point, Vector | None]]:
    """Solve over more than k coordinates and keep the k largest, with the curvature on them."""
    steps = search.looking // (WIDE_STEPS * wide.size)
    solved = yield from search.solve(
        point,
        wide,
        accuracy=NARROW if steps > WIDE_STEPS else WIDE,
        slopes=slopes,
        steps=max(WIDE_STEPS, steps),
    )
    x = search.operator.prox(solved.point.x, 0.0)
    trial = Point(x, (yield from value_at(search.context, x)))
    search.context.note(trial.x, trial.value)
    if solved.inverse is None:
        return trial, None
    return trial, conditional(solved.inverse, np.flatnonzero(x[wide]))


def _enlarge(search: Search, point: Point, size: int) -> Talk[Point]:
    """Go on with a larger part of a finite sum, which is another function."""
    context = search.context
    assert context.n_samples is not None, "only a finite sum has parts"  # noqa: S101
    context.sample = part(context.seed, context.n_samples, size)
    value = yield from value_at(context, point.x)
    context.forget()
    context.note(point.x, value)
    context.explain(f"f is now the mean over {size} of {context.n_samples} components.")
    search.evidence = None
    search.start = Point(point.x, value)
    return search.start
