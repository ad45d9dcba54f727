"""CoSaMP: a sparse vector from few linear measurements of it."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.core.directions import CACHE_BYTES, VALUE_BYTES
from szoht.core.validation import check_integer, check_real, check_vector, frozen
from szoht.estimators.sensing.matrices import DenseMatrix, Matrix, gram_rows
from szoht.operators.base import largest
from szoht.types import Indices, Vector

__all__ = ["GramRows", "Recovered", "cosamp", "least_squares"]

CORRELATION_RTOL = 1e-12
"""Correlations below this fraction of the largest one count as rounding."""

PIVOT_RTOL = 1e-10
"""Columns count as dependent where the ratio of squared pivots is below this."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recovered:
    """What CoSaMP found.

    ``solution`` is the sparse vector, dense and read-only; ``residual`` is ``||y - Z g|| / ||y||``
    for it, and 0 if y is; ``passes`` counts the least-squares problems that were solved.
    """

    solution: Vector
    residual: float
    passes: int


def cosamp(
    matrix: Vector | Matrix,
    measurements: Vector,
    *,
    sparsity: int,
    tol: float = 0.5,
    max_passes: int = 10,
    gram: "GramRows | None" = None,
) -> Recovered:
    """Find the s-sparse g that explains the measurements ``y = Z g``.

    From ``r = y`` and an empty support T, each pass takes the 2 s largest ``|Z^T r|`` into T,
    fits y on these columns by least squares, keeps the s largest coefficients as T and g, and
    sets ``r = y - Z g``; until ``||r|| <= tol ||y||``. The scale of Z does not matter, as long as
    y has the same.

    Parameters
    ----------
    matrix : array of shape (m, d), or Matrix
        Z.
    measurements : array of shape (m,)
        y, finite.
    sparsity : int
        s, in [1, d].
    tol : float
        Relative residual that is small enough, >= 0.
    max_passes : int
        Least-squares problems to solve at most, >= 1.
    gram : GramRows, optional
        Inner products cached by earlier calls with the same matrix.

    Returns
    -------
    Recovered
        The solution, its relative residual, and the number of passes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> signs = rng.choice([-1.0, 1.0], size=(40, 200))
    >>> g = np.zeros(200)
    >>> g[[5, 60, 61]] = [1.0, -2.0, 0.5]
    >>> found = cosamp(signs, signs @ g, sparsity=3, tol=0.0)
    >>> bool(np.allclose(found.solution, g)), found.passes
    (True, 2)

    Notes
    -----
    Columns enter by their inner products only, and these are computed once per column: a pass
    costs a Cholesky factor and O(s d), and fetching the columns it is the first to need O(m d)
    each. Differences from the reference: if no pass meets ``tol``, the pass with the smallest
    residual is returned instead of the last; the passes end once one would repeat the one before;
    at most d columns are taken; dependent columns, or more of them than measurements, give the
    shortest least-squares solution. Residuals below 1e-7 are known to that precision only.

    References
    ----------
    Needell and Tropp, CoSaMP: iterative signal recovery from incomplete and inaccurate samples,
    Applied and Computational Harmonic Analysis 2009.
    """
    system = DenseMatrix(matrix) if isinstance(matrix, np.ndarray) else matrix
    m, d = system.shape
    y = check_vector("measurements", measurements, size=m)
    s = check_integer("sparsity", sparsity, low=1, high=d, high_name="d")
    check_real("tol", tol, low=0)
    check_integer("max_passes", max_passes, low=1)
    gram = GramRows(d) if gram is None else gram
    energy = float(y @ y)
    best = Recovered(solution=frozen(np.zeros(d)), residual=float(energy > 0), passes=0)
    target = system.correlate(y)
    correlations = np.abs(target)
    floor = CORRELATION_RTOL * float(correlations.max())
    kept = merged = np.empty(0, dtype=np.intp)
    passes = 0
    while best.residual > tol and passes < max_passes:
        strong = largest(np.where(correlations > floor, correlations, 0.0), min(2 * s, d))
        before, merged = merged, np.union1d(strong, kept)
        if np.array_equal(merged, before):
            break  # the same columns would give the same fit
        passes += 1
        gram.fetch(merged, system)
        fitted = _solve(gram.block(merged), target[merged])
        top = largest(np.abs(fitted), s)
        kept, values = merged[top], fitted[top]
        explained = gram.combination(kept, values)
        # ||y - Z g||^2, expanded, since neither Z nor the residual exists as an array
        rest = max(0.0, energy - float(values @ (2 * target[kept] - explained[kept])))
        residual = math.sqrt(rest / energy)
        if passes == 1 or residual < best.residual:
            solution = np.zeros(d)
            solution[kept] = values
            best = Recovered(solution=frozen(solution), residual=residual, passes=passes)
        correlations = np.abs(target - explained)
    return Recovered(solution=best.solution, residual=best.residual, passes=passes)


class GramRows:
    """The inner products of some columns with all of them: a cache, empty when pickled."""

    def __init__(self, d: int) -> None:
        self._slots = np.full(d, -1, dtype=np.intp)
        self._rows = np.empty((0, d))
        self._count = 0

    def fetch(self, indices: Indices, system: Matrix) -> None:
        """Make sure that the rows at ``indices`` are here."""
        d = self._slots.size
        if (self._count + indices.size) * d * VALUE_BYTES > CACHE_BYTES:
            self._count = 0
            self._slots[:] = -1
        new = indices[self._slots[indices] < 0]
        if not new.size:
            return
        total = self._count + new.size
        if total > len(self._rows):
            rows = np.empty((min(d, 2 * total), d))
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        self._rows[self._count : total] = gram_rows(system, new)
        self._slots[new] = np.arange(self._count, total)
        self._count = total

    def block(self, indices: Indices) -> Vector:
        """Return the Gram matrix of the columns at ``indices``."""
        return self._rows.take(self._slots[indices, np.newaxis] * self._slots.size + indices)

    def combination(self, indices: Indices, weights: Vector) -> Vector:
        """Return the inner products of all columns with a combination of those at ``indices``."""
        return weights @ self._rows[self._slots[indices]]

    def __reduce__(self) -> tuple[type["GramRows"], tuple[int]]:
        return GramRows, (self._slots.size,)


def least_squares(columns: Vector, y: Vector) -> Vector:
    """Return the coefficients of ``y`` on ``columns``."""
    return _solve(columns.T @ columns, columns.T @ y)


def _solve(gram: Vector, target: Vector) -> Vector:
    """Solve the normal equations, in the memory of ``gram``.

    By Cholesky, or, where columns are dependent, for the shortest solution.
    """
    from scipy.linalg import lapack  # noqa: PLC0415  (costs more than the whole import)

    if target.size:
        diagonal = np.diagonal(gram).copy()
        # In place, since fresh pages would cost as much as the factor; seen by LAPACK, which goes
        # by columns, the lower triangle is our upper one, so ours below the diagonal survives.
        factor, failed = lapack.dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)
        pivots = np.diagonal(factor)
        if not failed and pivots.min() ** 2 > PIVOT_RTOL * pivots.max() ** 2:
            return np.asarray(lapack.dpotrs(factor, target, lower=1)[0], dtype=np.float64)
        below = np.tril(gram, -1)
        gram = below + below.T + np.diag(diagonal)
    # pinv(Z) y = pinv(Z^T Z) Z^T y
    return np.asarray(np.linalg.lstsq(gram, target, rcond=PIVOT_RTOL)[0], dtype=np.float64)
