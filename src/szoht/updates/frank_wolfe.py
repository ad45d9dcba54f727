"""Conditional gradient: a convex combination with a vertex of the set."""

from dataclasses import dataclass, field

import numpy as np

from szoht.core.operator import Operator, declared_bounds
from szoht.core.query import Estimate
from szoht.core.validation import check_real
from szoht.errors import CapabilityError
from szoht.schedules import OpenLoop, Scheduled, at, check_scheduled
from szoht.types import Vector

__all__ = ["FrankWolfe"]


@dataclass(frozen=True, kw_only=True)
class FrankWolfe:
    """``x_{t+1} = x_t + a_t (lmo(ghat_t) - x_t)``: stays in the set without projecting.

    Parameters
    ----------
    operator : Operator with ``lmo``
        The set.
    step_size : float or Schedule
        a_t in (0, 1]; 2 / (t + 2) by default.
    """

    operator: Operator
    step_size: Scheduled = field(default_factory=OpenLoop)

    def __post_init__(self) -> None:
        check_scheduled("step_size", self.step_size, low=0, open_low=True)
        if not callable(self.step_size):
            check_real("step_size", self.step_size, low=0, high=1, open_low=True)
        require_lmo(self, self.operator)

    def init(self, x: Vector) -> None:
        """Nothing is remembered."""

    def step(self, x: Vector, estimate: Estimate, t: int, memory: None) -> tuple[Vector, None]:
        """Return the next iterate."""
        vertex = self.operator.lmo(estimate.gradient)  # type: ignore[attr-defined]
        moved = x + min(at(self.step_size, t, "step_size"), 1.0) * (vertex - x)
        return clip_rounding(self.operator, moved), memory


def clip_rounding(operator: Operator, x: Vector) -> Vector:
    """Return a convex combination of points of a set, put back where rounding left its bounds."""
    bounds = declared_bounds(operator)
    return x if bounds is None else np.clip(x, *bounds)


def require_lmo(update: object, operator: Operator) -> None:
    """Raise unless the operator has vertices to move to."""
    if not callable(getattr(operator, "lmo", None)):
        raise CapabilityError(
            f"{type(update).__name__} needs an operator with `lmo`, and {operator!r} has none; "
            "L1Ball and Box do."
        )
