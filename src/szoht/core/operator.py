"""The contract of an operator: a set or a penalty."""

from typing import Protocol, runtime_checkable

import numpy as np

from szoht.types import Vector

__all__ = ["Operator", "declared_bounds"]


@runtime_checkable
class Operator(Protocol):
    """The projection onto a set, or the proximal map of a penalty. Pure: input is not changed.

    Sets also offer ``contains(x)``; some offer ``lmo(gradient)``, the point of the set that
    minimises the inner product with ``gradient``; penalties offer ``value(x)``. Most offer
    ``weighted_prox(y, step, weights)``, the same map where squared distances are weighted,
    ``sum_i w_i (x_i - y_i)^2``. Sets with bounds on coordinates have them as ``low`` and ``high``.
    ``is_exact = False`` says that `prox` returns a point of the set that is near, perhaps not
    nearest.
    """

    def check(self, d: int) -> None:
        """Raise if the operator does not fit dimension ``d``."""
        ...

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the point nearest to ``y``: argmin_x ||x - y||^2 / 2 + step * penalty(x)."""
        ...


def declared_bounds(operator: Operator) -> tuple[float | Vector, float | Vector] | None:
    """Return ``low`` and ``high`` of a set that has them, unless all of them are infinite."""
    low, high = getattr(operator, "low", None), getattr(operator, "high", None)
    if low is None or high is None or not (np.isfinite(low).any() or np.isfinite(high).any()):
        return None
    return low, high
