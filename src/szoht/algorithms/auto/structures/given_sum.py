"""At most k weights with a given sum: what is added to one is taken from others."""

from dataclasses import dataclass

from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.core.random import Key
from szoht.estimators.sensing import (
    BalancedRows,
    Measurements,
    PermutedRows,
    Recovery,
    Rows,
    matching_pursuit,
)
from szoht.types import Indices

__all__ = ["GivenSum"]


@dataclass(frozen=True, kw_only=True, eq=False)
class GivenSum(Coordinates):
    """How slopes are sensed where weights have the sum ``total``.

    The methods that are not here are those of `Coordinates`.
    """

    total: float = 1.0
    has_units: bool = True

    waves = False

    def rows(self, key: Key, free: Indices) -> Rows:
        """Return rows of signs that sum to zero."""
        return BalancedRows(inner=PermutedRows(key=key, d=self.d, free=free))

    def recover(
        self, measured: Measurements, start: Indices, *, held_out: int, noise: float
    ) -> Recovery:
        """Find few coordinates that explain slopes along rows, those of the point among them."""
        start = start if start.size <= self.size else start[:0]
        most = start.size + 2 * self.size
        return matching_pursuit(measured, most, held_out=held_out, noise=noise, start=start)
