"""How far values can be trusted, and the search where they cannot: what the solver calls."""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.noisy.search import NoisyAnswer, NoisySearch
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import ROUNDING, EvaluatedPoint, NoiseKind, NoiseModel, Steps
from szoht.core.algorithm import Ending, Evidence
from szoht.estimators.sensing.noise_test import (
    LINE_STEPS,
    LONG_ROUGH_STEPS,
    LONGER_STEPS,
    REPEATS,
    ROUGH_STEPS,
    from_line,
    from_repeats,
    mostly_equal,
    rough_at,
    with_longer_table,
)
from szoht.types import Indices, Vector

__all__ = ["check_roughness", "estimate_noise", "solve_noisy"]

SHORTEST_ROW = 1e-12
"""Of differences along dense directions: below that there is rounding only."""

MAX_REPEATED_SEARCHES = 3
"""Searches with other probes after one without a gain, while there are values for another."""

CLEAN = 100.0
"""Neighboring values that err by fewer roundings than this do not err."""


def estimate_noise(context: SearchContext, start: EvaluatedPoint) -> Steps[NoiseModel]:
    """Judge values by asking one again, and along a short random line; 6 to 8 values.

    Sets ``context.outliers`` if single values are grossly wrong.
    """
    if context.left <= 1:
        return _with_steps(context, NoiseModel())
    again = yield from context.value(start.z)
    if again != start.value and math.isfinite(again):
        if context.left < REPEATS:
            return from_repeats(np.array([start.value, again]))
        more = yield from context.values([start.z] * REPEATS)
        values = np.array([start.value, again, *more[np.isfinite(more)]])
        common = mostly_equal(values)
        if common is None:
            noise = from_repeats(values)
            context.explain(f"{noise.describe()}.")
            return noise
        context.outliers = True
        start = EvaluatedPoint(start.z, common)
        context.forget()
        context.note(start)
    noise = yield from _judge_line(context, start)
    context.explain(f"{noise.describe()}.")
    return _with_steps(context, noise)


def _judge_line(context: SearchContext, start: EvaluatedPoint) -> Steps[NoiseModel]:
    """Judge the values along a line of random signs that points inward at bounds."""
    if context.left < LINE_STEPS.size:
        return NoiseModel()
    line, longer = _line(context, start.z)
    values = yield from context.values(line)
    if not np.isfinite(values).all():
        return NoiseModel()  # undefined next to the start: nothing is known
    noise = from_line(start.value, values)
    if noise.exact or noise.stepwise or context.outliers or context.left < 1:
        return replace(noise, outliers=context.outliers)
    # a fixed error gives the same value again, an outlier does not
    everything = np.array([start.value, *values])
    far = int(np.argmax(np.abs(everything - np.median(everything))))
    again = yield from context.value(start.z if far == 0 else line[far - 1])
    if again == everything[far]:
        return (yield from _judge_farther(context, start, noise, everything, longer))
    context.outliers = True
    start = EvaluatedPoint(start.z, (yield from context.value(start.z)))
    context.forget()
    context.note(start)
    return (yield from _judge_line(context, start))


def _judge_farther(
    context: SearchContext,
    start: EvaluatedPoint,
    noise: NoiseModel,
    values: Vector,
    longer: list[Vector],
) -> Steps[NoiseModel]:
    """Judge a fixed error from a second table; without one of neighbors, from a longer line."""
    if noise.sigma <= CLEAN * ROUNDING * float(np.abs(values).max()):
        # small units, a kink, or many of them
        return (yield from _roughness(context, start, noise, (LONG_ROUGH_STEPS,)))
    if context.left < len(longer):
        return noise
    more = yield from context.values(longer)
    table = np.array([start.value, values[4], *more])
    return with_longer_table(noise, table) if np.isfinite(table).all() else noise


def _line(context: SearchContext, z: Vector) -> tuple[list[Vector], list[Vector]]:
    """Return the points of the test line, and those of its second table."""
    line, longer = _points(context, z, (LINE_STEPS, LONGER_STEPS))
    return line, longer


def _points(
    context: SearchContext, z: Vector, tables: tuple[Vector, ...]
) -> tuple[list[Vector], ...]:
    """Return points at several steps along random signs, which point inward at bounds."""
    structure = context.structure
    longest = max(float(steps[-1]) for steps in tables)
    signs = context.generator().choice(np.array([-1.0, 1.0]), z.size)
    moving = structure.line(z, signs, longest)
    return tuple([structure.clip(z + step * moving) for step in steps] for steps in tables)


def check_roughness(
    context: SearchContext, point: EvaluatedPoint, noise: NoiseModel, *, dense: bool = False
) -> Steps[NoiseModel]:
    """Look for an error that changes over longer distances; at most once per run, 8 or 16 values.

    Called where slopes are not sparse or lead nowhere: over short distances such an error looks
    like a smooth function with a dense gradient. So do quantiles: their slopes are those of one
    component, and hold as far as the next one.
    """
    if context.roughness_checked or context.gradients or not noise.exact:
        return noise
    context.roughness_checked = True
    tables = (LONG_ROUGH_STEPS, ROUGH_STEPS) if dense else (ROUGH_STEPS,)
    found = yield from _roughness(context, point, noise, tables)
    if not found.exact:
        context.explain(f"slopes lead nowhere; over longer distances {found.describe()}.")
    return found


def _roughness(
    context: SearchContext, point: EvaluatedPoint, noise: NoiseModel, tables: tuple[Vector, ...]
) -> Steps[NoiseModel]:
    """Return a model of fixed error if values along one of some lines show one."""
    for steps in tables:
        if context.left <= steps.size:
            break
        (line,) = _points(context, point.z, (steps,))
        values = yield from context.values(line)
        if not np.isfinite(values).all():
            break
        found = rough_at(noise, np.array([point.value, *values]))
        if found is noise:
            continue
        far = int(np.argmax(np.abs(values - np.median(values))))
        if (yield from context.value(line[far])) != values[far]:
            context.expect_outliers()
            return replace(noise, outliers=True)
        return found
    return noise


def _with_steps(context: SearchContext, noise: NoiseModel) -> NoiseModel:
    """Add the lengths of differences for the exact regime.

    The error of a forward difference is sigma / h + c h, least at h = sqrt(sigma / c); an axis has
    its share of the curvature c of a dense direction.
    """
    bend, shortest = max(abs(noise.curvature), 1e-300), context.policy.axis_step
    longest = context.policy.flat_step
    axis = min(max(math.sqrt(noise.sigma * context.structure.free.size / bend), shortest), longest)
    # nearly all of the curvature is common to all rows and is taken out
    row = min(max(math.sqrt(noise.sigma / (0.03 * bend)), SHORTEST_ROW), longest)
    if noise.curvature == 0:
        axis = shortest
        row = axis / math.sqrt(context.structure.d)
    return replace(noise, axis_step=axis, row_step=row)


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


def _search_on(  # noqa: C901  (small functions that hand values over)
    context: SearchContext,
    start: EvaluatedPoint,
    noise: NoiseModel,
    *,
    on: Indices,
    k: int,
    spend: float = math.inf,
) -> Steps[EvaluatedPoint]:
    """Search over points with at most ``k`` non-zeros, all of them among ``on``.

    Without a known budget the search plans with few values first, and with twice as many each time
    that it has not settled.
    """
    structure = context.structure
    reach = np.where(np.isfinite(structure.high - structure.low), 0.5, 1.0)[on]
    planned = math.ceil(context.policy.looks_dense * _look(context))
    limit, last = context.spent + planned, context.spent + spend

    def left() -> int:
        known = math.isfinite(context.left)
        return int(min(context.left if known else limit - context.spent, last - context.spent))

    def embed(points: Vector) -> list[Vector]:
        full = np.zeros((len(points), structure.d))
        full[:, on] = points
        # what may be an answer is measured where it would be one
        return [structure.nearest(z) for z in full] if structure.gaps else list(full)

    values = Values(
        ask=lambda points: context.values(embed(points)),
        left=left,
        reach=reach,
        low=structure.low[on] / reach,
        high=structure.high[on] / reach,
        price=2 if context.outliers else 1,
        policy=context.policy,
    )

    def point(x: Vector, value: float) -> EvaluatedPoint:
        (z,) = embed((x * reach)[np.newaxis])
        return EvaluatedPoint(structure.nearest(z), value)

    def report(x: Vector, location: Location) -> None:
        found = point(x, location.value)
        if structure.contains(found.z):
            context.settle(found, location.error)

    first = Location(start.value, noise.sigma / math.sqrt(1 + noise.weight * noise.fresh))
    x, rng = start.z[on] / reach, context.generator()
    values.keep(np.flatnonzero(x), x[x != 0], start.value)
    again = MAX_REPEATED_SEARCHES
    while True:
        search = NoisySearch(
            values=values,
            k=k,
            noise=noise,
            rng=rng,
            x=x,
            start=first,
            explain=context.explain,
            report=report,
        )
        answer = yield from search.run()
        if (
            not answer.improved
            and again
            and 2 * values.policy.noise.fewest_values < context.left < math.inf
        ):
            again -= 1
            context.explain("the start was not improved: other probes are tried.")
            continue
        if answer.settled or not (answer.improved or math.isinf(context.left)):
            break
        if math.isfinite(spend):
            break
        if math.isfinite(context.left):
            yield from search.measure_answer(int(context.left))
        # a run that goes on, because its budget is unknown or was raised, searches on
        planned *= 2
        limit = context.spent + planned
        x, noise = answer.x, replace(answer.noise, slope=0.0)
    if math.isinf(context.effort) and math.isfinite(context.left):
        yield from search.measure_answer(int(context.left))
    context.outer.ending = _ending(answer)
    context.outer.evidence = Evidence(
        noise=NoiseKind(answer.noise.kind).value, noise_level=answer.noise.sigma
    )
    return point(answer.x, answer.location.value)


def _look(context: SearchContext) -> float:
    k = context.structure.degrees_of_freedom
    return k * (1 + math.log(max(1.0, context.structure.d / k)))


def _ending(answer: NoisyAnswer) -> Ending:
    if not answer.improved:
        return Ending.NO_PROGRESS
    return Ending.CONVERGED if answer.settled else Ending.EXHAUSTED
