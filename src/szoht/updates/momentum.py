"""Steps along an average of past gradients."""

from dataclasses import dataclass

import numpy as np

from szoht.core.operator import Operator
from szoht.core.query import Estimate
from szoht.core.validation import check_real, frozen
from szoht.schedules import Scheduled, at, check_scheduled
from szoht.types import Vector

__all__ = ["Momentum"]


@dataclass(frozen=True, kw_only=True)
class Momentum:
    """``m_t = beta m_{t-1} + (1 - beta) ghat_t``, ``x_{t+1} = prox(x_t - eta_t m_t, eta_t)``.

    Averaging over iterations lowers the noise of the estimate by about (1 - beta) / (1 + beta) in
    variance, at the price of a bias while the gradient changes.

    Parameters
    ----------
    operator : Operator
        The set or penalty.
    step_size : float or Schedule
        eta, > 0.
    beta : float
        Weight of the past, in [0, 1); 0 is `ForwardBackward`.

    Notes
    -----
    The average starts at zero and is divided by ``1 - beta^(t+1)``, so that the first steps are not
    too short.
    """

    operator: Operator
    step_size: Scheduled
    beta: float = 0.9

    def __post_init__(self) -> None:
        check_scheduled("step_size", self.step_size, low=0, open_low=True)
        check_fraction("beta", self.beta)

    def init(self, x: Vector) -> Vector:
        """Start from no past."""
        return frozen(np.zeros_like(x))

    def step(self, x: Vector, estimate: Estimate, t: int, memory: Vector) -> tuple[Vector, Vector]:
        """Return the next iterate."""
        mean = self.beta * memory + (1 - self.beta) * estimate.gradient
        step = at(self.step_size, t, "step_size")
        unbiased = mean / (1 - self.beta ** (t + 1))
        return self.operator.prox(x - step * unbiased, step), frozen(mean)


def check_fraction(name: str, value: object) -> None:
    """Raise unless ``value`` is in [0, 1)."""
    check_real(name, value, low=0, high=float(np.nextafter(1, 0)))
