"""Least squares with some coefficients penalized: which penalty, and what is left over."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.estimators.sensing.noise_test import robust_scale
from szoht.types import Vector

__all__ = ["RIDGES", "Ridge", "residual_scale"]

RIDGES = (1e-6, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
"""Trial penalties, per row and times `RIDGE_UNIT`, on what a Hessian deviates from a multiple of
the identity; leave-one-out errors choose."""

RIDGE_UNIT = 0.02

FLOOR = 0.7
"""Residuals are never believed to be smaller than this share of the known noise: that is
overfitting."""


@dataclass(eq=False)
class Ridge:
    """Least squares with some coefficients penalized, for many penalties at once.

    Diagonalized through the normal equations, which always succeeds; the least penalty is far above
    their rounding.
    """

    rows: tuple[Vector, Vector, Vector]
    weighted: tuple[Vector, Vector, Vector]
    residual: Vector
    turned: Vector
    vectors: Vector
    squares: Vector
    leverage: Vector
    free: Vector
    shrunk: Vector

    @classmethod
    def of(cls, free: Vector, shrunk: Vector, v: Vector, weights: Vector) -> "Ridge":
        """Diagonalize the penalized part, what the free part explains being removed."""
        root = np.sqrt(weights)[:, np.newaxis]
        a, b, y = free * root, shrunk * root, v * root[:, 0]
        q, _ = np.linalg.qr(a)
        b_rest, y_rest = b - q @ (q.T @ b), y - q @ (q.T @ y)
        squares, vectors = np.linalg.eigh(b_rest.T @ b_rest)
        empty = np.empty(0)
        return cls(
            rows=(free, shrunk, v),
            weighted=(a, b, y),
            residual=y_rest,
            turned=b_rest @ vectors,
            vectors=vectors,
            squares=np.maximum(squares, 0.0),
            leverage=np.einsum("ij,ij->i", q, q),
            free=empty,
            shrunk=empty,
        )

    def _penalized(self, ridge: float) -> Vector:
        return self.squares + ridge * RIDGE_UNIT * self.residual.size

    def choose(self, sigma: float) -> float:
        """Return the penalty of least leave-one-out error whose residuals noise can explain."""
        along = self.turned.T @ self.residual
        n, scores, sizes = self.residual.size, [], []
        for ridge in RIDGES:
            penalized = self._penalized(ridge)
            residuals = self.residual - self.turned @ (along / penalized)
            leverage = np.minimum(self.leverage + self.turned**2 @ (1 / penalized), 0.97)
            errors = residuals / (1 - leverage)
            limit = 6 * max(robust_scale(errors), 1e-300)
            scores.append(float(np.minimum(errors**2, limit**2).sum()))
            freedom = n - float(self.leverage.sum()) - float((self.squares / penalized).sum())
            size = robust_scale(residuals) * math.sqrt(n / max(freedom, 0.1 * n))
            sizes.append(size if freedom >= 0.1 * n else -1.0)
        chosen = int(np.argmin(scores))
        while chosen < len(RIDGES) - 1 and sizes[chosen] < FLOOR * sigma:
            chosen += 1
        return RIDGES[chosen]

    def solve(self, ridge: float) -> tuple[Vector, float]:
        """Set the coefficients; return the residuals and their degrees of freedom."""
        penalized = self._penalized(ridge)
        self.shrunk = self.vectors @ (self.turned.T @ self.residual / penalized)
        a, b, y = self.weighted
        self.free = np.asarray(np.linalg.lstsq(a, y - b @ self.shrunk, rcond=None)[0], dtype=float)
        free, shrunk, v = self.rows
        used = float(self.leverage.sum()) + float((self.squares / penalized).sum())
        return v - free @ self.free - shrunk @ self.shrunk, max(v.size - used, 0.1 * v.size)


def residual_scale(residuals: Vector, n: int, freedom: float, sigma: float) -> float:
    """Return the standard deviation of residuals, not much less than the noise ``sigma``."""
    s = robust_scale(residuals) or math.sqrt(float(np.mean(residuals**2)))
    return max(s * math.sqrt(n / freedom), FLOOR * sigma)
