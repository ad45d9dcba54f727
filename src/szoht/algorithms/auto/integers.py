"""Sparse minimization where some variables move on a grid: f is compared over whole steps.

Slopes over short differences say nothing about integers. So every variable is tried along its axis
by steps that matter; a quadratic model on the most promising ones and those in the support, with
their interactions measured, chooses the best few; and those are solved for with steps that become
shorter where a variable is continuous, and are never less than one where it is an integer.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import numpy as np

from szoht.algorithms.auto.budget import BudgetSpentError
from szoht.algorithms.auto.grid_values import GridValues
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseKind, Steps
from szoht.algorithms.auto.restricted.grid_model import (
    GridModel,
    Pair,
    Try,
    add_interactions,
    fit_axes,
)
from szoht.algorithms.auto.restricted.lattice import Lattice
from szoht.algorithms.auto.state import NEGLIGIBLE_VALUE_SHARE
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext
from szoht.core.algorithm import Ending, Evidence
from szoht.core.query import Plan
from szoht.core.random import Purpose
from szoht.operators import Sparse, SparseBox
from szoht.samplers import Seeds
from szoht.types import Indices, Sample, Vector

__all__ = ["AutoInteger"]

SCAN_LENGTHS = (1.0, 0.3, 2.0)
"""Steps of scans, relative to the usual one; after one round without a gain each, the run ends."""

CANDIDATES_PER_K = 2
"""So many variables outside the support take part in a model, for each that may be changed."""

PAIRS_SHARE = 0.2
"""Of the queries left, interactions take at most this share."""

EXCHANGES_SHARE = 0.1
"""And one round of exchanges at most this share."""

FIRST_LOCAL_STEP, STEP_FACTOR, SHORTEST_STEP = 0.5, 0.25, 2e-7
"""Steps on the support, relative to the usual one: the first, by which factor those of continuous
variables are shortened, and down to which length."""

TRUSTED_STEPS = 8.0
"""The minimum of a model is trusted within so many steps."""

SOLVES_RESERVED = 4
"""A scan leaves room for so many steps on the support after it."""

SHORTENINGS, FAILED_SHARE = 3, 0.25
"""Steps of a scan that fail are halved so many times, while that takes at most this share of the
queries left."""

ROUGH_GAIN = 1e-2
"""A gain of less than this share of all that was gained is left for later."""

TOLD_NOISE = {
    None: "not tested: no value was asked twice",
    False: "the same point gives the same value",
    True: NoiseKind.FRESH.value,
}
"""What the evidence says about noise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AutoInteger(GeneratorAlgorithm):
    """`auto` for variables of which some are integers: ``grid`` is their step in z, else 0."""

    answers_best: ClassVar[bool] = True

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
            except BudgetSpentError:
                if search.noisy:
                    yield from search.settle()
                # more queries than there are: the run ends with its limit, unless it is extended
                beyond = int(search.left) + 1 if math.isfinite(search.left) else 1
                yield Plan(queries=tuple(context.query(search.best.z) for _ in range(beyond)))
                search.budget = math.inf
            else:
                return


@dataclass(kw_only=True)
class _GridSearch(GridValues):
    lattice: Lattice
    curvature: Vector
    complete: bool = True

    @classmethod
    def of(cls, context: SolverContext, solver: AutoInteger) -> "_GridSearch":
        d, operator = context.x.size, solver.operator
        low, high = np.full(d, -np.inf), np.full(d, np.inf)
        if isinstance(operator, SparseBox):
            low, high = (np.broadcast_to(bound, (d,)) for bound in (operator.low, operator.high))
        return cls(
            context=context,
            k=operator.k,
            lattice=Lattice(low=np.asarray(low), high=np.asarray(high), grid=solver.grid),
            budget=math.inf if solver.max_queries is None else solver.max_queries,
            best=EvaluatedPoint(np.array(context.x), math.nan),
            price=1 if context.sample is None else int(context.sample.size),
            curvature=np.full(d, np.nan),
        )

    def run(self) -> Steps[None]:
        """Search until no length of scan leads to a gain."""
        without_gain, share = 0, ROUGH_GAIN
        while without_gain < len(SCAN_LENGTHS):
            before = self.best.value
            yield from self.round(SCAN_LENGTHS[without_gain], share, everywhere=without_gain > 0)
            if self.gained(before, ROUGH_GAIN):
                yield from self.check_noise()
                without_gain, share = 0, ROUGH_GAIN
            elif share == ROUGH_GAIN:  # the support has settled: solve for it to the end
                share = NEGLIGIBLE_VALUE_SHARE
                yield from self.solve(self.best.support, share)
            elif self.gained(before, NEGLIGIBLE_VALUE_SHARE):
                without_gain = 0
            elif self.complete:
                without_gain += 1
        if self.noisy is None:
            yield from self.check_noise()
        noise, ending = TOLD_NOISE[self.noisy], Ending.CONVERGED
        if self.noisy:
            ending = Ending.EXHAUSTED
            yield from self.settle()
        self.context.ending = ending if self.best.value < self.first else Ending.NO_PROGRESS
        self.context.evidence = Evidence(
            noise=noise,
            slopes="every variable was tried along its axis",
            lengths=SCAN_LENGTHS,
            tried=(("scan", len(SCAN_LENGTHS)),),
        )

    def round(self, length: float, share: float, *, everywhere: bool) -> Steps[None]:
        """Scan all axes, choose the best few by a model with interactions, and solve for them."""
        here = self.best
        slope, curvature = yield from self.scan(length, everywhere=everywhere)
        gains, steps = self.axis_gains(here.z, slope, curvature)
        outside = np.setdiff1d(self.lattice.free, here.support)
        order = outside[np.argsort(-gains[outside], kind="stable")]
        promising = order[gains[order] > 0][: CANDIDATES_PER_K * self.k]
        wide = self.affordable(here.support, promising)
        best = promising[: self.k].tolist()
        found = f"best are {best}" if best else "none gains"
        self.context.explain(
            f"{self.spent} queries: axes tried by {length:g} times the usual step, {found}."
        )
        if wide.size:
            model = yield from self.model(here, wide, slope[wide], curvature[wide], length)
            z = here.z.copy()
            z[wide] += model.best_subset(self.k)
            yield from self.measure([z])
        yield from self.exchange({int(i): here.z[i] + steps[i] for i in promising})
        yield from self.solve(self.best.support, share)
        self.context.move(self.best.z, self.best.value)

    def scan(self, length: float, *, everywhere: bool) -> Steps[tuple[Vector, Vector]]:
        """Return slope and curvature along every axis, over steps that matter.

        Curvature that is known from an earlier scan saves the second point, unless ``everywhere``.
        """
        here = self.best
        tries = self.scan_steps(length, everywhere=everywhere)
        changes = (yield from self.measure([_moved(here.z, [one]) for one in tries])) - here.value
        for _ in range(SHORTENINGS):
            failed = [one for one, change in zip(tries, changes, strict=True) if change == np.inf]
            shorter = self.shorter_steps(here.z, failed, tries)
            points = [_moved(here.z, [one]) for one in shorter]
            more = (yield from self.measure(points)) - here.value
            tries = [one for one in tries if one not in failed] + shorter
            changes = np.concatenate([changes[changes != np.inf], more])
        slope, curvature = fit_axes(tries, changes, here.z.size, self.curvature)
        tried = [one.axis for one, change in zip(tries, changes, strict=True) if change < np.inf]
        self.curvature[tried] = curvature[tried]
        return slope, curvature

    def scan_steps(self, length: float, *, everywhere: bool) -> list[Try]:
        """Return which steps along which axes to try: as many as can be paid for."""
        z, lattice = self.best.z, self.lattice
        offsets: dict[int, list[float]] = {}
        for i in lattice.free.tolist():
            offsets[i] = lattice.long_offsets(float(z[i]), i, length * float(lattice.length[i]))
            if math.isfinite(self.curvature[i]) and not everywhere and z[i] == 0:
                offsets[i] = offsets[i][:1]
        local_cost = 2 * self.k + self.k * (self.k - 1) // 2 + 1
        most = max(0.5 * self.left, self.left - SOLVES_RESERVED * local_cost)
        if sum(map(len, offsets.values())) > most:
            offsets = {i: steps[:1] for i, steps in offsets.items()}
        chosen = lattice.free
        if chosen.size > most:  # the support first, others at random
            order = self.context.key().generator(Purpose.EXCHANGE).permutation(chosen)
            support = self.best.support
            order = np.concatenate([support, order[~np.isin(order, support)]])
            chosen = order[: max(1, int(most))]
        self.complete = chosen.size == lattice.free.size
        return [Try(i, offset) for i in chosen.tolist() for offset in offsets.get(i, [])]

    def shorter_steps(self, z: Vector, failed: list[Try], tries: list[Try]) -> list[Try]:
        """Return half of each step that failed, if there is a place and queries for it."""
        shorter = [
            Try(i, self.lattice.place(i, float(z[i]) + 0.5 * offset) - float(z[i]))
            for i, offset in failed
        ]
        new = [one for one in dict.fromkeys(shorter) if one.offset != 0 and one not in tries]
        return new if len(new) <= FAILED_SHARE * self.left else []

    def exchange(self, places: dict[int, float]) -> Steps[None]:
        """Put others in the place of each variable of the support, one at a time, while that gains.

        Where f is rough, or changes do not add up, a model is wrong about that.
        """
        gained = True
        while gained:
            here, support = self.best, self.best.support.tolist()
            removed = [[i] for i in support] if len(support) == self.k else [[]]
            points = [
                _replaced(here.z, out, i, place)
                for i, place in places.items()
                for out in (removed if i not in support else [])
            ]
            if len(points) > EXCHANGES_SHARE * self.left:
                points = points[: int(EXCHANGES_SHARE * self.left)]
            yield from self.measure(points)
            gained = self.gained(here.value, ROUGH_GAIN)

    def axis_gains(self, z: Vector, slope: Vector, curvature: Vector) -> tuple[Vector, Vector]:
        """Return what each axis alone is expected to gain, and the steps that would."""
        lattice = self.lattice
        box = lattice.around_and_zero(z, 2 * np.maximum(lattice.length, lattice.grid))
        gains, steps = np.zeros(z.size), np.zeros(z.size)
        for i in lattice.free:
            fit = slope[[i]], np.array([[curvature[i]]])
            model = lattice.model(z, np.array([i]), fit, box)
            step = model.descend(np.zeros(1), [0])
            gains[i], steps[i] = -model.change(step), step[0]
        return gains, steps

    def affordable(self, support: Indices, promising: Indices) -> Indices:
        """Return the support and as many others as have interactions that can be paid for."""
        count = support.size + promising.size
        while count > max(support.size, 1) and count * (count - 1) / 2 > PAIRS_SHARE * self.left:
            count -= 1
        return np.concatenate([support, promising]).astype(np.intp)[:count]

    def model(
        self, here: EvaluatedPoint, wide: Indices, slope: Vector, curvature: Vector, length: float
    ) -> Steps[GridModel]:
        """Measure the interactions of some variables, and return the model on them."""
        lattice, steps = self.lattice, []
        for a, i in enumerate(wide.tolist()):
            usual = length * float(lattice.length[i])
            offsets = lattice.long_offsets(float(here.z[i]), i, usual)
            expected = [slope[a] * t + 0.5 * curvature[a] * t * t for t in offsets]
            steps += [Try(a, offsets[int(np.argmin(expected))])] if offsets else []
        pairs = list(itertools.starmap(Pair, combinations(steps, 2)))
        points = [_moved(here.z, pair, wide) for pair in pairs]
        changes = (yield from self.measure(points)) - here.value
        hessian = add_interactions(slope, curvature, pairs, changes)
        box = lattice.around_and_zero(here.z, 4 * np.maximum(length * lattice.length, lattice.grid))
        return lattice.model(here.z, wide, (slope, hessian), box)

    def solve(self, support: Indices, share: float) -> Steps[None]:
        """Descend on the support by models over shorter and shorter steps.

        A step that gains less than ``share`` of all that was gained is shortened; roughly, once.
        """
        length, lattice = FIRST_LOCAL_STEP, self.lattice
        while support.size and length > SHORTEST_STEP:
            before = self.best.value
            steps = np.maximum(length * lattice.length, lattice.grid)
            expected = yield from self.local_step(support, steps)
            if not self.gained(before, share):
                whole = bool((lattice.grid[support] > 0).all())
                settled = -expected < share * abs(self.first - self.best.value)
                if whole or (length < STEP_FACTOR and (settled or share == ROUGH_GAIN)):
                    return
                length *= STEP_FACTOR
            elif before - self.best.value < 0.5 * -expected:
                length *= STEP_FACTOR

    def local_step(self, support: Indices, steps: Vector) -> Steps[float]:
        """Measure a quadratic model around the incumbent, go to its minimum; what it expected."""
        here, lattice = self.best, self.lattice
        tries = [
            Try(a, offset)
            for a, i in enumerate(support.tolist())
            for offset in lattice.short_offsets(float(here.z[i]), i, float(steps[i]))
        ]
        one_each = list({one.axis: one for one in reversed(tries)}.values())[::-1]
        pairs = list(itertools.starmap(Pair, combinations(one_each, 2)))
        points = [_moved(here.z, which, support) for which in [*((one,) for one in tries), *pairs]]
        changes = (yield from self.measure(points)) - here.value
        slope, curvature = fit_axes(tries, changes[: len(tries)], support.size)
        hessian = add_interactions(slope, curvature, pairs, changes[len(tries) :])
        box = lattice.around(here.z, TRUSTED_STEPS * steps)
        model = lattice.model(here.z, support, (slope, hessian), box)
        t = model.descend(np.zeros(support.size), np.arange(support.size))
        z = here.z.copy()
        z[support] += t
        yield from self.measure([z])
        return min(model.change(t), 0.0)


def _replaced(z: Vector, out: list[int], i: int, place: float) -> Vector:
    """Return z with some variables back at zero and another one at its place."""
    replaced = z.copy()
    replaced[out] = 0.0
    replaced[i] = place
    return replaced


def _moved(z: Vector, steps: Iterable[Try], where: Indices | None = None) -> Vector:
    """Return z after some steps, along axes that are numbered within ``where``."""
    moved = z.copy()
    for axis, offset in steps:
        moved[axis if where is None else where[axis]] += offset
    return moved
