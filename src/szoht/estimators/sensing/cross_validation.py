"""Sparse recovery from noisy differences, judged by cross-validation.

The data are rows u_i (displacements, of any lengths) and differences y_i = <u_i, g> + error, all
errors of one variance. Orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993) selects
columns; how many, and whether to believe them, is decided by errors on rows that took no part in
the selection.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["CrossValidatedRecovery", "cross_validate", "pursue", "recover_noisy", "winsorize"]

FOLDS = 5

BEAM_WIDTH = 6
"""Choices that a pursuit follows at once where rows are few and one choice at a time fails."""

FEW_ROWS = 1.5
"""In the order of what s columns need, s (1 + log(d / s))."""

LITTLE_NOISE = 0.01
"""Share of the power up to which more choices help: beyond, the best of many fits noise. Nothing
more is looked for if four times as much is left unexplained."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossValidatedRecovery:
    """Slopes that explain the differences, and how well.

    ``order`` lists coordinates as the pursuit chose them, ``size`` how many of them predict best;
    ``slopes`` and ``z`` belong to ``order`` (zero beyond ``size``). ``r2`` is the share of the
    differences' power that is predicted on held-out rows, ``t`` the paired t statistic of that
    gain, ``signal`` the share of their power that noise does not explain. ``z`` is each slope
    divided by its standard error, from the *held-out* error: in-sample residuals of a selection are
    too small.
    """

    order: Indices
    slopes: Vector
    size: int
    z: Vector
    r2: float
    t: float
    signal: float
    rows: int
    error: float


def winsorize(y: Vector, limit: float = 3.5) -> Vector:
    """Clip values to ``limit`` robust standard deviations around their median."""
    center = float(np.median(y))
    width = limit * 1.4826 * float(np.median(np.abs(y - center)))
    return np.clip(y, center - width, center + width) if width > 0 else y


@dataclass(frozen=True, eq=False)
class Chosen:
    """Columns in the order of their choice, and the factors Q, R of these columns.

    ``residual`` is what they leave of the differences.
    """

    order: tuple[int, ...]
    basis: Vector
    factor: Vector
    residual: Vector

    def solve(self, y: Vector) -> Vector:
        """Return the coefficients of least squares."""
        from scipy.linalg import solve_triangular  # noqa: PLC0415  (costs more than the import)

        if not self.order:
            return np.empty(0)
        found: Vector = solve_triangular(self.factor, self.basis.T @ y, check_finite=False)
        return found


def pursue(
    rows: Vector, y: Vector, size: int, *, width: int = 1, start: Chosen | None = None
) -> list[Chosen]:
    """Return the best columns found for each number of them, from those of ``start`` on.

    Orthogonal matching pursuit that follows its ``width`` best choices at once: with few rows the
    largest correlation is often not that of a column that matters, and a wrong one is not given
    back. Rows have any lengths, hence the norms: `matching_pursuit` on structured rows needs none,
    and never forms a matrix.
    """
    start = start or Chosen((), np.empty((y.size, 0)), np.empty((0, 0)), y.astype(np.float64))
    norms = np.sqrt(np.einsum("ij,ij->j", rows, rows, dtype=np.float64))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 1e-9 * norms.max())
    beam, best = [start], [start]
    for _ in range(len(start.order), min(size, y.size - 2, rows.shape[1])):
        fits = np.abs(np.stack([one.residual for one in beam]).astype(rows.dtype) @ rows) * scale
        found: dict[frozenset[int], tuple[float, Callable[[], Chosen]]] = {}
        for one, fit in zip(beam, fits, strict=True):
            fit[list(one.order)] = -1.0
            for j, left, make in _extensions(one, rows, fit, norms, width):
                found.setdefault(frozenset((*one.order, j)), (left, make))
        if not found:
            break
        beam = [make() for _, make in sorted(found.values(), key=itemgetter(0))[:width]]
        best.append(beam[0])
    return best


def _extensions(
    one: Chosen, rows: Vector, fit: Vector, norms: Vector, width: int
) -> Iterator[tuple[int, float, Callable[[], Chosen]]]:
    """Yield columns of the best fit, the squares that are left with each, and how to choose it."""
    if width == 1:
        top = np.array([fit.argmax()])
    else:
        top = np.flatnonzero(fit >= 0.5 * fit.max())
        top = top[np.argsort(-fit[top], kind="stable")[:width]]
    columns = rows[:, top].astype(np.float64)
    along = one.basis.T @ columns
    rest = columns - one.basis @ along
    again = one.basis.T @ rest
    rest -= one.basis @ again
    lengths = np.linalg.norm(rest, axis=0)
    gains = one.residual @ rest
    for i, j in enumerate(top.tolist()):
        if fit[j] > 0 and lengths[i] >= 1e-6 * norms[j]:
            left = float(one.residual @ one.residual) - (gains[i] / lengths[i]) ** 2
            yield j, left, partial(_extended, one, j, rest[:, i], (along + again)[:, i])


def _extended(one: Chosen, j: int, rest: Vector, along: Vector) -> Chosen:
    """Return a choice with one more column, ``rest`` of which is orthogonal to the others."""
    size, length = len(one.order), float(np.linalg.norm(rest))
    factor = np.zeros((size + 1, size + 1))
    factor[:size, :size], factor[:size, size], factor[size, size] = one.factor, along, length
    q = rest / length
    residual = one.residual - q * float(q @ one.residual)
    return Chosen((*one.order, j), np.column_stack([one.basis, q]), factor, residual)


def cross_validate(
    rows: Vector, y: Vector, size: int, groups: Indices | None = None, *, width: int = 1
) -> Vector:
    """Return squared held-out errors, (size + 1, m): row s for s columns, selected in each fold.

    Where a pursuit ends early, the errors of its last size are repeated. Rows of one of the
    ``groups`` (along the same direction) are held out together.
    """
    m = y.size
    errors = np.empty((size + 1, m))
    fold = (np.arange(m) if groups is None else groups) % FOLDS
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        levels = pursue(rows[train], y[train], size, width=width)
        for s in range(size + 1):
            chosen = levels[min(s, len(levels) - 1)]
            held = rows[test][:, list(chosen.order)].astype(np.float64)
            errors[s, test] = (y[test] - held @ chosen.solve(y[train])) ** 2
    return errors


def recover_noisy(
    rows: Vector, y: Vector, size: int, variance: float, groups: Indices | None = None
) -> CrossValidatedRecovery:
    """Recover slopes from rows whose differences err with the given variance.

    Parameters
    ----------
    rows : array of shape (m, d)
        Displacements; those of different lengths mix with the right weights.
    y : array of shape (m,)
        Differences.
    size : int
        The largest number of slopes; at most a third of the rows is used.
    variance : float
        Of the error of one difference, as far as known.
    groups : array of shape (m,), optional
        Numbers of directions: rows along the same one, of other lengths, share a number.
    """
    distinct = y.size if groups is None else np.unique(groups).size
    size = max(1, min(size, distinct // 3))
    found = _recover(rows, y, size, variance, groups, width=1)
    few = y.size < FEW_ROWS * size * (1 + math.log(max(1.0, rows.shape[1] / size)))
    noise = 1.0 - found.signal
    if few and noise < LITTLE_NOISE and 1.0 - found.r2 > 4 * LITTLE_NOISE:
        wider = _recover(rows, y, size, variance, groups, width=BEAM_WIDTH)
        return wider if wider.r2 > found.r2 else found
    return found


def _recover(
    rows: Vector, y: Vector, size: int, variance: float, groups: Indices | None, *, width: int
) -> CrossValidatedRecovery:
    errors = cross_validate(rows, y, size, groups, width=width)
    means = errors.mean(axis=1)
    levels = pursue(rows, y, size, width=width)
    best = min(int(np.argmin(means)), len(levels) - 1)
    chosen = levels[best]
    order = np.array(pursue(rows, y, size, start=chosen)[-1].order, dtype=np.intp)
    slopes, z = np.zeros(order.size), np.zeros(order.size)
    if best:
        slopes[:best] = chosen.solve(y)
        norms = np.linalg.norm(rows[:, order[:best]], axis=0)
        z[:best] = np.abs(slopes[:best]) * norms / max(math.sqrt(means[best]), 1e-300)
    gain = errors[0] - errors[best]
    spread = float(gain.std(ddof=1)) / math.sqrt(y.size) if y.size > 1 else 0.0
    total = max(float(means[0]), 1e-300)
    return CrossValidatedRecovery(
        order=order,
        slopes=slopes,
        size=best,
        z=z,
        r2=1.0 - float(means[best]) / total,
        t=float(gain.mean()) / max(spread, 1e-300) if best else 0.0,
        signal=max(0.0, 1.0 - variance / total),
        rows=y.size,
        error=float(means[best]),
    )
