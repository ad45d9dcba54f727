"""Rows that sum to zero: along them, weights keep their sum."""

from dataclasses import dataclass, field

import numpy as np

from szoht.estimators.sensing.rows import Rows
from szoht.types import Indices, Vector

__all__ = ["BalancedRows"]


@dataclass(frozen=True, kw_only=True, eq=False)
class BalancedRows:
    """Rows of signs, each without its mean; entries are at most two.

    Slopes along them do not change when a constant is added to the gradient.
    """

    inner: Rows
    _means: dict[tuple[int, int], Vector] = field(default_factory=dict, init=False, repr=False)

    weight = 1.0

    @property
    def d(self) -> int:
        """The length of a row."""
        return self.inner.d

    @property
    def available(self) -> int:
        """How many rows there are."""
        return self.inner.available

    def block(self, start: int, stop: int) -> Vector:
        """Return the rows ``start`` to ``stop``."""
        rows = self.inner.block(start, stop)
        return np.asarray(rows - rows.mean(axis=1, keepdims=True))

    def columns(self, start: int, stop: int, support: Indices) -> Vector:
        """Return those rows at the coordinates ``support``."""
        if (start, stop) not in self._means:
            self._means[start, stop] = self.inner.block(start, stop).mean(axis=1, keepdims=True)
        return np.asarray(self.inner.columns(start, stop, support) - self._means[start, stop])

    def correlate(self, start: int, weights: Vector) -> Vector:
        """Return the sum of the rows from ``start`` on, times ``weights``."""
        total = self.inner.correlate(start, weights)
        return np.asarray(total - total.mean())
