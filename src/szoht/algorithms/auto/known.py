"""Known evaluations as measurements: those close to a point are equations for its slopes."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.core.known import KnownEvaluations
from szoht.errors import KnownPointWarning, warn
from szoht.estimators.sensing import GivenRows, Measurements, RowSlice
from szoht.estimators.sensing.noise_test import robust_rms, robust_scale
from szoht.types import Indices, Mask, Vector

__all__ = [
    "KnownSlopes",
    "better_elsewhere",
    "check_known",
    "check_start",
    "elsewhere",
    "near",
    "note_elsewhere",
]

SAME = 1e-12
"""Coordinates that differ by less, relative to their size or one unit, are the same."""

DENSE_SHARE = 0.05
"""A displacement of at least this share of the coordinates is a row; one of a single coordinate
is a difference along an axis."""

CURVATURE_SPREAD = 0.3
"""What curvature adds to a slope differs from row to row by about this share of it."""

ROW_ERROR, AXIS_ERROR = 0.1, 0.1
"""Slopes are used that err by at most this share of the usual one, as far as curvature tells."""

DISAGREEMENT = 0.3
"""The same, for the one of them that is measured again over a short difference."""

LONGEST_STRAIGHT = 0.01
"""The longest rows, in units, where no curvature was seen: over this length none was."""

SUSPECT = 5.0
"""Slopes this many robust standard deviations off the others are dropped with a wrong one."""

STATED_ROUNDING, CONTRADICTION = 1e-8, 0.1
"""A stated value is wrong if it is off by more than this share of itself, at the start, or of
the usual difference."""


class KnownKind(NamedTuple):
    """Slopes of one kind: the numbers of their evaluations, and what f changes linearly there."""

    numbers: Indices
    slopes: Vector
    changes: Vector


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownSlopes:
    """Slopes at a point that follow from known evaluations around it.

    ``rows`` are slopes along dense displacements, which err by about ``error``; ``axes`` are single
    coordinates, and ``slopes`` theirs. ``kinds`` says where they come from.
    """

    rows: Measurements
    error: float
    axes: Indices
    slopes: Vector
    kinds: tuple[KnownKind, KnownKind]


class Displacements(NamedTuple):
    """Known evaluations as seen from a point: their displacements and differences of f."""

    steps: Vector
    changes: Vector
    moved: Indices
    lengths: Vector


def near(
    context: SearchContext,
    point: EvaluatedPoint,
    noise: NoiseModel,
    step: float,
    *,
    row_error: float = ROW_ERROR,
) -> KnownSlopes | None:
    """Return what is known of the slopes at a point, None if nothing.

    ``step`` is the length of the differences that will be measured beside them, ``row_error`` how
    much rows may err, as a share of the usual slope.
    """
    known, structure = context.known, context.structure
    if known is None or structure.sums_to_one or not noise.exact or context.outliers:
        return None
    noise = replace(noise, sigma=max(noise.sigma, known.rounding))
    seen = _displacements(context, known, point)
    rows, error = _close_rows(seen, noise, structure.free.size, row_error)
    axes, slopes, numbers = _axes(seen, noise, structure.free.size)
    if rows.size + axes.size < structure.degrees_of_freedom:
        return None
    lengths, changes = seen.lengths[rows], seen.changes[rows]
    measured = Measurements()
    if rows.size:
        given = GivenRows(matrix=seen.steps[rows] / lengths[:, np.newaxis], lengths=lengths / step)
        whole = RowSlice(rows=given, start=0, count=rows.size)
        measured = measured.more(whole, changes / lengths)
    linear = changes - noise.curvature * lengths**2
    return KnownSlopes(
        rows=measured,
        error=error,
        axes=axes,
        slopes=slopes,
        kinds=(
            KnownKind(rows, linear / lengths, linear),
            KnownKind(numbers, slopes, slopes * seen.steps[numbers, axes]),
        ),
    )


def check_known(
    context: SearchContext, point: EvaluatedPoint, known: KnownSlopes, noise: NoiseModel
) -> Steps[bool]:
    """Tell whether what is known agrees with one short difference of each kind.

    What does not is dropped: values that are not those stated, with a warning, and points that are
    too far away for slopes.
    """
    evaluations = context.known
    assert evaluations is not None, "slopes are known by them"  # noqa: S101
    context.known_checked = True
    far, wrong = np.zeros((2, evaluations.values.size), dtype=bool)
    for kind, step in zip(known.kinds, (noise.row_step, noise.axis_step), strict=True):
        if not kind.numbers.size or wrong.all() or (yield from _agrees(context, point, kind, step)):
            continue
        off = yield from _wrong(context, point, kind)
        wrong[kind.numbers[off]] = True
        wrong |= off.all()  # of another function
        far[kind.numbers] |= not off.any()
    if wrong.any():
        warn(
            f"{wrong.sum()} of {wrong.size} `known` evaluations are left out: another value was "
            "measured at one of them. They are of another function, noisy, or rounded.",
            KnownPointWarning,
        )
    context.known = evaluations.without(wrong | far)
    return not (wrong | far).any()


def _agrees(
    context: SearchContext, point: EvaluatedPoint, kind: KnownKind, step: float
) -> Steps[bool]:
    """Tell whether the slope that is farthest off is the same over a short difference."""
    known, structure = context.known, context.structure
    assert known is not None, "these are its numbers"  # noqa: S101
    suspect = int(np.argmax(np.abs(kind.slopes - np.median(kind.slopes))))
    move = structure.to_z(known.points[kind.numbers[suspect]]) - point.z
    share = min(1.0, step * math.sqrt(np.count_nonzero(move)) / float(np.linalg.norm(move)))
    value = yield from context.value(structure.clip(point.z + share * move))
    slope, change = abs(float(kind.slopes[suspect])), float(kind.changes[suspect])
    miss = abs((value - point.value) / share - change)
    usual = max(robust_rms(kind.slopes), 0.5 * slope)  # along axes, most slopes may vanish
    return bool(miss * slope <= DISAGREEMENT * usual * abs(change))


def _wrong(context: SearchContext, point: EvaluatedPoint, kind: KnownKind) -> Steps[Mask]:
    """Measure the one again that is farthest off; if it is wrong, also the one in the middle."""
    known = context.known
    assert known is not None, "these are its numbers"  # noqa: S101
    numbers, slopes, _ = kind
    stated, off = known.values[numbers], np.abs(slopes - np.median(slopes))
    tolerance = CONTRADICTION * robust_rms(stated - point.value)
    wrong: Mask = np.zeros(numbers.size, dtype=bool)
    for suspect in (int(np.argmax(off)), int(np.argmin(off))):
        z = context.structure.to_z(known.points[numbers[suspect]])
        if abs((yield from context.value(z)) - stated[suspect]) <= tolerance:
            return wrong
        wrong |= off > SUSPECT * robust_scale(slopes)
        wrong[suspect] = True
    return ~np.zeros_like(wrong)


def check_start(context: SearchContext, start: EvaluatedPoint, noise: NoiseModel) -> None:
    """Drop what is known if it has the start with another value than was measured."""
    known = context.known
    if known is None or not noise.exact or context.outliers:
        return
    same = (known.points == context.structure.to_x(start.z)).all(axis=1)
    tolerance = STATED_ROUNDING * abs(start.value) + 2 * known.rounding
    if (np.abs(known.values[same] - start.value) > tolerance).any():
        warn(
            f"`known` has the start with the value {known.values[same][0]:.10g}, and "
            f"{start.value:.10g} was measured there: all {same.size} `known` evaluations are left "
            "out as those of another function.",
            KnownPointWarning,
        )
        context.known = None


def note_elsewhere(context: SearchContext) -> None:
    """Remember the point that was measured before the run and is not its start."""
    other = elsewhere(context)
    if other is not None and context.structure.contains(other.z):
        context.note(other)


def elsewhere(context: SearchContext) -> EvaluatedPoint | None:
    """Return the point that was measured before the run and is not its start."""
    if context.known is None or context.known.elsewhere is None:
        return None
    x, value, *_ = context.known.elsewhere
    return EvaluatedPoint(context.structure.to_z(x), value)


def better_elsewhere(context: SearchContext, point: EvaluatedPoint) -> EvaluatedPoint | None:
    """Return the best known point if it is not the start, and better than ``point``; once."""
    other = elsewhere(context)
    if other is None or context.known is None:
        return None
    context.known = replace(context.known, elsewhere=None)
    is_better = other.value < point.value and context.structure.contains(other.z)
    return other if is_better else None


def _displacements(
    context: SearchContext, known: KnownEvaluations, point: EvaluatedPoint
) -> Displacements:
    """Return all known evaluations, zero where they are fixed coordinates or the point itself."""
    structure, z = context.structure, point.z
    steps = structure.to_z(known.points) - z
    steps[np.abs(steps) <= SAME * np.maximum(np.abs(z), 1.0)] = 0.0
    fixed = np.ones(z.size, dtype=bool)
    fixed[structure.free] = False
    steps[steps[:, fixed].any(axis=1)] = 0.0
    lengths = np.linalg.norm(steps, axis=1) / math.sqrt(structure.free.size)
    return Displacements(
        steps, known.values - point.value, np.count_nonzero(steps, axis=1), lengths
    )


def _close_rows(
    seen: Displacements, noise: NoiseModel, n: int, most: float
) -> tuple[Indices, float]:
    """Return the rows whose slopes are as good as linear, and how much they err."""
    rows = np.flatnonzero(seen.moved >= max(2.0, DENSE_SHARE * n))
    if not rows.size:
        return rows, 0.0
    order = rows[np.argsort(seen.lengths[rows], kind="stable")]
    lengths = seen.lengths[order]
    slopes = seen.changes[order] / lengths - noise.curvature * lengths
    errors = 1.5 * noise.sigma / lengths + CURVATURE_SPREAD * abs(noise.curvature) * lengths
    # the usual slope is that of rows that are no longer than needed to see one
    usual = robust_rms(slopes[: max(8, order.size // 2)])
    close = errors <= most * usual
    if noise.curvature == 0:
        close &= lengths <= LONGEST_STRAIGHT
    error = math.sqrt(float(np.mean(errors[close] ** 2))) if close.any() else 0.0
    return np.sort(order[close]), error


def _axes(seen: Displacements, noise: NoiseModel, n: int) -> tuple[Indices, Vector, Indices]:
    """Return single coordinates and their slopes; from two steps along one, without curvature."""
    rows = np.flatnonzero(seen.moved == 1)
    if not rows.size:
        return rows, np.empty(0), rows
    where = np.argmax(seen.steps[rows] != 0, axis=1)
    steps = seen.steps[rows, where]
    order = np.lexsort((np.abs(steps), where))
    rows, where, steps = rows[order], where[order], steps[order]
    changes = seen.changes[rows]
    bend = noise.curvature / n
    slopes = changes / steps - bend * steps
    errors = 1.5 * noise.sigma / np.abs(steps) + abs(bend * steps)
    axes, first = np.unique(where, return_index=True)
    found, misses = slopes[first], errors[first]
    second = np.minimum(first + 1, rows.size - 1)
    a, b = steps[first], steps[second]
    both = (where[second] == axes) & (np.abs(b - a) > SAME)
    if both.any():
        i, j = first[both], second[both]
        a, b = a[both], b[both]
        found[both] = (changes[i] * b**2 - changes[j] * a**2) / (a * b * (b - a))
        misses[both] = 1.5 * noise.sigma * (b**2 + a**2) / np.abs(a * b * (b - a))
    found[np.abs(found) <= 3 * misses] = 0.0  # a curvature of its own is all that it shows
    close = misses <= AXIS_ERROR * max(
        robust_rms(found), float(np.abs(found).max(initial=0.0)) / 10
    )
    return axes[close], found[close], rows[first[close]]
