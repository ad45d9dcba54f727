"""The exact best weights on given assets, where the risk is quadratic."""

import numpy as np

from szoht.problems.criteria import Criterion, QuadraticRisk
from szoht.types import Indices, Vector

__all__ = ["on_supports"]


def on_supports(criterion: Criterion, supports: Indices) -> tuple[Vector, Vector]:
    """Return the least criterion over weights on each of several supports, and the weights.

    F of `szoht.problems.criteria` is a quadratic on either side of the plane where the return
    is the wanted one, and once differentiable. Its minimiser on a support is that of the
    quadratic with the shortfall, if this earns less than wanted, and otherwise that of the risk
    alone: two linear systems decide.

    Parameters
    ----------
    criterion : Criterion
        With a `QuadraticRisk` that is positive definite on each support.
    supports : array of shape (m, k)
        Asset numbers, all different in a row.

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
    pulled = matrices + criterion.weight * excess[:, :, None] * excess[:, None, :]
    weights = _portfolio(pulled)
    rich = (excess * weights).sum(axis=1) > 0.0
    if rich.any():
        weights[rich] = _portfolio(matrices[rich])
    short = np.minimum((excess * weights).sum(axis=1), 0.0)
    risk = (weights * np.matmul(matrices, weights[:, :, None])[:, :, 0]).sum(axis=1)
    return risk + criterion.weight * short**2 - criterion.constant, weights


def _portfolio(matrices: Vector) -> Vector:
    """Minimise w'Mw over sum w = 1 for a stack of M: w is proportional to M^-1 1."""
    ones = np.ones((*matrices.shape[:2], 1))
    x = np.linalg.solve(matrices, ones)[:, :, 0]
    weights: Vector = x / x.sum(axis=1, keepdims=True)
    return weights
