"""The search where values cannot be trusted: what the solver calls."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.noisy.search import NoisyAnswer, NoisySearch
from szoht.algorithms.auto.noisy.single_steps import CONFIRMATIONS, best_single_step
from szoht.algorithms.auto.noisy.units import (
    MIXED,
    SAMPLE,
    AxisUnits,
    EvenParts,
    check_axis_units,
    common_unit,
)
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseKind, NoiseModel, Steps
from szoht.core.algorithm import Ending, Evidence
from szoht.types import Indices, Vector

__all__ = ["solve_noisy"]

MAX_REPEATED_SEARCHES = 3
"""Searches with other probes after one without a gain, while there are values for another."""

UNITS_SHARE = 0.4
"""Units are looked for with this share of the values, first if half of it may suffice."""


def solve_noisy(
    context: SearchContext, start: EvaluatedPoint, noise: NoiseModel
) -> Steps[EvaluatedPoint]:
    """Minimize f from values that err, from ``start`` to the answer, the last race included.

    Where atoms have several coordinates, single ones tell which atoms matter, for part of the
    budget; then all coordinates of these are searched.
    """
    structure, everything = context.structure, np.arange(context.structure.d)
    if structure.independent:
        return (yield from _search_on(context, start, noise, on=everything, k=structure.size))
    spend, few = context.policy.noise.turn_share * context.left, 2 * structure.size
    found = yield from _search_on(context, start, noise, on=everything, k=few, spend=spend)
    endings = {context.outer.ending}
    pruned = yield from context.point(structure.prune(found.z, None, structure.size))
    atoms = structure.active(pruned.z)
    if atoms.size and math.isfinite(pruned.value) and context.left > 1:
        context.explain(f"the search goes on over all {atoms.size} coordinates of the atoms found.")
        pruned = yield from _search_on(context, pruned, noise, on=atoms, k=atoms.size)
        endings.add(context.outer.ending)
    # other atoms were not compared with these, so that nothing is known to have converged
    stuck = endings == {Ending.NO_PROGRESS}
    context.outer.ending = Ending.NO_PROGRESS if stuck else Ending.EXHAUSTED
    return pruned


def _search_on(
    context: SearchContext,
    start: EvaluatedPoint,
    noise: NoiseModel,
    *,
    on: Indices,
    k: int,
    spend: float = math.inf,
) -> Steps[EvaluatedPoint]:
    """Search over points with at most ``k`` non-zeros, all of them among ``on``."""
    searches = _Searches(context=context, start=start, noise=noise, on=on, k=k, spend=spend)
    if not searches.units_known:
        yield from searches.find_units()
    answer = yield from searches.run()
    context.outer.ending = searches.ending(answer)
    context.outer.evidence = Evidence(
        noise=NoiseKind(answer.noise.kind).value, noise_level=answer.noise.sigma
    )
    return searches.point(answer.x, answer.location.value)


@dataclass(kw_only=True, eq=False)
class _Searches:
    """Searches one after the other, until one has settled.

    Without a known budget the first plans with few values, and each one that has not settled is
    followed by one with twice as many.
    """

    context: SearchContext
    start: EvaluatedPoint
    noise: NoiseModel
    on: Indices
    k: int
    spend: float
    values: Values = field(init=False)
    x: Vector = field(init=False)
    rng: np.random.Generator = field(init=False)
    signs: np.random.Generator = field(init=False)
    units_known: bool = field(init=False)
    units_missing: bool = False
    steps_tried: bool = False
    steps_missing: bool = False
    before: tuple[EvaluatedPoint, Location] | None = None
    repeats: int = MAX_REPEATED_SEARCHES
    planned: int = field(init=False)
    limit: int = field(init=False)

    def __post_init__(self) -> None:
        structure, context, on = self.context.structure, self.context, self.on
        reach = np.where(np.isfinite(structure.high - structure.low), 0.5, 1.0)[on]
        self.planned = math.ceil(context.policy.looks_dense * _look(context))
        self.limit = context.spent + self.planned
        last = context.spent + self.spend

        def left() -> int:
            known = math.isfinite(context.left)
            most = context.left if known else self.limit - context.spent
            return int(min(most, last - context.spent))

        self.values = Values(
            ask=lambda points: context.values(self._embed(points)),
            left=left,
            reach=reach,
            low=structure.low[on] / reach,
            high=structure.high[on] / reach,
            price=2 if context.outliers else 1,
            policy=context.policy,
        )
        self.x = self.start.z[on] / reach
        self.rng, self.signs = context.generator(), context.generator()
        self.values.keep(np.flatnonzero(self.x), self.x[self.x != 0], self.start.value)
        self.units_known = structure.has_units or not self.values.unbounded

    def run(self) -> Steps[NoisyAnswer]:
        """Search until the answer has settled, or nothing more can be done."""
        going_on = True
        while going_on:
            search = self._new_search()
            answer = yield from search.run()
            going_on = yield from self._goes_on(search, answer)
        if math.isinf(self.context.effort) and math.isfinite(self.context.left):
            yield from search.measure_answer(int(self.context.left))
        return self._better(answer)

    def _better(self, answer: NoisyAnswer) -> NoisyAnswer:
        """Return the answer, or that in other units if it is better."""
        if self.before is None or answer.location.value <= self.before[0].value:
            return answer
        point, location = self.before
        x = point.z[self.on] / self.values.reach
        self._report(x, location)
        return replace(answer, x=x, location=location, settled=False)

    def _goes_on(self, search: NoisySearch, answer: NoisyAnswer) -> Steps[bool]:
        """Tell whether another search follows, and prepare it."""
        context, few = self.context, 2 * self.context.policy.noise.fewest_values
        if not answer.improved and self.repeats and few < context.left < math.inf:
            self.repeats -= 1
            context.explain("the start was not improved: other probes are tried.")
            return True
        if answer.settled and not self.units_known and (yield from self._units_differ(answer)):
            return True
        if answer.settled and (yield from self._misses_one(answer)):
            return True
        if answer.settled:
            return self._looks_again(answer)
        if math.isfinite(self.spend) or not (answer.improved or math.isinf(context.left)):
            return False
        if math.isfinite(context.left):
            yield from search.measure_answer(int(context.left))
        # a run that goes on, because its budget is unknown or was raised, searches on
        self.planned *= 2
        self.limit = context.spent + self.planned
        self.x, self.noise = answer.x, replace(answer.noise, slope=0.0)
        return True

    def _misses_one(self, answer: NoisyAnswer) -> Steps[bool]:
        """Try a step along each axis from an answer with few non-zeros; take it if it is better."""
        off = int((answer.x == 0).sum())
        if self.steps_tried or off <= self.x.size - self.k:
            return False
        cost = (2 * off + CONFIRMATIONS) * self.values.price
        self.steps_tried = cost <= self.values.left()
        self.steps_missing = not self.steps_tried
        if self.steps_missing:
            return False
        better = yield from best_single_step(
            self.values, answer.x, answer.location.value, answer.noise
        )
        if better is None:
            return False
        self.context.explain("a long step along one more coordinate helps: the search goes on.")
        self.x, self.noise = better, replace(answer.noise, slope=0.0)
        return True

    def _looks_again(self, answer: NoisyAnswer) -> bool:
        """Tell whether slopes that nothing explained are looked at again, around the answer."""
        few = 2 * self.context.policy.noise.fewest_values
        if answer.explained or not self.repeats or not few < self.context.left < math.inf:
            return False
        self.repeats -= 1
        self.context.explain("slopes are left that nothing explains: the search goes on.")
        self.x, self.noise = answer.x, replace(answer.noise, slope=0.0)
        return True

    def find_units(self) -> Steps[None]:
        """Choose one unit for all coordinates; one for each if noise is high or units are small."""
        parts = self._parts(self.x, self.start.value)
        unit, clear = yield from common_unit(parts, self.k)
        if unit != 1:
            self.context.explain(f"f changes over lengths of about {unit:.1e}: that is the unit.")
            self._rescale(np.full(self.x.size, unit))
        spend = UNITS_SHARE * self.values.left()
        if (unit < 1 or not clear) and 4 * self.x.size <= 0.5 * spend:
            self.units_known = True
            parts = self._parts(self.x, self.start.value)
            found = yield from check_axis_units(parts, np.flatnonzero(self.x), spend=int(spend))
            self._take(found)

    def _units_differ(self, answer: NoisyAnswer) -> Steps[bool]:
        """Look for units that differ, around an answer; take them and tell so if they do."""
        self.units_known, few = True, 8 * SAMPLE
        if self.values.left() < few:
            return False
        spend = min(self.values.left(), max(self.context.spent, few))
        parts = self._parts(answer.x, answer.location.value)
        found = yield from check_axis_units(parts, np.flatnonzero(answer.x), spend=spend)
        if found.spread <= MIXED:
            return False
        # slopes in other units have chosen the support: the search begins again
        self.before = self.point(answer.x, answer.location.value), answer.location
        self.x, self.noise = self.start.z[self.on] / self.values.reach, answer.noise
        self._take(found)
        return True

    def _take(self, found: AxisUnits) -> None:
        self.units_missing = not found.complete
        if found.spread > MIXED:
            self.context.explain(f"units differ by {found.spread:.0e}: curvatures are equalized.")
        self._rescale(found.units)

    def _rescale(self, scale: Vector) -> None:
        self.values, self.x = self.values.rescaled(scale), self.x / scale
        self.noise = replace(self.noise, slope=0.0)

    def _parts(self, x: Vector, value: float) -> EvenParts:
        return EvenParts(values=self.values, x=x, value=value, noise=self.noise, rng=self.signs)

    def _new_search(self) -> NoisySearch:
        sigma, fresh = self.noise.sigma, self.noise.weight * self.noise.fresh
        return NoisySearch(
            values=self.values,
            k=self.k,
            noise=self.noise,
            rng=self.rng,
            x=self.x,
            start=Location(self.start.value, sigma / math.sqrt(1 + fresh)),
            explain=self.context.explain,
            report=self._report,
        )

    def ending(self, answer: NoisyAnswer) -> Ending:
        """Return how the run ends."""
        if not answer.improved:
            return Ending.NO_PROGRESS
        if not (answer.settled and answer.explained) or self.units_missing or self.steps_missing:
            return Ending.EXHAUSTED
        return Ending.CONVERGED

    def point(self, x: Vector, value: float) -> EvaluatedPoint:
        """Return a point of the search as one of the solver."""
        (z,) = self._embed((x * self.values.reach)[np.newaxis])
        return EvaluatedPoint(self.context.structure.nearest(z), value)

    def _embed(self, points: Vector) -> list[Vector]:
        full = np.zeros((len(points), self.context.structure.d))
        full[:, self.on] = points
        # what may be an answer is measured where it would be one
        structure = self.context.structure
        return [structure.nearest(z) for z in full] if structure.gaps else list(full)

    def _report(self, x: Vector, location: Location) -> None:
        found = self.point(x, location.value)
        if self.context.structure.contains(found.z):
            self.context.settle(found, location.error)


def _look(context: SearchContext) -> float:
    k = context.structure.degrees_of_freedom
    return k * (1 + math.log(max(1.0, context.structure.d / k)))
