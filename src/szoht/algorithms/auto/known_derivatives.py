"""Derivatives that are known: the last gradients, and columns of the Hessian."""

from dataclasses import dataclass, field

import numpy as np

from szoht.types import Indices, Sample, Vector

__all__ = ["GradientMemory", "HessianColumns"]

MOST_GRADIENTS, GRADIENT_VALUES = 32, 2**22
"""Gradients that are remembered, at most, and their entries all together."""


@dataclass
class GradientMemory:
    """The last gradients, each with its point and its sample; a few, whatever the dimension."""

    entries: list[tuple[Vector, Sample, Vector]] = field(default_factory=list)

    def add(self, x: Vector, sample: Sample, gradient: Vector) -> None:
        """Remember a gradient, in place of the oldest one."""
        self.entries.insert(0, (x, sample, gradient))
        del self.entries[max(2, min(MOST_GRADIENTS, GRADIENT_VALUES // x.size)) :]

    def find(self, x: Vector, sample: Sample) -> Vector | None:
        """Return the gradient at a point, None if it is not known."""
        for point, on, gradient in self.entries:
            if on is sample and np.array_equal(point, x):
                return gradient
        return None


@dataclass
class HessianColumns:
    """Columns of the Hessian that are known."""

    entries: dict[int, Vector] = field(default_factory=dict)

    def add(self, i: int, column: Vector) -> None:
        """Remember a column."""
        self.entries[i] = column

    def missing(self, coordinates: Indices) -> Indices:
        """Return the coordinates whose columns are not known."""
        return np.array([i for i in coordinates if int(i) not in self.entries], dtype=np.intp)

    def block(self, coordinates: Indices) -> Vector:
        """Return the Hessian on some coordinates."""
        return np.array([self.entries[int(i)][coordinates] for i in coordinates])
