"""Few coordinates from few rows: Prony's method on waves, matching pursuit on signs."""

import math

import numpy as np

from szoht.algorithms.auto.known import near
from szoht.algorithms.auto.moves.line_probe import line_probe
from szoht.algorithms.auto.records import Slopes, Steps
from szoht.algorithms.auto.sensing.round import (
    CONFIRMING_ROWS,
    SensingMemory,
    SensingRound,
    compared,
    flat_slopes,
    recovered,
)
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

__all__ = [
    "recall_sparse",
    "sense_by_prony",
    "sense_by_pursuit",
    "sense_few_signs",
    "sense_few_waves",
]

FARTHER_ERROR = 0.5
"""How much farther known rows may err, as a share of the usual slope."""


def sense_few_waves(sensing: SensingRound) -> Steps[tuple[Slopes, SensingMemory]]:
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
        return flat_slopes(sensing)
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
                return compared(sensing, found)
    most = max(1, min(k, sensing.measured.size // 3))
    guess = matching_pursuit(sensing.measured, most, held_out=0)
    if not guess.support.size:
        return flat_slopes(sensing)
    return compared(sensing, recovered(sensing, guess))


def sense_few_signs(sensing: SensingRound) -> Steps[tuple[Slopes, SensingMemory]]:
    """Spend most of a small budget on signs, and believe what explains them best."""
    left = int(sensing.context.left)
    rows = min(left - max(3, left // 4), math.ceil(sensing.policy.rows_most * sensing.look))
    if rows <= 1:
        return flat_slopes(sensing)
    yield from sensing.more_signs(rows)
    guess = sensing.structure.recover(sensing.measured, sensing.support, held_out=0, noise=0.0)
    if not guess.support.size:
        return flat_slopes(sensing)
    return compared(sensing, recovered(sensing, guess))


def recall_sparse(sensing: SensingRound) -> Steps[Slopes | None]:
    """Find few coordinates that explain known rows, confirmed by a few that are measured.

    Rows farther away are tried as well: curvature may be the same along all of them.
    """
    context, policy = sensing.context, sensing.policy
    sets = [sensing.known]
    if not context.known_too_far:
        farther = near(context, sensing.point, sensing.noise, sensing.step, row_error=FARTHER_ERROR)
        sets.append(farther)
    for known in sets:
        if known is None or known.rows.size <= sensing.structure.degrees_of_freedom:
            continue
        yield from sensing.more_signs(CONFIRMING_ROWS - sensing.measured.size)
        recovery = sensing.structure.recover(
            sensing.measured.after(known.rows),
            sensing.support,
            held_out=CONFIRMING_ROWS + known.rows.size // 6,
            noise=max(sensing.slope_noise, known.error),
        )
        if recovery.error < policy.pursuit_error and not sensing.vanishes:
            context.explain(
                f"few coordinates explain {known.rows.size} known rows (held-out error "
                f"{recovery.error:.1e})."
            )
            return recovered(sensing, recovery)
        context.known_too_far = True
    return None


def sense_by_prony(sensing: SensingRound) -> Steps[Slopes | None]:
    """Locate the coordinates from few waves, confirmed by the rows of signs measured before."""
    k, n = sensing.structure.degrees_of_freedom, sensing.free.size
    rows = FourierRows(key=sensing.context.key(), d=sensing.point.z.size, free=sensing.free)
    signs = sensing.measured
    waves = np.empty(0)
    for m in (k + 1, k + 1 + max(1, k // 2), 2 * k + 2):
        count = _odd(sensing, 2 * m + 1 - waves.size, even=waves.size > 0)
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


def _odd(sensing: SensingRound, count: int, *, even: bool) -> int:
    """Return how many more waves fill a plan; there is an odd number of them in all."""
    whole = sensing.context.speculation.whole(count)
    return whole - (whole > count and whole % 2 == even)


def _confirmed(
    sensing: SensingRound, rows: FourierRows, support: Indices, n_checks: int
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
    return recovered(sensing, Recovery(support, slopes, error))


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


def sense_by_pursuit(sensing: SensingRound, enough: float) -> Steps[Slopes | None]:
    """Measure along more signs until few coordinates explain them, at most ``enough`` of them."""
    policy = sensing.policy
    first = math.ceil(policy.rows_first * sensing.look)
    # where no waves were tried before, stages are short, and few rows judge them strictly
    staged = not sensing.structure.waves
    believed = policy.pursuit_error / (5 if staged else 1)
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
            return recovered(sensing, recovery)
        yield from line_probe(sensing.context, sensing.point, measured.correlate(measured.centered))
        if measured.size >= enough:
            return None
        yield from sensing.more_signs(max(4, measured.size // (5 if staged else 3)))
