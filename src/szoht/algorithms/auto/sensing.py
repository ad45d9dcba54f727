"""Which coordinates matter: by Prony's method, by matching pursuit, by a matched filter, or all.

A sensing round measures slopes along dense rows from a base point inside the bounds, and stops
as soon as few coordinates explain them. If none do, the gradient is dense, and either all axes
are measured or those that a matched filter points out.
"""

import enum
import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.moves.line_probe import line_probe
from szoht.algorithms.auto.records import Confidence, EvaluatedPoint, NoiseModel, Slopes, Steps
from szoht.estimators.sensing import (
    FourierRows,
    Measurements,
    Recovery,
    RowSlice,
    matching_pursuit,
    prony,
)
from szoht.estimators.sensing.recovery import neighbors
from szoht.types import Indices, Vector

__all__ = ["Gradient", "SensingMemory", "axis_slopes", "axis_steps", "sense"]

ROUNDING = float(np.finfo(np.float64).eps)


STAGED_ERROR = 0.02
"""Relative error on four held-out rows up to which recovery in short stages is believed."""


class Gradient(enum.Enum):
    """What earlier rounds have shown the gradient to be."""

    SPARSE = "few coordinates explain it, or nothing is known"
    DENSE = "not sparse, and all axes are affordable"
    FILTERED = "not sparse, and all axes are too many"


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchedFilter:
    """Estimated slopes of all coordinates, averaged over rounds by their precision."""

    weighted: Vector
    weight: float

    @property
    def slopes(self) -> Vector:
        """The average."""
        return np.asarray(self.weighted / self.weight)


@dataclass(frozen=True, kw_only=True, eq=False)
class SensingMemory:
    """What sensing rounds hand on to each other: ``scale`` is the most that slopes promised."""

    gradient: Gradient = Gradient.SPARSE
    matched: MatchedFilter | None = None
    scale: float = 0.0
    even: bool = False


class _Round:
    """One sensing round: its base point, rows and measurements."""

    def __init__(
        self,
        context: SearchContext,
        point: EvaluatedPoint,
        noise: NoiseModel,
        memory: SensingMemory,
        softness: float,
    ) -> None:
        self.context, self.point, self.memory = context, point, memory
        self.softness = softness
        self.structure, self.policy = context.structure, context.policy
        self.noise = self.structure.along_rows(noise)
        self.free = self.structure.free
        self.support = self.structure.active(point.z)
        # rows go this far both ways from a base inside the bounds
        self.longest = self.structure.longest_row
        self.step = min(self.noise.row_step, self.longest)
        self.base: EvaluatedPoint | None = None
        self.start = context.spent
        self.signs = self.structure.rows(context.key(), self.free)
        self.signs_used = 0
        self.measured = Measurements()
        self.look = self.structure.look
        k = self.structure.degrees_of_freedom
        self.unstructured = k * (1 + math.log(max(self.free.size / k, 1)))

    def restrict(self, free: Indices) -> None:
        """Leave all other coordinates alone in this round."""
        self.free = free
        self.signs = self.structure.rows(self.context.key(), free)

    @property
    def cost(self) -> int:
        return self.context.spent - self.start

    @property
    def rounding(self) -> float:
        """What rounding adds to one value."""
        return ROUNDING * max(abs(self.point.value), float(np.finfo(float).tiny))

    @property
    def slope_noise(self) -> float:
        """Standard deviation of a measured slope: rounding, and curvature that is not common."""
        return 3 * self.rounding / self.step + 0.1 * abs(self.noise.curvature) * self.step

    def slopes(self, rows: RowSlice) -> Steps[Vector]:
        """Measure slopes along rows, from a base from which they stay inside the bounds."""
        if self.base is None:
            z = self.structure.base(self.point.z, self.step)
            moved = z is not self.point.z and not np.array_equal(z, self.point.z)
            self.base = (
                EvaluatedPoint(z, (yield from self.context.value(z))) if moved else self.point
            )
        changes = yield from self.context.differences(self.base, rows, self.step)
        return changes / self.step

    def more_signs(self, count: int) -> Steps[None]:
        """Add rows of signs to the measurements."""
        while count > 0:
            if self.signs_used >= self.signs.available:
                self.signs = self.structure.rows(self.context.key(), self.free)
                self.signs_used = 0
            some = min(count, self.signs.available - self.signs_used)
            rows = RowSlice(rows=self.signs, start=self.signs_used, count=some)
            self.measured = self.measured.more(rows, (yield from self.slopes(rows)))
            self.signs_used += some
            count -= some

    def lengthen(self) -> Steps[bool]:
        """Measure again over longer differences; tell whether that showed a slope."""
        self.step = min(max(self.policy.flat_step, 10 * self.step), self.longest)
        self.base = None
        count = self.measured.size
        self.measured, self.signs_used = Measurements(), 0
        yield from self.more_signs(count)
        return not self.vanishes

    @property
    def vanishes(self) -> bool:
        """Whether all slopes so far are no larger than rounding."""
        largest = float(np.abs(self.measured.slopes).max(initial=0.0))
        return largest * self.step <= 30 * self.rounding


def sense(  # noqa: C901, PLR0911  (one decision after the other)
    context: SearchContext,
    point: EvaluatedPoint,
    noise: NoiseModel,
    memory: SensingMemory,
    *,
    stalled: int,
    softness: float = math.inf,
) -> Steps[tuple[Slopes, SensingMemory]]:
    """Find coordinates to try; ``stalled`` rounds before have gained nothing.

    ``softness`` is the largest entry of the inverse Hessian: a slope g promises a gain of
    ``softness g^2 / 2`` at most, and slopes that promise next to nothing count as flat.
    """
    sensing = _Round(context, point, noise, memory, softness)
    policy, n = context.policy, sensing.free.size
    most = math.ceil(policy.rows_filter * sensing.look * 2**stalled)
    affordable = n <= policy.dense_factor * max(most, policy.rows_filter * sensing.unstructured)
    few_axes = policy.axes_factor * policy.rows_first * sensing.look >= n
    if not context.is_small and (
        few_axes
        or (stalled > 0 and most >= n)
        or (affordable and memory.gradient is Gradient.DENSE)
    ):
        return (yield from _all_axes(sensing))
    if memory.gradient is Gradient.FILTERED:
        yield from sensing.more_signs(most)
        return (yield from _filtered(sensing))
    if context.is_small:
        few = _few_waves if sensing.structure.waves else _few_signs
        return (yield from few(sensing))
    yield from sensing.more_signs(policy.checks)
    if sensing.vanishes and not (yield from sensing.lengthen()):
        return _flat(sensing)
    if _is_worthless(sensing):
        return _flat(sensing)
    if (yield from _is_even(sensing)):
        return _flat(sensing)
    found = (yield from _by_prony(sensing)) if sensing.structure.waves else None
    if found is None:
        enough = policy.rows_most * sensing.look
        found = yield from _by_pursuit(sensing, min(enough, n / 2) if affordable else enough)
    if found is not None:
        return _judged(sensing, found)
    if affordable:
        sensing.memory = replace(memory, gradient=Gradient.DENSE)
        return (yield from _all_axes(sensing))
    yield from sensing.more_signs(most - sensing.measured.size)
    return (yield from _filtered(sensing))


def _few_waves(sensing: _Round) -> Steps[tuple[Slopes, SensingMemory]]:
    """Spend most of a small budget on waves; on part of the coordinates if they are too few."""
    context, k = sensing.context, sensing.structure.degrees_of_freedom
    moved = not np.array_equal(
        sensing.structure.base(sensing.point.z, sensing.step), sensing.point.z
    )
    left = int(context.left)
    rows = left - max(2, left // 4) - moved
    checks = 2 if rows >= 2 * k + 5 else 1
    m = min(max(1, (rows - checks - 1) // 2), 2 * k + 2)
    if rows <= 1:
        return _flat(sensing)
    if m < k:
        share = min(1.0, max(m - 1, 0.7) / k)
        size = max(2 * m + 2, int(sensing.free.size * share))
        if size < sensing.free.size:
            chosen = context.generator().choice(sensing.free, size, replace=False)
            sensing.restrict(np.sort(chosen))
    yield from sensing.more_signs(checks)
    signs, y = sensing.measured, np.empty(0)
    waves = FourierRows(key=context.key(), d=sensing.point.z.size, free=sensing.free)
    for stage in sorted({min(m, k + 1), m}):
        count = min(2 * stage + 1, 2 * ((waves.available - 1) // 2) + 1)
        more = RowSlice(rows=waves, start=y.size, count=count - y.size)
        y = np.append(y, (yield from sensing.slopes(more)))
        some = RowSlice(rows=waves, start=0, count=count)
        sensing.measured = Measurements(((some, y), *signs.batches))
        if np.isfinite(y).all():
            support = prony(waves, y, k, sensing.slope_noise).support
            found = _confirmed(sensing, waves, support, checks)
            if found is not None:
                return _judged(sensing, found)
    most = max(1, min(k, sensing.measured.size // 3))
    guess = matching_pursuit(sensing.measured, most, held_out=0)
    if not guess.support.size:
        return _flat(sensing)
    return _judged(sensing, _recovered(sensing, guess))


def _few_signs(sensing: _Round) -> Steps[tuple[Slopes, SensingMemory]]:
    """Spend most of a small budget on signs, and believe what explains them best."""
    left = int(sensing.context.left)
    rows = min(left - max(3, left // 4), math.ceil(sensing.policy.rows_most * sensing.look))
    if rows <= 1:
        return _flat(sensing)
    yield from sensing.more_signs(rows)
    guess = sensing.structure.recover(sensing.measured, sensing.support, held_out=0, noise=0.0)
    if not guess.support.size:
        return _flat(sensing)
    return _judged(sensing, _recovered(sensing, guess))


def _is_worthless(sensing: _Round) -> bool:
    """Tell whether the first rows show slopes so small that they promise next to nothing."""
    common = sensing.noise.curvature * sensing.step
    slope = 3 * float(np.sqrt(np.mean((sensing.measured.slopes - common) ** 2)))
    gained = abs(sensing.context.first_value - sensing.point.value)
    gain = 0.5 * sensing.softness * slope**2
    return gain <= 0.1 * sensing.policy.gain_counted * gained


def _is_even(sensing: _Round) -> Steps[bool]:
    """Tell whether f rises or falls alike both ways: then slopes say nothing, as in |x|.

    All signs then give the same slope; one probe the other way tells.
    """
    y = sensing.measured.slopes
    common = sensing.noise.curvature * sensing.step
    if not np.ptp(y) <= 1e-3 * abs(y[0]) or abs(y[0]) <= 10 * abs(common):
        return False
    assert sensing.base is not None, "rows were measured from it"  # noqa: S101
    rows = RowSlice(rows=sensing.signs, start=0, count=1)
    (back,) = yield from sensing.context.differences(sensing.base, rows, -sensing.step)
    return bool(abs(back / sensing.step - y[0]) <= 0.1 * abs(y[0]))


def _by_prony(sensing: _Round) -> Steps[Slopes | None]:
    """Locate the coordinates from few waves, confirmed by the rows of signs measured before."""
    k, n = sensing.structure.degrees_of_freedom, sensing.free.size
    rows = FourierRows(key=sensing.context.key(), d=sensing.point.z.size, free=sensing.free)
    signs = sensing.measured
    waves = np.empty(0)
    for m in (k + 1, k + 1 + max(1, k // 2), 2 * k + 2):
        count = 2 * m + 1 - waves.size
        if waves.size + count + signs.size >= 0.8 * n:
            return None
        some = RowSlice(rows=rows, start=waves.size, count=count)
        y = yield from sensing.slopes(some)
        waves = np.append(waves, y)
        sensing.measured = Measurements(
            ((RowSlice(rows=rows, start=0, count=waves.size), waves), *signs.batches)
        )
        if not np.isfinite(waves).all():
            return None
        common = sensing.noise.curvature * sensing.step
        shifted = waves - np.where(np.arange(waves.size) == 0, common, 0.5 * common)
        spectrum = prony(rows, shifted, k, sensing.slope_noise)
        found = _confirmed(sensing, rows, spectrum.support, signs.size)
        if found is not None:
            return found
        yield from line_probe(
            sensing.context, sensing.point, sensing.measured.correlate(sensing.measured.centered)
        )
        if (
            spectrum.rest > sensing.policy.pursuit_error
        ):  # more coordinates than may stay: waves do not tell them apart
            return None
    return None


def _confirmed(
    sensing: _Round, rows: FourierRows, support: Indices, n_checks: int
) -> Slopes | None:
    """Return the slopes on a support, or on one close to it, if all rows agree with it."""
    policy, measured = sensing.policy, sensing.measured
    k, n = sensing.structure.degrees_of_freedom, rows.free.size
    found = _least_squares(measured, support, n_checks)
    if found is None or found[1] > policy.prony_error:
        width = max(1, min(8, n // (8 * k)))
        near = neighbors(rows, np.sort(support), width)
        guess = matching_pursuit(
            measured, min(support.size + 2, 2 * k), held_out=n_checks, among=near
        )
        found = _least_squares(measured, guess.support, n_checks)
    if found is None or found[1] > policy.prony_error:
        return None
    slopes, error, support = found
    return _recovered(sensing, Recovery(support, slopes, error))


def _least_squares(
    measured: Measurements, support: Indices, n_checks: int
) -> tuple[Vector, float, Indices] | None:
    """Fit slopes on a support; the relative error on the fitted rows and on the others."""
    y = measured.centered if support.size == 0 else measured.slopes
    used = y.size - n_checks
    if support.size == 0 or support.size >= used - 1:
        return None
    columns = np.column_stack([measured.common, measured.columns(support)])
    fitted = np.linalg.lstsq(columns[:used], y[:used], rcond=None)[0]
    miss = y - columns @ fitted
    inside, outside = (
        float(np.linalg.norm(miss[part])) / max(float(np.linalg.norm(y[part])), 1e-300)
        for part in (slice(None, used), slice(used, None))
    )
    fitted = np.linalg.lstsq(columns, y, rcond=None)[0]
    spread = float(np.linalg.norm(y - columns @ fitted)) / math.sqrt(max(y.size - fitted.size, 1))
    errors = spread * np.sqrt(np.maximum(np.diag(np.linalg.pinv(columns.T @ columns)), 0.0))
    sure = np.abs(fitted[1:]) > 4 * errors[1:]  # what noise explains is dropped
    if sure.any() and not sure.all():
        support = support[sure]
        columns = columns[:, np.append(0, 1 + np.flatnonzero(sure))]
        fitted = np.linalg.lstsq(columns, y, rcond=None)[0]
    return np.asarray(fitted[1:]), max(inside, outside), support


def _by_pursuit(sensing: _Round, enough: float) -> Steps[Slopes | None]:
    """Measure along more signs until few coordinates explain them, at most ``enough`` of them."""
    policy = sensing.policy
    first = math.ceil(policy.rows_first * sensing.look)
    # where no waves were tried before, stages are short, and few rows judge them strictly
    staged = not sensing.structure.waves
    believed = STAGED_ERROR if staged else policy.pursuit_error
    yield from sensing.more_signs(first - sensing.measured.size)
    while True:
        measured = sensing.measured
        held = 4 if staged else max(4, measured.size // 6)
        recovery = sensing.structure.recover(
            measured, sensing.support, held_out=held, noise=sensing.slope_noise
        )
        explained = (sensing.rounding / sensing.step) ** 2 * (held + 2 * math.sqrt(2 * held))
        miss = (recovery.error * recovery.size) ** 2
        if miss < (believed * recovery.size) ** 2 + explained:
            sensing.context.explain(
                f"{measured.size} measurements: few coordinates explain the slopes (held-out error "
                f"{recovery.error:.1e})."
            )
            return _recovered(sensing, recovery)
        yield from line_probe(sensing.context, sensing.point, measured.correlate(measured.centered))
        if measured.size >= enough:
            return None
        yield from sensing.more_signs(max(4, measured.size // (5 if staged else 3)))


def _recovered(sensing: _Round, recovery: Recovery) -> Slopes:
    values, candidates = sensing.structure.slopes(sensing.point.z, recovery)
    return Slopes(values, candidates, Confidence.RECOVERED, sensing.cost)


def _judged(sensing: _Round, slopes: Slopes) -> tuple[Slopes, SensingMemory]:
    """Compare recovered slopes with the largest that were seen."""
    memory = replace(sensing.memory, gradient=Gradient.SPARSE)
    size = float(np.linalg.norm(slopes.values[slopes.candidates]))
    return _weighed(sensing, slopes, memory, size)


def _weighed(
    sensing: _Round, slopes: Slopes, memory: SensingMemory, slope: float
) -> tuple[Slopes, SensingMemory]:
    """Call slopes flat that promise next to nothing of what slopes have promised before."""
    promised = slope * max(1.0, float(np.abs(sensing.point.z).max()))
    gained = abs(sensing.context.first_value - sensing.point.value)
    memory = replace(memory, scale=max(memory.scale, promised, gained))
    worthless = 0.5 * sensing.softness * slope**2 <= 0.1 * sensing.policy.gain_counted * gained
    tiny = promised <= 1e-7 * memory.scale or slope * sensing.step <= 30 * sensing.rounding
    if worthless or tiny:
        slopes = replace(slopes, confidence=Confidence.FLAT)
        sensing.context.explain(f"{slopes.cost} queries: all slopes vanish.")
    return slopes, memory


def _flat(sensing: _Round) -> tuple[Slopes, SensingMemory]:
    nothing = np.zeros(sensing.point.z.size)
    sensing.context.explain(f"{sensing.cost} queries: slopes vanish, or f is even here.")
    none = np.empty(0, dtype=np.intp)
    return Slopes(nothing, none, Confidence.FLAT, sensing.cost), sensing.memory


def _all_axes(sensing: _Round) -> Steps[tuple[Slopes, SensingMemory]]:
    """Measure all slopes; those along rows that are measured already save some of the axes."""
    context, point, free = sensing.context, sensing.point, sensing.free
    values = np.zeros(point.z.size)
    if sensing.measured.size:
        yield from _completed(sensing, values)
    else:
        first, second = free[::2], free[1::2]
        values[first] = yield from axis_slopes(context, point, first, sensing.noise)
        if second.size:
            yield from line_probe(context, point, values)
            values[second] = yield from axis_slopes(context, point, second, sensing.noise)
    yield from line_probe(context, point, values)
    candidates = context.structure.head(values, 2 * context.structure.size, sensing.support)
    context.explain(f"{sensing.cost} queries: slopes along all {free.size} axes.")
    outside = context.structure.promise(values)
    outside[sensing.support] = 0.0
    slopes = Slopes(values, candidates, Confidence.EXACT, sensing.cost)
    sensing.step = sensing.noise.axis_step
    memory = sensing.memory
    return _weighed(sensing, slopes, memory, float(outside.max(initial=0.0)))


def _completed(sensing: _Round, values: Vector) -> Steps[None]:
    """Measure along the axes that stand out, and work the others out of what is measured.

    With the slopes of some coordinates known, the measurements are linear equations for the
    others. They outnumber the unknowns, so they also show whether they agree (f may be
    undefined along some of them); if not, the remaining axes are measured as well.
    """
    context, point, measured = sensing.context, sensing.point, sensing.measured
    seen = np.abs(measured.correlate(measured.centered))[sensing.free]
    seen[np.isin(sensing.free, sensing.support)] = np.inf
    order = np.argsort(seen, kind="stable")
    # fewer unknowns than equations, which are then well posed
    rest, known = (
        sensing.free[np.sort(part)] for part in np.split(order, [int(0.8 * measured.size)])
    )
    values[known] = yield from axis_slopes(context, point, known, sensing.noise)
    common = sensing.noise.curvature * sensing.step * measured.common
    y = measured.slopes - common - measured.columns(known) @ values[known]
    columns = measured.columns(rest)
    values[rest] = np.linalg.lstsq(columns, y, rcond=None)[0]
    if not np.linalg.norm(y - columns @ values[rest]) <= 1e-2 * np.linalg.norm(y):
        values[rest] = yield from axis_slopes(context, point, rest, sensing.noise)


def _filtered(sensing: _Round) -> Steps[tuple[Slopes, SensingMemory]]:
    """Measure the coordinates that a matched filter points out, twice.

    What those in front explain is taken out of the measurements, which makes the others clearer.
    """
    context, point, structure = sensing.context, sensing.point, sensing.structure
    known, slopes = sensing.support, np.empty(0)
    if known.size:
        slopes = yield from axis_slopes(context, point, known, sensing.noise)
    for _ in range(2):
        estimate = _match(sensing, known, slopes).slopes
        front = structure.head(estimate, 2 * structure.size, known)
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
    result = Slopes(values, candidates, Confidence.FILTERED, sensing.cost)
    memory = replace(sensing.memory, gradient=Gradient.FILTERED, matched=matched)
    gained = abs(context.first_value - point.value)
    promised = float(sensing.measured.slopes.std()) * max(1.0, float(np.abs(point.z).max()))
    return result, replace(memory, scale=max(memory.scale, promised, gained))


def _match(sensing: _Round, known: Indices, slopes: Vector) -> MatchedFilter:
    """Add what a matched filter sees to what earlier ones saw.

    ``(1/m) sum_i y_i u_i`` is an unbiased estimate of the gradient with noise ``|g| / sqrt(m)`` per
    coordinate; what the ``known`` coordinates contribute is taken out first.
    """
    measured = sensing.measured
    y, common = measured.slopes, measured.common
    if known.size:
        y = y - measured.columns(known) @ slopes
    y = y - (common @ y) / float(common @ common) * common
    noise = max(float(np.linalg.norm(y)) / y.size, float(np.finfo(float).tiny) ** 0.25)
    seen = measured.correlate(y) / y.size
    seen[known] += slopes
    weight, before = noise**-2, sensing.memory.matched
    if before is None:
        return MatchedFilter(weighted=seen * weight, weight=weight)
    share = sensing.policy.filter_memory
    return MatchedFilter(
        weighted=seen * weight + share * before.weighted, weight=weight + share * before.weight
    )


def axis_steps(context: SearchContext, z: Vector, support: Indices, steps: Vector) -> Vector:
    """Return signed steps along axes that stay inside: upwards where there is room for it."""
    structure = context.structure
    above, below = structure.high[support] - z[support], z[support] - structure.low[support]
    up = (above >= 2 * steps) | (above >= below)
    room = 0.5 * np.where(up, above, below)
    signed = np.where(up, 1.0, -1.0) * np.minimum(steps, room)
    # what is added is what was meant: a step that rounding changes would spoil the quotient
    return np.asarray((z[support] + signed) - z[support]) if structure.unit is None else signed


def axis_slopes(
    context: SearchContext,
    point: EvaluatedPoint,
    support: Indices,
    noise: NoiseModel,
    *,
    steps: Vector | None = None,
    central: bool = False,
) -> Steps[Vector]:
    """Measure slopes along axes, one query each, or two if ``central``; failed ones are zero."""
    if steps is None:
        steps = np.full(support.size, noise.axis_step)
    signed = axis_steps(context, point.z, support, steps)
    if not central:
        changes = yield from context.axis_differences(point, support, signed)
        return _quotient(changes, signed)
    structure = context.structure
    low, high = structure.low[support], structure.high[support]
    back = np.clip(point.z[support] - signed, low, high) - point.z[support]
    both = yield from context.axis_differences(
        point, np.append(support, support), np.append(signed, back)
    )
    there, other = np.split(both, 2)
    # the parabola through three points; a plain quotient where one of them failed or is missing
    two_sided = (there * back**2 - other * signed**2) / np.where(
        back == 0, 1.0, signed * back * (back - signed)
    )
    plain = _quotient(there, signed)
    return np.where((back != 0) & np.isfinite(two_sided), two_sided, plain)


def _quotient(changes: Vector, steps: Vector) -> Vector:
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = changes / steps
    return np.where(np.isfinite(slopes), slopes, 0.0)
