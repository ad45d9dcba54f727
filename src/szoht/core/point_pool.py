"""Points in as few numbers as it takes: their changes from a start, or all entries."""

import math
import zlib
from array import array
from typing import NamedTuple, cast

import numpy as np

from szoht.core.sparse_vector import SparseVector, changes_from, with_changes
from szoht.types import Indices, Vector

__all__ = ["PackedPoint", "PointPool"]

WHOLE_SHARE = 0.25
"""A point of which a larger share of the entries differs from the start is kept as it is."""

DIGESTED = 512
"""A checksum is taken of so many changes, spread evenly: a million would cost more than f."""


class PackedPoint(NamedTuple):
    """A point as it is kept: ``indices`` are None if ``entries`` are all of them."""

    indices: Indices | None
    entries: Vector

    @classmethod
    def of(cls, start: Vector, x: Vector) -> "PackedPoint":
        """Return a point by its changes from the start."""
        if isinstance(cast(object, x), SparseVector):
            return cls(*changes_from(start, x))
        changed = x != start
        if np.count_nonzero(changed) > WHOLE_SHARE * x.size:
            return cls(None, x)
        indices = np.flatnonzero(changed)
        return cls(indices, x[indices])

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self.entries.nbytes + (0 if self.indices is None else self.indices.nbytes)

    @property
    def digest(self) -> int:
        """A checksum that most points have alone: of some changes where there are many."""
        step = 1 + self.entries.size // DIGESTED
        digest = zlib.crc32(np.ascontiguousarray(self.entries[::step]).data)
        if self.indices is None:
            return digest
        return digest ^ (zlib.crc32(np.ascontiguousarray(self.indices[::step]).data) << 31)

    def unpacked(self, start: Vector) -> Vector:
        """Return the point, written out."""
        return with_changes(start, self.indices, self.entries)


class PointPool:
    """Points by number, of which those that are dropped are known by their checksum only.

    The changes of all points lie one after another in two arrays: a point of ten changes takes 170
    bytes, where a tuple of two arrays would take 500.
    """

    def __init__(self, start: Vector) -> None:
        self.start = start
        self._ends = array("q", [0])
        self._indices = array("q")
        self._entries = array("d")
        self._digests = array("q")
        self._dropped = array("b")
        self._whole: dict[int, Vector] = {}

    def __len__(self) -> int:
        return len(self._digests)

    @property
    def n_dropped(self) -> int:
        """How many points are known by their checksum only."""
        return sum(self._dropped)

    def add(self, point: PackedPoint, digest: int, *, keep: bool = True) -> None:
        """Add a point, or if it is not kept its checksum."""
        if keep and point.indices is None:
            self._whole[len(self)] = point.entries
        elif keep and point.indices is not None:
            self._indices.frombytes(point.indices.tobytes())
            self._entries.frombytes(point.entries.tobytes())
        self._ends.append(len(self._entries))
        self._digests.append(digest)
        self._dropped.append(not keep)

    def keeps(self, number: int) -> bool:
        """Tell whether a point is known."""
        return not self._dropped[number]

    def point(self, number: int) -> Vector:
        """Return a point, written out; NaN if it was dropped."""
        if self._dropped[number]:
            return np.full(self.start.size, math.nan)
        if number in self._whole:
            return np.array(self._whole[number])
        low, high = self._ends[number], self._ends[number + 1]
        indices = np.array(self._indices[low:high], dtype=np.intp)
        return with_changes(self.start, indices, np.array(self._entries[low:high]))
