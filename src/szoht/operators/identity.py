"""No constraint and no penalty."""

from dataclasses import dataclass

from szoht.operators.base import check_finite
from szoht.types import Vector

__all__ = ["Identity"]


@dataclass(frozen=True)
class Identity:
    """The whole space: nothing is changed."""

    def check(self, d: int) -> None:
        """Fits every dimension."""

    def prox(self, y: Vector, step: float) -> Vector:
        """Return a copy of ``y``."""
        del step
        check_finite(y)
        return y.copy()

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return a copy of ``y``; ``weights`` do not matter."""
        del weights
        return self.prox(y, step)

    def contains(self, x: Vector) -> bool:
        """Every point belongs to the space."""
        del x
        return True
