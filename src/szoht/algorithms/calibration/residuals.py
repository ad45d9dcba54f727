"""From outputs to weighted residuals, and from residuals to the cost of a loss."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.errors import EvaluationError
from szoht.types import Vector

__all__ = ["LOSS_NAMES", "Loss", "Residuals", "cost", "loss_weights", "lost_residuals"]

Loss: TypeAlias = Literal["linear", "soft_l1", "huber", "cauchy"]
LOSS_NAMES: tuple[str, ...] = get_args(Loss)

NORMAL_MEDIAN = 1.4826
"""The standard deviation of normal numbers over the median of their sizes."""


def cost(residuals: Vector, loss: Loss, f_scale: float) -> float:
    """Return half the sum of the losses of the squares, as SciPy's ``least_squares`` defines it."""
    squares = (residuals / f_scale) ** 2
    if loss == "soft_l1":
        squares = 2 * (np.sqrt(1 + squares) - 1)
    elif loss == "huber":
        squares = np.where(squares <= 1, squares, 2 * np.sqrt(squares) - 1)
    elif loss == "cauchy":
        squares = np.log1p(squares)
    return 0.5 * f_scale**2 * float(squares.sum())


def loss_weights(residuals: Vector, loss: Loss, f_scale: float) -> Vector:
    """Return the weight of each square: the derivative of the loss."""
    size = np.abs(residuals) / f_scale
    if loss == "soft_l1":
        return np.asarray(1 / np.sqrt(1 + size**2))
    if loss == "huber":
        return np.asarray(1 / np.maximum(size, 1.0))
    if loss == "cauchy":
        return np.asarray(1 / (1 + size**2))
    return np.ones_like(size)


@dataclass(frozen=True, kw_only=True, eq=False)
class Residuals:
    """(outputs - observed) / sigma; NaN in the outputs that are missing.

    Of components c, whose mean is minimized, residuals are sqrt(2 c / m), so that half the sum of
    their squares is that mean: the deviance residuals of a likelihood, up to their signs.
    """

    observed: Vector | None
    sigma: Vector | None
    components: bool = False

    def of(self, outputs: Vector) -> Vector:
        """Return the weighted residuals of one row of outputs."""
        residuals = np.where(np.isfinite(outputs), outputs, np.nan)
        if self.components:
            return _deviances(residuals)
        if self.observed is not None:
            residuals = residuals - self.observed
        return residuals if self.sigma is None else residuals / self.sigma


def lost_residuals(start: Vector, least: float) -> Vector:
    """Return as what lost outputs count: as at the start, at least ``least``, and an average more.

    Zero for outputs that the start does not have.
    """
    squares = start**2
    present = np.isfinite(squares)
    if not present.any():
        return np.zeros(squares.size)
    return np.where(present, np.sqrt(np.maximum(squares, least**2) + squares[present].mean()), 0.0)


def _deviances(components: Vector) -> Vector:
    if (components < 0).any():
        i = int(np.argmax(components < 0))
        raise EvaluationError(
            f"components must be >= 0, such as squared errors or losses; component {i} is "
            f"{components[i]:g}. Return their mean, or add a constant"
        )
    return np.asarray(np.sqrt(2 * components / components.size))


def robust_scale(residuals: Vector) -> float:
    """Return the standard deviation of the residuals, whatever a minority of them is."""
    return NORMAL_MEDIAN * float(np.median(np.abs(residuals)))
