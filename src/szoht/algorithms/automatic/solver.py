"""The solver that needs no tuning: find the coordinates that matter, solve on them, look again."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from szoht.algorithms.automatic.measure import Measurements, Talk, axis_slopes, signs, value_at
from szoht.algorithms.automatic.recover import Evidence, Recovery, gather, recover
from szoht.algorithms.automatic.restricted import Point, Solved, exchanged, minimise_on
from szoht.operators import Sparse, SparseBox
from szoht.operators.base import largest
from szoht.queries import Plan
from szoht.scripted import Conversation, Notebook, Scripted
from szoht.types import Indices, Sample, Vector

__all__ = ["Auto"]

RADIUS = 1e-6
"""Of a difference, relative to the point, when values carry no noise."""

BELIEVED = 0.1
"""Held-out error below which a recovered gradient is believed."""

FEW, MANY, FILTER = 1.3, 2.9, 4.0
"""Measurements for sparse recovery at first and at most, and for the matched filter, in units of
k (1 + log(d / k)). The last is doubled after each round in vain."""

WIDE, NARROW, POLISH = 0.3, 0.1, 1e-4
"""How far the gradient must shrink: over all candidates, on k of them, on an unchanged support."""

WIDE_STEPS, STEPS = 3, 20

GAIN = 1e-7
"""A round that gains less than this share of f was in vain."""

DENSE = 3.0
"""A gradient that is not sparse is measured along all axes if that costs this many times the
matched filter at most: its slopes are then exact."""

LONGEST_RADIUS, WIDENING = 10.0, 30.0
"""How far, relative to the point, a radius may grow where values do not change, and how fast."""

ADDS, SWAPS = 4, 60
"""Coordinates to try to exchange for, in units of k, and exchanges to try in one round."""

ROUNDS_IN_VAIN = 6


class Candidates(NamedTuple):
    """Coordinates worth trying, and the slopes on them if they are all there is."""

    support: Indices
    slopes: Vector | None = None


@dataclass(kw_only=True)
class Search:
    """What a search knows besides its notebook."""

    notebook: Notebook
    radius: float
    noise: float
    in_vain: int = 0
    evidence: Evidence | None = None
    slopes: Vector | None = None
    trusted: bool = False  # exact, or as good as they will get
    inverse: Vector | None = None
    tried: set[tuple[int, int]] = field(default_factory=set)

    def worth(self, before: Point, after: Point) -> bool:
        """Tell whether a step gained more than noise and rounding can explain."""
        return before.value - after.value > max(self.noise, GAIN * abs(before.value))


@dataclass(frozen=True, kw_only=True)
class Auto(Scripted):
    """Sparse minimisation that needs no parameter but the constraint.

    Each round (1) measures slopes along random signs at the iterate; (2) tries to explain them by
    few coordinates and believes it if held-out measurements agree; else takes the coordinates
    that a matched filter points out, or measures all axes where that is no dearer; (3) minimises
    over the support and these candidates by quasi-Newton; (4) keeps the k best and minimises
    again. See `auto`.
    """

    operator: Sparse | SparseBox

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Take a finite sum as a whole: all values are then values of one function."""
        del seed
        return None if n_samples is None else np.arange(n_samples)

    def script(self, notebook: Notebook) -> Conversation:
        """Run rounds until several of them were in vain."""
        point = Point(notebook.x, (yield from value_at(notebook, notebook.x)))
        if math.isnan(point.value):
            return
        notebook.note(point.x, point.value)
        search = yield from _prepare(notebook, point)
        while search.in_vain < ROUNDS_IN_VAIN:
            better = yield from self._round(search, point)
            if not search.worth(point, better) and search.trusted:
                better = yield from self._swap(search, better)
            search.in_vain = 0 if search.worth(point, better) else search.in_vain + 1
            point = better
            notebook.move(point.x, point.value)
        notebook.explain(f"{ROUNDS_IN_VAIN} rounds in vain, each with more measurements: done.")

    def _round(self, search: Search, point: Point) -> Talk[Point]:
        """Look for candidates, solve with them, prune, solve again; return what is better."""
        current = np.flatnonzero(point.x)
        found = yield from self._candidates(search, point, current)
        support = np.union1d(current, found.support)
        trial, slopes = point, found.slopes
        if support.size > self.operator.k:
            wide = yield from self._solve(search, point, support, accuracy=WIDE)
            x = self.operator.prox(wide.point.x, 0.0)
            trial = Point(x, (yield from value_at(search.notebook, x)))
            search.notebook.note(trial.x, trial.value)
            support, slopes = np.flatnonzero(x), None
        if support.size and not math.isnan(trial.value):
            accuracy = POLISH if np.array_equal(support, current) else NARROW
            solved = yield from self._solve(
                search, trial, support, accuracy=accuracy, slopes=slopes
            )
            trial = solved.point
            if trial.value < point.value and solved.inverse is not None:
                search.inverse = solved.inverse
        return trial if trial.value < point.value else point

    def _swap(self, search: Search, point: Point) -> Talk[Point]:
        """Exchange one coordinate of the support for one outside it, and solve again.

        What the slopes say is true near the iterate only; an exchange changes much at once. The
        cheapest to drop are known exactly, by one query each; the best to add by their slopes.
        """
        support = np.flatnonzero(point.x)
        if support.size < self.operator.k or search.slopes is None:
            return point
        dropped = yield from _without_each(search.notebook, point.x, support)
        drops = support[np.argsort(dropped, kind="stable")]
        adds = self._steepest(search.slopes, support, ADDS * (1 + search.in_vain))
        adds = adds[np.argsort(-np.abs(search.slopes[adds]), kind="stable")]
        inverse = search.inverse
        if inverse is not None and inverse.shape[0] != support.size:
            inverse = None
        pairs = sorted(np.ndindex(drops.size, adds.size), key=sum)
        fresh = [(i, j) for i, j in pairs if (int(drops[i]), int(adds[j])) not in search.tried]
        for i, j in fresh[:SWAPS]:
            search.tried.add((int(drops[i]), int(adds[j])))
            x = point.x.copy()
            x[drops[i]] = 0.0
            start = Point(x, float(np.sort(dropped)[i]))
            other = np.sort(np.append(np.setdiff1d(support, drops[i]), adds[j]))
            guess = None if inverse is None else exchanged(inverse, support, other)
            solved = yield from self._solve(
                search, start, other, accuracy=NARROW, inverse=guess, goal=point.value
            )
            if search.worth(point, solved.point):
                search.notebook.explain(f"coordinate {drops[i]} exchanged for {adds[j]}.")
                search.tried.clear()
                search.inverse = solved.inverse
                return solved.point
        return point

    def _solve(
        self,
        search: Search,
        start: Point,
        support: Indices,
        *,
        accuracy: float,
        slopes: Vector | None = None,
        inverse: Vector | None = None,
        goal: float = -math.inf,
    ) -> Talk[Solved]:
        feasible = support.size <= self.operator.k
        return (
            yield from minimise_on(
                search.notebook,
                start,
                support,
                radius=search.radius,
                noise=search.noise,
                steps=STEPS if feasible else WIDE_STEPS,
                accuracy=accuracy,
                bounds=self._bounds(support),
                slopes=slopes,
                inverse=inverse,
                goal=goal,
                feasible=feasible,
            )
        )

    def _candidates(self, search: Search, point: Point, current: Indices) -> Talk[Candidates]:
        """Find coordinates to try: by recovery, by the matched filter, or along all axes."""
        k, d = self.operator.k, point.x.size
        unit = k * (1 + math.log(d / k))
        most = math.ceil(FILTER * unit * 2**search.in_vain)
        if most >= d:
            return (yield from self._axes(search, point, current))
        measured = yield from self._measure(search, point, Measurements(), math.ceil(FEW * unit))
        if not measured.slopes.any() and (yield from _widen(search, point)):
            return (yield from self._candidates(search, point, current))
        while True:
            recovery = recover(measured, 2 * k)
            size = measured.slopes.size
            if recovery.error < BELIEVED:
                search.notebook.explain(
                    f"{size} measurements: the gradient is sparse (held-out error "
                    f"{recovery.error:.1e})."
                )
                return self._recovered(recovery, current)
            if size >= MANY * unit:
                break
            measured = yield from self._measure(search, point, measured, max(4, size // 3))
        if d <= DENSE * most:
            return (yield from self._axes(search, point, current))
        measured = yield from self._measure(search, point, measured, most - size)
        return (yield from self._filtered(search, point, current, measured))

    def _axes(self, search: Search, point: Point, current: Indices) -> Talk[Candidates]:
        d = point.x.size
        slopes = yield from axis_slopes(
            search.notebook, point.x, point.value, search.radius, np.arange(d)
        )
        if not slopes.any() and (yield from _widen(search, point)):
            return (yield from self._axes(search, point, current))
        search.slopes, search.trusted = slopes, True
        search.notebook.explain(f"all {d} slopes measured: random directions are no cheaper.")
        return Candidates(self._steepest(slopes, current))

    def _filtered(
        self, search: Search, point: Point, current: Indices, measured: Measurements
    ) -> Talk[Candidates]:
        slopes = np.empty(0)
        if current.size:
            slopes = yield from axis_slopes(
                search.notebook, point.x, point.value, search.radius, current
            )
        search.evidence = gather(measured, current, slopes, search.evidence)
        search.slopes, search.trusted = search.evidence.slopes, search.in_vain > 1
        support = self._steepest(search.slopes, current)
        search.notebook.explain(
            f"{measured.slopes.size} measurements: the gradient is not sparse; the {support.size} "
            "coordinates that stand out most are tried."
        )
        return Candidates(support)

    def _measure(
        self, search: Search, point: Point, so_far: Measurements, count: int
    ) -> Talk[Measurements]:
        if count <= 0:
            return so_far
        new = yield from signs(search.notebook, point.x, point.value, search.radius, count)
        return so_far.more(new)

    def _recovered(self, recovery: Recovery, current: Indices) -> Candidates:
        """Keep the k steepest; slopes can be used as they are only if nothing else joins them."""
        steepest = np.sort(largest(np.abs(recovery.slopes), self.operator.k))
        order = steepest[np.argsort(recovery.support[steepest])]
        support = recovery.support[order]
        alone = bool(np.isin(current, support).all())
        return Candidates(support, recovery.slopes[order] if alone else None)

    def _steepest(self, slopes: Vector, current: Indices, times: int = 2) -> Indices:
        outside = np.abs(slopes)
        outside[current] = 0.0
        return largest(outside, times * self.operator.k)

    def _bounds(self, support: Indices) -> tuple[Vector, Vector]:
        if isinstance(self.operator, Sparse):
            return np.full(support.size, -np.inf), np.full(support.size, np.inf)
        return _at(self.operator.low, support), _at(self.operator.high, support)


def _widen(search: Search, point: Point) -> Talk[bool]:
    """Lengthen the radius until values change: f may be a step function, or coarsely rounded."""
    longest = LONGEST_RADIUS * max(1.0, float(np.abs(point.x).max()))
    while search.radius < longest:
        search.radius = min(search.radius * WIDENING, longest)
        few = yield from signs(search.notebook, point.x, point.value, search.radius, 4)
        if few.slopes.any():
            search.notebook.explain(
                f"values do not change over less: differences over {search.radius:.1e}."
            )
            return True
    return False


def _without_each(notebook: Notebook, x: Vector, support: Indices) -> Talk[Vector]:
    """Measure f with each coordinate of the support set to zero in turn."""
    points = np.tile(x, (support.size, 1))
    points[np.arange(support.size), support] = 0.0
    answers = yield Plan(queries=tuple(notebook.query(point.copy()) for point in points))
    return np.array([answer.values[0] for answer in answers])


def _at(bound: float | Vector, support: Indices) -> Vector:
    return np.full(support.size, bound) if np.ndim(bound) == 0 else np.asarray(bound)[support]


def _prepare(notebook: Notebook, point: Point) -> Talk[Search]:
    """Ask the first value again: if it differs, values are noisy, and this is by how much."""
    again = yield from value_at(notebook, point.x)
    size = max(1.0, float(np.abs(point.x).max()))
    noise = abs(again - point.value) if math.isfinite(again) else 0.0
    if noise == 0:
        return Search(notebook=notebook, radius=RADIUS * size, noise=0.0)
    # A difference errs by noise / h, and by L h for curvature L: least where h = sqrt(noise / L).
    # |f| stands in for L, in units in which the point has size 1.
    radius = size * min(1.0, math.sqrt(noise / max(abs(point.value), noise)))
    notebook.explain(f"asked again, a value differs by {noise:.1e}: differences over {radius:.1e}.")
    return Search(notebook=notebook, radius=radius, noise=2 * noise)
