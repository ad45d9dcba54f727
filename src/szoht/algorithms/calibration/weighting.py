"""How residuals are weighted: stages that follow one another where a loss is robust."""

import enum

import numpy as np

from szoht.algorithms.calibration.residuals import Loss, loss_weights, robust_scale
from szoht.types import Vector

__all__ = ["Weighting", "weights_at"]


class Weighting(enum.IntEnum):
    """The stages, in their order."""

    EQUAL = 0
    WITHOUT_OUTLIERS = 1
    BY_LOSS = 2


def weights_at(
    stage: Weighting, residuals: Vector, loss: Loss, f_scale: float, *, outlier: float
) -> Vector:
    """Return weights of residuals; gross outliers, so many scales off, are left out at first."""
    if stage == Weighting.EQUAL:
        return np.ones(residuals.size)
    if stage == Weighting.BY_LOSS:
        return loss_weights(residuals, loss, f_scale)
    scale = max(f_scale, robust_scale(residuals))
    weights = loss_weights(residuals, loss, scale)
    return np.where(np.abs(residuals) > outlier * scale, 0.0, weights)
