"""At most k non-zeros, and others that are free and not counted: intercepts, diagonals."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.core.validation import frozen
from szoht.estimators.sensing import Measurements, Recovery, matching_pursuit
from szoht.types import Indices, Vector

__all__ = ["FreeCoordinates", "coordinates"]


@dataclass(frozen=True, kw_only=True, eq=False)
class FreeCoordinates(Coordinates):
    """`Coordinates` of which those in ``always`` are part of every support, and no atoms.

    They are active whatever their value, so that each solve moves them too, and they are never
    counted, proposed or dropped. The methods that are not here are those of `Coordinates`.
    """

    always: Indices

    independent = False

    @property
    def degrees_of_freedom(self) -> int:
        """Those that count, and those that do not."""
        return self.size + int(self.always.size)

    @property
    def look(self) -> float:
        """What finding k coordinates takes, and a slope for each that is not looked for."""
        return super().look + self.always.size

    def contains(self, z: Vector) -> bool:
        """Tell whether at most k coordinates that count are not zero."""
        return self.count(np.flatnonzero(z)) <= self.size

    def recover(
        self, measured: Measurements, start: Indices, *, held_out: int, noise: float
    ) -> Recovery:
        """Find few coordinates that explain slopes along rows, the free ones being known."""
        del start
        return matching_pursuit(
            measured,
            2 * self.size + int(self.always.size),
            held_out=held_out,
            noise=noise,
            start=self.always,
            per_pass=max(1, self.size // 8),
            shared=measured.kinds,
        )

    def active(self, z: Vector) -> Indices:
        """Return the coordinates that are not zero, and those that are always free."""
        return np.union1d(np.flatnonzero(z), self.always)

    def whole(self, coordinates: Indices) -> Indices:
        """Return the coordinates and those that are always free."""
        return np.union1d(coordinates, self.always)

    def atoms(self, coordinates: Indices) -> list[Indices]:
        """Return each coordinate that counts by itself."""
        return super().atoms(self._counted(coordinates))

    def count(self, coordinates: Indices) -> int:
        """Return how many coordinates count."""
        return int(self._counted(coordinates).size)

    def head(self, slopes: Vector, size: int, without: Indices) -> Indices:
        """Return the ``size`` coordinates of largest slope among those that count."""
        return super().head(slopes, size, np.union1d(without, self.always))

    def kept(self, atoms: list[Indices], worth: Vector, size: int) -> Indices:
        """Return the coordinates of the ``size`` atoms that are worth most; there may be none."""
        return super().kept(atoms, worth, size) if size else self.always[:0]

    def _counted(self, coordinates: Indices) -> Indices:
        return coordinates[~np.isin(coordinates, self.always)]


def coordinates(*, always: tuple[int, ...], **fields: Any) -> Coordinates:
    """Return coordinates, some of which may be free and not counted."""
    if not always:
        return Coordinates(**fields)
    return FreeCoordinates(always=frozen(np.array(always, dtype=np.intp)), **fields)
