"""A gradient step, then the operator."""

from dataclasses import dataclass

from szoht.core.operator import Operator
from szoht.core.query import Estimate
from szoht.schedules import Scheduled, at, check_scheduled
from szoht.types import Vector

__all__ = ["ForwardBackward"]


@dataclass(frozen=True, kw_only=True)
class ForwardBackward:
    """``x_{t+1} = prox(x_t - eta_t ghat_t, eta_t)``: hard thresholding, proximal, projected steps.

    Parameters
    ----------
    operator : Operator
        The set or penalty.
    step_size : float or Schedule
        eta, > 0.
    """

    operator: Operator
    step_size: Scheduled

    def __post_init__(self) -> None:
        check_scheduled("step_size", self.step_size, low=0, open_low=True)

    def stays_sparse(self, d: int) -> bool:
        """Nothing but sums of sparse vectors is formed."""
        del d
        return True

    def init(self, x: Vector) -> None:
        """Nothing is remembered."""

    def step(self, x: Vector, estimate: Estimate, t: int, memory: None) -> tuple[Vector, None]:
        """Return the next iterate."""
        step = at(self.step_size, t, "step_size")
        return self.operator.prox(x - step * estimate.gradient, step), memory
