"""Rows that were not chosen here: displacements of known evaluations, of any lengths."""

from dataclasses import dataclass

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["GivenRows"]


@dataclass(frozen=True, kw_only=True, eq=False)
class GivenRows:
    """The rows of a matrix whose entries have mean square 1 over the coordinates that move.

    ``lengths`` are how much longer the differences along them were than those along other rows:
    curvature adds as much more to their slopes.
    """

    matrix: Vector
    lengths: Vector

    weight = 1.0

    @property
    def d(self) -> int:
        """The length of a row."""
        return int(self.matrix.shape[1])

    @property
    def available(self) -> int:
        """How many rows there are."""
        return len(self.matrix)

    def block(self, start: int, stop: int) -> Vector:
        """Return the rows ``start`` to ``stop``."""
        return self.matrix[start:stop]

    def columns(self, start: int, stop: int, support: Indices) -> Vector:
        """Return those rows at the coordinates ``support``."""
        return np.asarray(self.matrix[start:stop, support])

    def correlate(self, start: int, weights: Vector) -> Vector:
        """Return the sum of the rows from ``start`` on, times ``weights``."""
        return np.asarray(weights @ self.matrix[start : start + weights.size])
