"""Rows of signs without the order of the coordinates in them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.random import Key, Purpose
from szoht.estimators.sensing.rows import HadamardRows
from szoht.types import Indices, Vector

__all__ = ["PermutedRows"]


@dataclass(frozen=True, kw_only=True, eq=False)
class PermutedRows:
    """Walsh-Hadamard rows over randomly permuted coordinates.

    Neighboring columns of a Hadamard matrix are often dependent in few rows, held-out ones
    included, so that slopes of neighbors would be mistaken for each other. Groups are neighbors.
    """

    key: Key
    d: int
    free: Indices

    weight = 1.0

    @cached_property
    def _place(self) -> Indices:
        return self.key.generator(Purpose.DIRECTIONS, 2).permutation(self.d)

    @cached_property
    def _inner(self) -> HadamardRows:
        return HadamardRows(key=self.key, d=self.d, free=np.sort(self._place[self.free]))

    @property
    def available(self) -> int:
        """All rows of the matrix but the constant one."""
        return self._inner.available

    def block(self, start: int, stop: int) -> Vector:
        """Return the rows ``start`` to ``stop``."""
        return np.asarray(self._inner.block(start, stop)[:, self._place])

    def columns(self, start: int, stop: int, support: Indices) -> Vector:
        """Return those rows at the coordinates ``support``."""
        return self._inner.columns(start, stop, self._place[support])

    def correlate(self, start: int, weights: Vector) -> Vector:
        """Return the sum of the rows from ``start`` on, times ``weights``."""
        return np.asarray(self._inner.correlate(start, weights)[self._place])
