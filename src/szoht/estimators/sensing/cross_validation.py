"""Sparse recovery from noisy differences, judged by cross-validation.

The data are rows u_i (displacements, of any lengths) and differences y_i = <u_i, g> + error, all
errors of one variance. Orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993) selects
columns; how many, and whether to believe them, is decided by errors on rows that took no part in
the selection.
"""

import math
from dataclasses import dataclass

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["CrossValidatedRecovery", "cross_validate", "pursue", "recover_noisy", "winsorize"]

FOLDS = 5


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


def pursue(rows: Vector, y: Vector, size: int) -> tuple[Indices, Vector, Vector]:
    """Select up to ``size`` columns by orthogonal matching pursuit.

    Returns their order and the factors Q, R of these columns, so that the least-squares
    coefficients on the first s of them solve ``R[:s, :s] c = Q[:, :s]' y``. Every s is judged on
    held-out rows, hence the factors, and rows have any lengths, hence the norms: `matching_pursuit`
    on structured rows needs neither, and never forms a matrix.
    """
    m, size = y.size, min(size, y.size - 2, rows.shape[1])
    norms = np.sqrt(np.einsum("ij,ij->j", rows, rows, dtype=np.float64))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 1e-9 * norms.max())
    basis, factor = np.zeros((m, max(size, 0))), np.zeros((max(size, 0), max(size, 0)))
    order: list[int] = []
    residual = y.astype(np.float64)
    for s in range(max(size, 0)):
        fit = np.abs(residual.astype(rows.dtype) @ rows) * scale
        fit[order] = -1.0
        j = int(np.argmax(fit))
        column = rows[:, j].astype(np.float64)
        q = basis[:, :s]
        along = q.T @ column
        rest = column - q @ along
        again = q.T @ rest
        rest -= q @ again
        length = float(np.linalg.norm(rest))
        if fit[j] <= 0 or length < 1e-6 * norms[j]:
            return np.array(order, dtype=np.intp), basis[:, :s], factor[:s, :s]
        order.append(j)
        factor[:s, s], factor[s, s] = along + again, length
        basis[:, s] = rest / length
        residual -= basis[:, s] * float(basis[:, s] @ residual)
    return np.array(order, dtype=np.intp), basis, factor


def cross_validate(rows: Vector, y: Vector, size: int, groups: Indices | None = None) -> Vector:
    """Return squared held-out errors, (size + 1, m): row s for s columns, selected in each fold.

    Where a pursuit ends early, the errors of its last size are repeated. Rows of one of the
    ``groups`` (along the same direction) are held out together.
    """
    from scipy.linalg import solve_triangular  # noqa: PLC0415  (costs more than the whole import)

    m = y.size
    errors = np.empty((size + 1, m))
    fold = (np.arange(m) if groups is None else groups) % FOLDS
    for number in range(FOLDS):
        train, test = fold != number, fold == number
        order, basis, factor = pursue(rows[train], y[train], size)
        errors[0, test] = y[test] ** 2
        held, target = rows[test][:, order].astype(np.float64), basis.T @ y[train]
        for s in range(1, size + 1):
            n = min(s, order.size)
            c = solve_triangular(factor[:n, :n], target[:n], check_finite=False) if n else target
            errors[s, test] = (y[test] - held[:, :n] @ c[:n]) ** 2
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
    from scipy.linalg import solve_triangular  # noqa: PLC0415  (costs more than the whole import)

    distinct = y.size if groups is None else np.unique(groups).size
    size = max(1, min(size, distinct // 3))
    errors = cross_validate(rows, y, size, groups)
    means = errors.mean(axis=1)
    best = int(np.argmin(means))
    order, basis, factor = pursue(rows, y, size)
    best = min(best, order.size)
    slopes, z = np.zeros(order.size), np.zeros(order.size)
    if best:
        slopes[:best] = solve_triangular(factor[:best, :best], basis[:, :best].T @ y)
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
