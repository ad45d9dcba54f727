"""Few coordinates that are connected: what trees and graphs have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.algorithms.auto.structures.importance import MOST_WORTH
from szoht.core.random import Key
from szoht.estimators.sensing import Measurements, PermutedRows, Recovery, Rows, model_pursuit
from szoht.types import Indices, Vector

__all__ = ["Connected"]

EXTENDED, MORE = 1.4, 8
"""Recovery finds so many times the coordinates that may stay first, and some more: early errors
then leave."""

KEPT = 10.0
"""What must be chosen is worth so many times everything else."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Connected(Coordinates, ABC):
    """The points whose non-zeros lie in a connected set of at most ``size`` coordinates.

    Atoms are single coordinates, but which of them may stay, or join, depends on the others. The
    methods that are not here are those of `Coordinates`.
    """

    waves = False
    independent = False

    @property
    def roots(self) -> Sequence[int]:
        """The coordinates that may be chosen by themselves; none if any may be."""
        return ()

    @property
    def parts(self) -> int:
        """Into how many connected parts the set may fall if any coordinate may be the first."""
        return 0

    @abstractmethod
    def neighbors(self, node: int) -> Sequence[int]:
        """Return the coordinates that may join where this one is."""

    @abstractmethod
    def best(self, worth: Vector, size: int) -> Indices:
        """Return at most ``size`` connected coordinates that are worth most, sorted."""

    @property
    def look(self) -> float:
        """As many as coordinates: connected ones are soon told."""
        return float(self.size)

    def fits(self, coordinates: Indices) -> bool:
        """Tell whether these, and what connects them, are at most ``size`` coordinates."""
        return coordinates.size <= self.size and self.whole(coordinates).size <= self.size

    def active(self, z: Vector) -> Indices:
        """Return the non-zeros and what connects them."""
        return self.whole(np.flatnonzero(z))

    def rows(self, key: Key, free: Indices) -> Rows:
        """Return rows of signs over some of the coordinates, whatever their order."""
        return PermutedRows(key=key, d=self.d, free=free)

    def recover(
        self, measured: Measurements, start: Indices, *, held_out: int, noise: float
    ) -> Recovery:
        """Find few connected coordinates that explain slopes along rows."""
        size = self.size + (start.size if start.size <= self.size else 0)
        return model_pursuit(
            measured,
            self.best,
            size,
            round(EXTENDED * size) + MORE,
            held_out=held_out,
            noise=noise,
        )

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return at most ``size`` coordinates that are connected to those left out."""
        worth = np.zeros(self.d)
        worth[self.free] = self.promise(slopes)[self.free] ** 2
        if without.size:
            worth[without] = KEPT * (float(worth.sum()) or 1.0)
        return np.setdiff1d(self.best(worth, size + without.size), without)

    def kept(self, atoms: list[Indices], worth: Vector, size: int) -> Indices:
        """Return the connected coordinates, at most ``size``, that are worth most together."""
        everything = np.zeros(self.d)
        everything[np.concatenate(atoms)] = np.clip(worth, 0.0, MOST_WORTH)
        return self.best(everything, size)

    def next_to(self, coordinates: Indices) -> Indices:
        """Return the coordinates that may join these, sorted."""
        inside = set(coordinates.tolist())
        if not inside and not self.roots:
            return self.free
        found = set(self.roots).union(*(self.neighbors(i) for i in inside)) - inside
        return np.intersect1d(np.array(sorted(found), dtype=np.intp), self.free)
