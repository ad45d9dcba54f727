"""Steps scaled coordinate by coordinate with past gradients: ZO-AdaMM, with an l0 projection."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.core.operator import Operator
from szoht.core.query import Estimate
from szoht.core.validation import check_real, frozen
from szoht.errors import CapabilityError
from szoht.schedules import Scheduled, at, check_scheduled
from szoht.types import Vector
from szoht.updates.momentum import check_fraction

__all__ = ["Adaptive"]


class Moments(NamedTuple):
    """Running first and second moments, and the largest second moment so far."""

    mean: Vector
    square: Vector
    largest: Vector


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """AMSGrad steps, projected in the norm that they are scaled with.

    ``m = b1 m + (1 - b1) ghat``, ``v = b2 v + (1 - b2) ghat^2``, ``vhat = max(vhat, v)``,
    ``x_{t+1} = prox_{sqrt(vhat)}(x_t - eta_t m / sqrt(vhat))``. The projection onto k-sparse points
    in the norm weighted by sqrt(vhat) keeps the k largest ``sqrt(vhat_i) y_i^2``.

    Parameters
    ----------
    operator : Operator with ``weighted_prox``
        The set or penalty.
    step_size : float or Schedule
        eta, > 0.
    beta_mean, beta_square : float
        b1 and b2, in [0, 1).
    floor : float
        Where v and vhat start, > 0: it keeps the first steps finite.

    References
    ----------
    Chen et al., ZO-AdaMM: zeroth-order adaptive momentum method for black-box optimization,
    NeurIPS 2019. The l0 projection in the weighted norm is ours.
    """

    operator: Operator
    step_size: Scheduled
    beta_mean: float = 0.9
    beta_square: float = 0.9
    floor: float = 1e-7

    def __post_init__(self) -> None:
        check_scheduled("step_size", self.step_size, low=0, open_low=True)
        check_fraction("beta_mean", self.beta_mean)
        check_fraction("beta_square", self.beta_square)
        check_real("floor", self.floor, low=0, open_low=True)
        if not callable(getattr(self.operator, "weighted_prox", None)):
            raise CapabilityError(
                f"Adaptive needs an operator with `weighted_prox`, and {self.operator!r} has none; "
                "Sparse, SparseBox, GroupSparse, TreeSparse, GraphSparse, Semicontinuous, Box, "
                "SoftThreshold and Identity do."
            )

    def init(self, x: Vector) -> Moments:
        """Start from no past."""
        low = frozen(np.full_like(x, self.floor))
        return Moments(frozen(np.zeros_like(x)), low, low)

    def step(
        self, x: Vector, estimate: Estimate, t: int, memory: Moments
    ) -> tuple[Vector, Moments]:
        """Return the next iterate."""
        gradient = estimate.gradient
        mean = self.beta_mean * memory.mean + (1 - self.beta_mean) * gradient
        square = self.beta_square * memory.square + (1 - self.beta_square) * gradient**2
        largest = np.maximum(memory.largest, square)
        step, weights = at(self.step_size, t, "step_size"), np.sqrt(largest)
        y = x - step * mean / weights
        moved = self.operator.weighted_prox(y, step, weights)  # type: ignore[attr-defined]
        return moved, Moments(frozen(mean), frozen(square), frozen(largest))
