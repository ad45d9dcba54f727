"""Directions as functions of the coordinate: millions of entries, none of them stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.directions import Directions, Offsets
from szoht.core.distributions import rows_per_block
from szoht.core.sparse_vector import ImplicitVector, SparseVector
from szoht.types import Indices, Vector

__all__ = ["ImplicitPoint", "ImplicitSigns", "hash_coordinates"]

NO_BIT = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class ImplicitSigns:
    """Random signs on one of ``buckets`` random sets of coordinates, and zeros elsewhere.

    A hash assigns a sign and a bucket to every coordinate. Direction r has these signs on bucket
    ``bucket[r]``; with ``bit[r] = b >= 0`` the sign of coordinate i is flipped where the b-th
    binary digit of i is 0. Coordinates in ``excluded`` do not move.

    An entry is computed when it is looked up, so a direction is a few numbers whatever d is, and
    no more is sent to workers.

    >>> directions = ImplicitSigns(
    ...     d=10**9,
    ...     seed=5,
    ...     buckets=1,
    ...     bucket=np.array([0, 0]),
    ...     bit=np.array([NO_BIT, 3]),
    ...     excluded=np.array([42]),
    ... )
    >>> directions.entries(0, np.array([8, 9, 42])) * directions.entries(1, np.array([8, 1, 42]))
    array([ 1., -1.,  0.])
    """

    d: int
    seed: int
    buckets: int
    bucket: Indices
    bit: Indices
    excluded: Indices

    @property
    def count(self) -> int:
        """How many directions there are."""
        return int(self.bucket.size)

    @property
    def block_rows(self) -> int:
        """How many directions are written out at a time."""
        return rows_per_block(self.d)

    def entries(self, row: int, indices: Indices) -> Vector:
        """Return the entries of direction ``row`` at some coordinates."""
        hashed = hash_coordinates(indices, self.seed)
        signs: Vector = np.where(hashed & np.uint64(1), 1.0, -1.0)
        if self.bit[row] != NO_BIT:
            signs *= np.where(indices >> self.bit[row] & 1, 1.0, -1.0)
        moves = self.bucket_of(hashed) == self.bucket[row]
        if self.excluded.size:
            moves &= ~np.isin(indices, self.excluded)
        signs *= moves
        return signs

    def bucket_of(self, hashed: "np.ndarray[tuple[int, ...], np.dtype[np.uint64]]") -> Indices:
        """Return the buckets of coordinates, given their hashes: the upper half of the bits."""
        scaled = (hashed >> np.uint64(32)) * np.uint64(self.buckets)
        return (scaled >> np.uint64(32)).astype(np.intp)

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop`` written out, for an ``x0`` that is dense."""
        for first in range(start, stop, self.block_rows):
            block = range(first, min(first + self.block_rows, stop))
            yield Offsets(
                None, np.array([self.entries(row, self._all_coordinates) for row in block])
            )

    def recycle(self, previous: Directions | None) -> None:
        """Nothing is stored, so no memory is needed."""

    @cached_property
    def _all_coordinates(self) -> Indices:
        return np.arange(self.d)


@dataclass(frozen=True, kw_only=True, eq=False)
class ImplicitPoint(ImplicitVector):
    """The point ``base + scale * direction``, of which any entry can be looked up: ``x[indices]``.

    It has no list of non-zeros: that would be as long as a bucket.
    """

    base: SparseVector
    directions: ImplicitSigns
    row: int
    scale: float

    @property
    def size(self) -> int:  # type: ignore[override]
        """The dimension of the space."""
        return self.base.size

    def at(self, indices: Indices) -> Vector:
        """Return the entries at valid coordinates, given as an array of any shape."""
        moved: Vector = self.base.at(indices) + self.scale * self.directions.entries(
            self.row, indices
        )
        return moved


def hash_coordinates(
    indices: Indices, seed: int
) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint64]]":
    """Return 64 random bits for each coordinate: the finaliser of SplitMix64.

    Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014, figure 16.
    """
    z = indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
