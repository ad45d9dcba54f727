"""Sparse minimization where some variables move on a grid: f is compared over whole steps.

Slopes over short differences say nothing about integers. So every variable is tried along its axis
by steps that matter; a quadratic model on the most promising ones and those in the support, with
their interactions measured, chooses the best few; and those are solved for with steps that become
shorter where a variable is continuous, and are never less than one where it is an integer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import numpy as np

from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.grid_model import GridModel, axis_parabola
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext
from szoht.core.algorithm import Ending, Evidence
from szoht.core.query import Plan
from szoht.core.random import Purpose
from szoht.operators import Sparse, SparseBox
from szoht.samplers import Seeds
from szoht.types import Indices, Sample, Vector

__all__ = ["AutoInteger"]

SCAN_LENGTH, SCAN_BOX_SHARE = 0.5, 0.25
"""The step of the first scan, in units, and at most this share of the distance of the bounds."""

SCAN_LENGTHS = (1.0, 0.3, 2.0)
"""Steps of scans, relative to the first; after one round without a gain each, the run ends."""

CANDIDATES_PER_K = 2
"""So many variables outside the support take part in a model, for each that may be changed."""

PAIRS_SHARE = 0.2
"""Of the queries left, interactions take at most this share."""

STEP_FACTOR, SHORTEST_STEP = 0.25, 1e-7
"""By which factor steps of continuous variables are shortened, and down to which length."""

SOLVES_RESERVED = 4
"""A scan leaves room for so many steps on the support after it."""

ROUGH, NEGLIGIBLE = 1e-2, 1e-12
"""A gain of less than this share of all that was gained is left for later, or is none."""


class _SpentError(Exception):
    """A plan would cost more than what is left."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AutoInteger(GeneratorAlgorithm):
    """`auto` for variables of which some are integers: ``grid`` is their step in z, else 0."""

    operator: Sparse | SparseBox
    grid: Vector = field(repr=False)
    seeded: bool = False
    max_queries: int | None = None
    asks_integers: ClassVar[bool] = True

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return the whole of a finite sum, or one seed for all points: values are compared."""
        if n_samples is not None:
            return np.arange(n_samples)
        if not self.seeded:
            return None
        context = SolverContext(seed=seed, x=np.zeros(1), sample=None)
        return Seeds().draw(context.key(), None)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Scan, choose, solve; with other lengths where that gains nothing."""
        search = _GridSearch.of(context, self)
        yield from search.start()
        while math.isfinite(search.best.value):
            try:
                yield from search.run()
            except _SpentError:
                # more queries than there are: the run ends with its limit, unless it is extended
                beyond = int(search.left) + 1
                yield Plan(queries=tuple(context.query(search.best.z) for _ in range(beyond)))
                search.budget = math.inf
            else:
                return


@dataclass
class _GridSearch:
    context: SolverContext
    k: int
    low: Vector
    high: Vector
    grid: Vector
    budget: float
    best: EvaluatedPoint
    first: float = math.nan
    spent: int = 0
    price: int = 1
    curvature: Vector = field(default_factory=lambda: np.empty(0))
    complete: bool = True

    @classmethod
    def of(cls, context: SolverContext, solver: AutoInteger) -> "_GridSearch":
        d, operator = context.x.size, solver.operator
        infinite = np.full(d, np.inf)
        low, high = -infinite, infinite
        if isinstance(operator, SparseBox):
            low, high = (np.broadcast_to(bound, (d,)) for bound in (operator.low, operator.high))
        return cls(
            context=context,
            k=operator.k,
            low=np.asarray(low),
            high=np.asarray(high),
            grid=solver.grid,
            budget=math.inf if solver.max_queries is None else solver.max_queries,
            best=EvaluatedPoint(np.array(context.x), math.nan),
            price=1 if context.sample is None else int(context.sample.size),
            curvature=np.full(d, np.nan),
        )

    @property
    def left(self) -> float:
        """Points that can be paid for; infinite if the budget is unknown or was extended."""
        paid = self.spent * self.price
        return math.inf if paid >= self.budget else (self.budget - paid) // self.price

    @property
    def free(self) -> Indices:
        """The variables with at least two places."""
        return np.flatnonzero(self.high - self.low > 0.5 * self.grid)

    @property
    def length(self) -> Vector:
        """The step of the first scan."""
        return np.minimum(SCAN_LENGTH, SCAN_BOX_SHARE * (self.high - self.low))

    def start(self) -> Steps[None]:
        """Measure the start; the value is infinite if it failed."""
        (self.first,) = (yield from self.values([self.best.z])).tolist()
        self.best = EvaluatedPoint(self.best.z, self.first)
        if math.isfinite(self.first):
            self.context.move(self.best.z, self.first)

    def run(self) -> Steps[None]:
        """Search until no length of scan leads to a gain."""
        without_gain, share = 0, ROUGH
        while without_gain < len(SCAN_LENGTHS):
            before = self.best.value
            yield from self.round(SCAN_LENGTHS[without_gain], share, everywhere=without_gain > 0)
            if self.gained(before, ROUGH):
                without_gain, share = 0, ROUGH
            elif share == ROUGH:  # the support has settled: solve for it to the end
                share = NEGLIGIBLE
                yield from self.solve(self.best.support, share)
            elif self.gained(before, NEGLIGIBLE):
                without_gain = 0
            elif self.complete:
                without_gain += 1
        ending = Ending.CONVERGED if self.best.value < self.first else Ending.NO_PROGRESS
        self.context.ending = ending
        self.context.evidence = Evidence(
            noise="not tested: f is compared over whole steps",
            slopes="every variable was tried along its axis",
            lengths=SCAN_LENGTHS,
            tried=(("scan", len(SCAN_LENGTHS)),),
        )

    def round(self, length: float, share: float, *, everywhere: bool) -> Steps[None]:
        """Scan all axes, choose the best few by a model with interactions, and solve for them."""
        here = self.best
        slope, curvature = yield from self.scan(length * self.length, everywhere=everywhere)
        gains = self.axis_gains(here, slope, curvature)
        support = here.support
        outside = np.setdiff1d(self.free, support)
        order = outside[np.argsort(-gains[outside], kind="stable")]
        promising = order[gains[order] > 0][: CANDIDATES_PER_K * self.k]
        wide = self.affordable(np.concatenate([support, promising]).astype(np.intp), support.size)
        self.context.explain(
            f"{self.spent} queries: axes tried by {length:g} times the usual step, best are "
            f"{order[: self.k].tolist()}."
        )
        if wide.size:
            model = yield from self.model(here, wide, slope[wide], curvature[wide], length)
            z = here.z.copy()
            z[wide] += model.best_subset(self.k)
            yield from self.try_points([z])
        yield from self.solve(self.best.support, share)
        self.context.move(self.best.z, self.best.value)

    def scan(self, length: Vector, *, everywhere: bool) -> Steps[tuple[Vector, Vector]]:
        """Return slope and curvature along every axis, over steps that matter.

        Curvature that is known from an earlier scan saves the second point, unless ``everywhere``.
        """
        here = self.best
        tries = self.scan_steps(length, everywhere=everywhere)
        points = [_moved(here.z, [i], [offset]) for i, offset in tries]
        changes = (yield from self.values(points)) - here.value
        self.keep_best(points, changes + here.value)
        slope, curvature = np.zeros(here.z.size), np.zeros(here.z.size)
        found: dict[int, list[tuple[float, float]]] = {}
        for (i, offset), change in zip(tries, changes.tolist(), strict=True):
            if math.isfinite(change):
                found.setdefault(i, []).append((offset, change))
        for i, pairs in found.items():
            offsets, values = map(np.array, zip(*pairs, strict=True))
            if len(pairs) == 1 and math.isfinite(self.curvature[i]):
                curvature[i] = self.curvature[i]
                slope[i] = values[0] / offsets[0] - 0.5 * curvature[i] * offsets[0]
            else:
                slope[i], curvature[i] = axis_parabola(offsets, values)
                self.curvature[i] = curvature[i]
        return slope, curvature

    def scan_steps(self, length: Vector, *, everywhere: bool) -> list[tuple[int, float]]:
        """Return which steps along which axes to try: as many as can be paid for."""
        z = self.best.z
        tries: dict[int, list[float]] = {}
        for i in self.free.tolist():
            offsets = self.axis_offsets(z, i, float(length[i]))
            known = math.isfinite(self.curvature[i]) and not everywhere and z[i] == 0
            tries[i] = offsets[:1] if known else offsets
        most = max(0.5 * self.left, self.left - SOLVES_RESERVED * self.local_cost)
        if sum(map(len, tries.values())) > most:
            tries = {i: offsets[:1] for i, offsets in tries.items()}
        order = self.context.key().generator(Purpose.EXCHANGE).permutation(self.free)
        order = np.concatenate([self.best.support, order[~np.isin(order, self.best.support)]])
        chosen = order[: max(1, int(most))] if len(tries) > most else self.free
        self.complete = chosen.size == self.free.size
        return [(i, offset) for i in chosen.tolist() for offset in tries[i]]

    @property
    def local_cost(self) -> int:
        """Queries of one step on the support."""
        return 2 * self.k + self.k * (self.k - 1) // 2 + 1

    def axis_offsets(self, z: Vector, i: int, length: float) -> list[float]:
        """Return one or two steps along an axis, inside the bounds and on the grid."""
        here, low, high, step = z[i], self.low[i], self.high[i], self.grid[i]
        length = max(length, step)
        wanted = [length, -length, 2 * length, -2 * length]
        if here != 0:  # putting it back is always of interest
            sign = math.copysign(1.0, here)
            wanted = [-here, sign * length, -sign * length, -2 * here]
        places = [min(max(here + offset, low), high) for offset in wanted]
        if step > 0:
            places = [self.on_grid(i, place) for place in places]
        offsets: list[float] = []
        for place in places:
            offset = place - here
            if abs(offset) > 0.2 * min(length, high - low) and all(
                abs(offset - other) > 0.2 * length for other in offsets
            ):
                offsets.append(offset)
        return offsets[:2]

    def on_grid(self, i: int, place: float) -> float:
        """Return the nearest place of the grid inside the bounds."""
        step = self.grid[i]
        first, last = np.ceil(self.low[i] / step - 1e-9), np.floor(self.high[i] / step + 1e-9)
        return float(min(max(np.rint(place / step), first), last) * step)

    def axis_gains(self, here: EvaluatedPoint, slope: Vector, curvature: Vector) -> Vector:
        """Return what each axis alone is expected to gain."""
        box = self.reach(here, 2 * np.maximum(self.length, self.grid))
        gains = np.zeros(here.z.size)
        for i in self.free:
            model = self.grid_model(here, np.array([i]), slope[[i]], curvature[[i]], box)
            gains[i] = -model.change(model.descend(np.zeros(1), [0]))
        return gains

    def reach(self, here: EvaluatedPoint, length: Vector) -> tuple[Vector, Vector]:
        """Return bounds no farther than ``length`` from here, with zero inside."""
        z = here.z
        low = np.maximum(self.low, np.minimum(z - length, 0.0))
        high = np.minimum(self.high, np.maximum(z + length, 0.0))
        return low, high

    def affordable(self, wide: Indices, least: int) -> Indices:
        """Return as many of the variables as have interactions that can be paid for."""
        count = wide.size
        while count > max(least, 1) and count * (count - 1) / 2 > PAIRS_SHARE * self.left:
            count -= 1
        return wide[:count]

    def model(
        self, here: EvaluatedPoint, wide: Indices, slope: Vector, curvature: Vector, length: float
    ) -> Steps[GridModel]:
        """Measure the interactions of some variables, and return the model on them."""
        steps = np.zeros(wide.size)
        for a, i in enumerate(wide.tolist()):
            offsets = self.axis_offsets(here.z, i, length * float(self.length[i]))
            expected = [slope[a] * t + 0.5 * curvature[a] * t * t for t in offsets]
            steps[a] = offsets[int(np.argmin(expected))] if offsets else 0.0
        pairs = [(a, b) for a, b in combinations(range(wide.size), 2) if steps[a] and steps[b]]
        points = [_moved(here.z, wide[[a, b]], steps[[a, b]]) for a, b in pairs]
        changes = (yield from self.values(points)) - here.value
        self.keep_best(points, changes + here.value)
        hessian = np.diag(curvature)
        alone = slope * steps + 0.5 * curvature * steps**2
        for (a, b), change in zip(pairs, changes.tolist(), strict=True):
            if math.isfinite(change):
                mixed = (change - alone[a] - alone[b]) / (steps[a] * steps[b])
                hessian[a, b] = hessian[b, a] = mixed
        box = self.reach(here, 4 * np.maximum(length * self.length, self.grid))
        return self.grid_model(here, wide, slope, hessian, box)

    def grid_model(
        self,
        here: EvaluatedPoint,
        wide: Indices,
        slope: Vector,
        hessian: Vector,
        box: tuple[Vector, Vector],
    ) -> GridModel:
        return GridModel(
            here=here.z[wide],
            slope=slope,
            hessian=hessian if hessian.ndim > 1 else np.diag(hessian),
            low=box[0][wide],
            high=box[1][wide],
            grid=self.grid[wide],
        )

    def solve(self, support: Indices, share: float) -> Steps[None]:
        """Descend on the support by models over shorter and shorter steps.

        A step that gains less than ``share`` of all that was gained is shortened; roughly, once.
        """
        if not support.size:
            return
        length = 0.5
        while length * SCAN_LENGTH > SHORTEST_STEP:
            before = self.best.value
            steps = np.maximum(length * self.length, self.grid)
            expected = yield from self.local_step(support, steps)
            if not self.gained(before, share):
                whole = bool((self.grid[support] > 0).all())
                settled = -expected < share * abs(self.first - self.best.value)
                if whole or (length < STEP_FACTOR and (settled or share == ROUGH)):
                    return
                length *= STEP_FACTOR
            elif before - self.best.value < 0.5 * -expected:
                length *= STEP_FACTOR

    def local_step(self, support: Indices, steps: Vector) -> Steps[float]:
        """Measure a quadratic model around the incumbent, go to its minimum; what it expected."""
        here = self.best
        slope, curvature = np.zeros(support.size), np.zeros(support.size)
        tries = [
            (a, offset)
            for a, i in enumerate(support.tolist())
            for offset in self.local_offsets(here.z[i], i, float(steps[i]))
        ]
        pairs = []
        for a, b in combinations(range(support.size), 2):
            first = [offset for c, offset in tries if c == a][:1]
            second = [offset for c, offset in tries if c == b][:1]
            if first and second:
                pairs.append((a, b, first[0], second[0]))
        points = [_moved(here.z, [support[a]], [offset]) for a, offset in tries]
        points += [_moved(here.z, support[[a, b]], [p, q]) for a, b, p, q in pairs]
        values = yield from self.values(points)
        changes = values - here.value
        for a in range(support.size):
            mine = [
                (offset, change)
                for (c, offset), change in zip(tries, changes, strict=False)
                if c == a and math.isfinite(change)
            ]
            if mine:
                slope[a], curvature[a] = axis_parabola(*map(np.array, zip(*mine, strict=True)))
        hessian = np.diag(curvature)
        for (a, b, p, q), change in zip(pairs, changes[len(tries) :], strict=True):
            alone = slope[a] * p + 0.5 * curvature[a] * p * p
            alone += slope[b] * q + 0.5 * curvature[b] * q * q
            if math.isfinite(change):
                hessian[a, b] = hessian[b, a] = (change - alone) / (p * q)
        low, high = here.z - 8 * steps, here.z + 8 * steps
        box = np.maximum(self.low, low), np.minimum(self.high, high)
        model = self.grid_model(here, support, slope, hessian, box)
        t = model.descend(np.zeros(support.size), np.arange(support.size))
        z = here.z.copy()
        z[support] += t
        self.keep_best(points, values)
        yield from self.try_points([z])
        return min(model.change(t), 0.0)

    def local_offsets(self, here: float, i: int, step: float) -> list[float]:
        """Return a step to either side, or two steps to one side at a bound."""
        other = 2 * step if self.grid[i] > 0 else 0.5 * step
        offsets: list[float] = []
        for wanted in (step, -step, other, -other):
            place = min(max(here + wanted, self.low[i]), self.high[i])
            place = self.on_grid(i, place) if self.grid[i] > 0 else place
            offset = place - here
            if all(abs(offset - known) > 0.2 * step for known in (0.0, *offsets)):
                offsets.append(offset)
        return offsets[:2]

    def gained(self, before: float, share: float) -> bool:
        """Tell whether more than this share of all that was gained has come since ``before``."""
        return before - self.best.value > share * abs(self.first - self.best.value)

    def try_points(self, points: Sequence[Vector]) -> Steps[None]:
        """Measure points that may be the answer."""
        values = yield from self.values(points)
        self.keep_best(points, values)

    def keep_best(self, points: Sequence[Vector], values: Vector) -> None:
        """Keep the best point that satisfies the constraint."""
        for i in np.argsort(values, kind="stable").tolist():
            if not values[i] < self.best.value:
                return
            if np.count_nonzero(points[i]) <= self.k:
                self.best = EvaluatedPoint(points[i], float(values[i]))
                self.context.note(points[i], float(values[i]))
                return

    def values(self, points: Sequence[Vector]) -> Steps[Vector]:
        """Measure f at points in one plan; infinite where it failed."""
        if not points:
            return np.empty(0)
        if len(points) > self.left:
            raise _SpentError
        answers = yield Plan(queries=tuple(self.context.query(point) for point in points))
        self.spent += len(points)
        values = np.array([float(answer.values[0]) for answer in answers])
        return np.where(np.isnan(values), np.inf, values)


def _moved(z: Vector, where: Sequence[int] | Indices, offsets: Sequence[float] | Vector) -> Vector:
    moved = z.copy()
    moved[where] += offsets
    return moved
