"""A gradient that is not sparse: all axes, or those that a matched filter points out."""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.known import elsewhere, near
from szoht.algorithms.auto.moves.line_probe import line_probe
from szoht.algorithms.auto.records import Confidence, NoiseModel, Slopes, Steps
from szoht.algorithms.auto.sensing.axis_slopes import axis_slopes
from szoht.algorithms.auto.sensing.round import (
    SOLVED_PER_ROW,
    Gradient,
    MatchedFilter,
    SensingMemory,
    SensingRound,
    weighed,
)
from szoht.types import Indices, Vector

NEGLIGIBLE = 0.02
"""Known slopes below this share of the largest may be curvature, and do not make a candidate."""

__all__ = ["recall_filter", "sense_axes", "sense_filtered"]


def sense_axes(sensing: SensingRound) -> Steps[tuple[Slopes, SensingMemory]]:
    """Measure all slopes; those along rows that are measured already save some of the axes."""
    context, point, free = sensing.context, sensing.point, sensing.free
    values = np.zeros(point.z.size)
    if context.gradients:
        values[free] = yield from axis_slopes(context, point, free, sensing.noise)
    elif sensing.measured.size or sensing.known is not None:
        yield from _completed(sensing, values)
    else:
        first, second = free[::2], free[1::2]
        values[first] = yield from axis_slopes(context, point, first, sensing.noise)
        if second.size:
            yield from line_probe(context, point, values)
            values[second] = yield from axis_slopes(context, point, second, sensing.noise)
    if not context.gradients:  # steps are cheap there, and better
        yield from line_probe(context, point, values)
    candidates = context.structure.head(values, 2 * context.structure.size, sensing.support)
    if sensing.recalled:
        steep = np.flatnonzero(np.abs(values) > NEGLIGIBLE * np.abs(values).max(initial=0.0))
        candidates = candidates[np.isin(candidates, context.structure.whole(steep))]
    context.explain(f"{sensing.cost} queries: slopes along all {free.size} axes.")
    outside = context.structure.promise(values)
    outside[sensing.support] = 0.0
    slopes = Slopes(values, candidates, Confidence.EXACT, sensing.worth)
    sensing.step = sensing.noise.axis_step
    memory = sensing.memory
    return weighed(sensing, slopes, memory, float(outside.max(initial=0.0)))


def _completed(sensing: SensingRound, values: Vector) -> Steps[None]:
    """Measure along the axes that stand out, and work the others out of what is measured.

    With the slopes of some coordinates known, the measurements are linear equations for the
    others. They outnumber the unknowns, so they also show whether they agree (f may be
    undefined along some of them); if not, the remaining axes are measured as well.
    """
    context, point, error = sensing.context, sensing.point, 0.0
    unknown = sensing.free
    if sensing.known is not None:
        values[sensing.known.axes] = sensing.known.slopes
        unknown, error = np.setdiff1d(unknown, sensing.known.axes), sensing.known.error
        sensing.join_known()
    measured = sensing.measured
    if measured.size:
        seen = np.abs(measured.correlate(measured.centered))[unknown]
    else:
        seen = np.zeros(unknown.size)
    seen[np.isin(unknown, sensing.support)] = np.inf
    order = np.argsort(seen, kind="stable")
    # fewer unknowns than equations, which are then well posed
    fewest = unknown.size - int(SOLVED_PER_ROW * measured.size)
    solved = max(unknown.size - context.speculation.whole(fewest), 0)
    rest, axes = (unknown[np.sort(part)] for part in np.split(order, [solved]))
    values[axes] = yield from axis_slopes(context, point, axes, sensing.noise)
    if not rest.size:
        return
    common = sensing.noise.curvature * sensing.step * measured.common
    known = np.setdiff1d(sensing.free, rest)
    y = measured.slopes - common - measured.columns(known) @ values[known]
    columns = measured.columns(rest)
    if error:  # rows of other lengths tell better what curvature adds to them
        columns = np.column_stack([columns, measured.common])
    fitted = np.linalg.lstsq(columns, y, rcond=None)[0]
    values[rest] = fitted[: rest.size]
    miss = float(np.linalg.norm(y - columns @ fitted))
    if not miss <= 1e-2 * np.linalg.norm(y) + error * math.sqrt(max(y.size - fitted.size, 1)):
        values[rest] = yield from axis_slopes(context, point, rest, sensing.noise)


def sense_filtered(sensing: SensingRound) -> Steps[tuple[Slopes, SensingMemory]]:
    """Measure the coordinates that a matched filter points out, twice.

    What those in front explain is taken out of the measurements, which makes the others clearer.
    """
    context, point, structure = sensing.context, sensing.point, sensing.structure
    known, slopes = sensing.support, np.empty(0)
    if sensing.known is not None:
        sensing.join_known()
        known = np.setdiff1d(known, sensing.known.axes)
    if known.size:
        slopes = yield from axis_slopes(context, point, known, sensing.noise)
    if sensing.known is not None:
        known, slopes = (
            np.append(known, sensing.known.axes),
            np.append(slopes, sensing.known.slopes),
        )
    for _ in range(2):
        estimate = _match(sensing, known, slopes).slopes
        share = structure.size / structure.degrees_of_freedom
        count = context.speculation.whole(round(2 * structure.size / share))
        front = structure.head(estimate, int(share * count), known)
        more = yield from axis_slopes(context, point, front, sensing.noise)
        known, slopes = np.append(known, front), np.append(slopes, more)
    matched = _match(sensing, known, slopes)
    values = matched.slopes
    values[known] = slopes
    candidates = structure.head(values, 2 * structure.size, sensing.support)
    context.explain(
        f"{sensing.cost} queries: the gradient is not sparse; the {candidates.size} coordinates "
        "that stand out most are tried."
    )
    result = Slopes(values, candidates, Confidence.FILTERED, sensing.worth)
    memory = replace(sensing.memory, gradient=Gradient.FILTERED, matched=matched)
    gained = abs(context.first_value - point.value)
    promised = float(sensing.measured.slopes.std()) * max(1.0, float(np.abs(point.z).max()))
    return result, replace(memory, scale=max(memory.scale, promised, gained))


def recall_filter(context: SearchContext, noise: NoiseModel) -> SensingMemory:
    """Return what a matched filter sees in known rows around another point than the start."""
    other = elsewhere(context)
    along_rows = context.structure.along_rows(noise)
    known = None if other is None else near(context, other, along_rows, along_rows.row_step)
    if other is None or known is None or not known.rows.size:
        return SensingMemory()
    sensing = SensingRound(context, other, noise, SensingMemory(), math.inf)
    sensing.measured, sensing.known = known.rows, known
    return SensingMemory(matched=_match(sensing, known.axes, known.slopes))


def _match(sensing: SensingRound, known: Indices, slopes: Vector) -> MatchedFilter:
    """Add what a matched filter sees to what earlier ones saw.

    ``(1/m) sum_i y_i u_i`` is an unbiased estimate of the gradient with noise ``|g| / sqrt(m)`` per
    coordinate; what the ``known`` coordinates contribute is taken out first.
    """
    measured = sensing.measured
    y, common = measured.slopes, measured.common
    if known.size:
        y = y - measured.columns(known) @ slopes
    y = y - (common @ y) / float(common @ common) * common
    # axes that happen to be known leave little unexplained here, and nothing elsewhere
    rest = y if sensing.known is None else measured.centered
    noise = max(float(np.linalg.norm(rest)) / y.size, float(np.finfo(float).tiny) ** 0.25)
    seen = measured.correlate(y) / y.size
    seen[known] += slopes
    weight, before = noise**-2, sensing.memory.matched
    if before is None:
        return MatchedFilter(weighted=seen * weight, weight=weight)
    return MatchedFilter(weighted=seen * weight + before.weighted, weight=weight + before.weight)
