"""Closed-form optimal weights on given assets, for a quadratic risk."""

import numpy as np

from szoht.problems.portfolio_forms import Criterion, QuadraticRisk
from szoht.types import Indices, Vector

__all__ = ["optimal_weights"]


def optimal_weights(criterion: Criterion, supports: Indices) -> tuple[Vector, Vector]:
    """Return the minimum of the criterion on each of several supports, and the weights.

    F of `szoht.problems.portfolio_forms` is quadratic on either side of the plane where the
    return equals the target, and continuously differentiable. Its minimizer on a support is that
    of the risk with the shortfall penalty if this misses the target, and otherwise that of the
    risk alone: two linear systems.

    Parameters
    ----------
    criterion : Criterion
        With a `QuadraticRisk` that is positive definite on each support.
    supports : array of shape (m, k)
        Asset indices, distinct within a row.

    Returns
    -------
    values : array of shape (m,)
    weights : array of shape (m, k)
        Long and short, with sum 1 in each row.
    """
    assert isinstance(criterion.risk, QuadraticRisk), "only a quadratic has a closed form"  # noqa: S101
    rows, columns = supports[:, :, None], supports[:, None, :]
    matrices = criterion.risk.matrix[rows, columns] + criterion.constant
    excess = criterion.excess[supports]
    penalized = matrices + criterion.weight * excess[:, :, None] * excess[:, None, :]
    weights = _portfolio(penalized)
    above_target = (excess * weights).sum(axis=1) > 0.0
    if above_target.any():
        weights[above_target] = _portfolio(matrices[above_target])
    shortfall = np.minimum((excess * weights).sum(axis=1), 0.0)
    risk = (weights * np.matmul(matrices, weights[:, :, None])[:, :, 0]).sum(axis=1)
    return risk + criterion.weight * shortfall**2 - criterion.constant, weights


def _portfolio(matrices: Vector) -> Vector:
    """Minimize w'Mw over sum w = 1 for a stack of M: w is proportional to M^-1 1."""
    ones = np.ones((*matrices.shape[:2], 1))
    x = np.linalg.solve(matrices, ones)[:, :, 0]
    weights: Vector = x / x.sum(axis=1, keepdims=True)
    return weights
