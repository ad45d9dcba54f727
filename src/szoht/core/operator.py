"""The contract of an operator: a set or a penalty."""

from typing import Protocol, runtime_checkable

from szoht.types import Vector

__all__ = ["Operator"]


@runtime_checkable
class Operator(Protocol):
    """The projection onto a set, or the proximal map of a penalty. Pure: input is not changed.

    Sets also offer ``contains(x)``; some offer ``lmo(gradient)``, the point of the set that
    minimises the inner product with ``gradient``; penalties offer ``value(x)``. Most offer
    ``weighted_prox(y, step, weights)``, the same map where squared distances are weighted,
    ``sum_i w_i (x_i - y_i)^2``.
    """

    def check(self, d: int) -> None:
        """Raise if the operator does not fit dimension ``d``."""
        ...

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the point nearest to ``y``: argmin_x ||x - y||^2 / 2 + step * penalty(x)."""
        ...
