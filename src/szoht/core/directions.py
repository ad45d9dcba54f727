"""Directions: drawn from an address, block by block, and sparse until the last moment."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, cast

import numpy as np

from szoht.core.distributions import Distribution, rows_per_block
from szoht.core.random import Key, Purpose
from szoht.core.sparse_vector import SparseVector
from szoht.types import Indices, Vector

__all__ = [
    "ArrayDirections",
    "DirectionSlice",
    "Directions",
    "Offsets",
    "SampledDirections",
    "prefetch",
    "weighted_sum",
]

VALUE_BYTES = 8

CACHE_BYTES = 2**27
"""Directions up to this size are drawn once and kept; larger ones are drawn again when needed."""


class Offsets(NamedTuple):
    """Sparse rows: ``values[i]`` at the coordinates ``indices[i]``; None means at all of them."""

    indices: Indices | None
    values: Vector


class Directions(Protocol):
    """A list of ``count`` sparse vectors in ``d`` dimensions, available in slices."""

    @property
    def d(self) -> int:
        """The dimension of the space."""
        ...

    @property
    def count(self) -> int:
        """How many directions there are."""
        ...

    @property
    def block_rows(self) -> int:
        """How many directions are best handed over at a time."""
        ...

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop`` in order, in pieces of any length."""
        ...

    def recycle(self, previous: "Directions | None") -> None:
        """Take over the memory of directions whose plan has been answered, if it fits."""
        ...


@dataclass(frozen=True, kw_only=True)
class SampledDirections:
    """Directions known by their address alone; a pickled copy carries no array.

    Any slice can be drawn without the others. What is drawn is kept as long as all directions
    together fit `CACHE_BYTES`; otherwise a slice is drawn again each time it is asked for.
    """

    distribution: Distribution
    key: Key
    d: int
    count: int
    _cache: dict[int, Offsets] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def block_rows(self) -> int:
        """How many directions share one address."""
        return self.distribution.block_rows(self.d, self.count)

    @property
    def kept(self) -> bool:
        """Whether what is drawn is kept."""
        width = self.distribution.width(self.d)
        arrays = 1 if width == self.d else 2  # values, and where they are
        return self.count * width * VALUE_BYTES * arrays <= CACHE_BYTES

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop``, one piece per block."""
        rows = self.block_rows
        for block in range(start // rows, math.ceil(stop / rows)):
            indices, values = self._block(block, rows)
            first, last = max(start - block * rows, 0), min(stop - block * rows, rows)
            yield Offsets(None if indices is None else indices[first:last], values[first:last])

    def _block(self, block: int, rows: int) -> Offsets:
        if block in self._cache:
            return self._cache[block]
        first = block * rows
        keep = self.kept
        out = (
            self._buffer[first : first + rows]
            if keep
            else self._empty(min(rows, self.count - first))
        )
        generator = self.key.generator(Purpose.DIRECTIONS, block)
        drawn = Offsets(self.distribution.draw(generator, d=self.d, out=out), out)
        if drawn.indices is not None:
            drawn.indices.flags.writeable = False
        if keep:
            self._cache[block] = drawn
        return drawn

    def recycle(self, previous: Directions | None) -> None:
        """Take over the memory of directions whose plan has been answered, if it fits.

        Fetching fresh pages from the system costs as much as drawing the numbers. The previous
        directions stay usable: they would be drawn again.
        """
        room = previous.__dict__.get("_buffer") if isinstance(previous, SampledDirections) else None
        if room is not None and room.shape == (self.count, self.distribution.width(self.d)):
            previous.__dict__["_cache"].clear()
            self.__dict__["_buffer"] = previous.__dict__.pop("_buffer")

    @cached_property
    def _buffer(self) -> Vector:
        return self._empty(self.count)

    def _empty(self, rows: int) -> Vector:
        return np.empty((rows, self.distribution.width(self.d)))

    def __getstate__(self) -> dict[str, object]:
        return {
            "distribution": self.distribution,
            "key": self.key,
            "d": self.d,
            "count": self.count,
        }

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in {**state, "_cache": {}}.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayDirections:
    """Directions given as arrays: row i is ``values[i]`` at coordinates ``indices[i]``."""

    d: int
    indices: Indices
    values: Vector

    @property
    def count(self) -> int:
        """How many directions there are."""
        return int(self.values.shape[0])

    @property
    def block_rows(self) -> int:
        """How many directions are as large as a block of those that are drawn."""
        return rows_per_block(max(1, int(self.values.shape[1])))

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop`` in one piece."""
        if stop > start:
            yield Offsets(self.indices[start:stop], self.values[start:stop])

    def recycle(self, previous: Directions | None) -> None:
        """Nothing is drawn, so no memory is needed."""


@dataclass(frozen=True, kw_only=True)
class DirectionSlice:
    """The directions ``start`` to ``start + count`` of others, under the same address."""

    whole: SampledDirections
    start: int
    count: int

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return self.whole.d

    @property
    def block_rows(self) -> int:
        """How many directions share one address."""
        return self.whole.block_rows

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop`` of this part."""
        yield from self.whole.slices(self.start + start, self.start + stop)

    def recycle(self, previous: Directions | None) -> None:
        """Leave memory to the whole."""


def prefetch(directions: Directions) -> Iterator[Offsets]:
    """Draw, a block at a time, what will be needed later and can be kept till then."""
    if isinstance(directions, SampledDirections) and directions.kept:
        yield from directions.slices(0, directions.count)


def weighted_sum(directions: Directions, weights: Vector, *, sparse: bool = False) -> Vector:
    """Return the sum of ``weights[i] * directions[i]``, in a fixed order.

    A dense vector, or if ``sparse`` a `SparseVector`, with the same bits.
    """
    if sparse:
        return _sparse_sum(directions, weights)
    total = np.zeros(directions.d)
    row = 0
    for indices, values in directions.slices(0, directions.count):
        part = weights[row : row + len(values)]
        if indices is None:
            total += part @ values
        else:
            np.add.at(total, indices.ravel(), (part[:, np.newaxis] * values).ravel())
        row += len(values)
    return total


def _sparse_sum(directions: Directions, weights: Vector) -> Vector:
    where, terms, row = [np.empty(0, dtype=np.intp)], [np.empty(0)], 0
    for indices, values in directions.slices(0, directions.count):
        assert indices is not None, "a part that stays sparse moves few coordinates"  # noqa: S101
        where.append(indices.ravel())
        terms.append((weights[row : row + len(values), np.newaxis] * values).ravel())
        row += len(values)
    # entries of one coordinate are added up in the order of the directions, as in the dense sum
    total = SparseVector(directions.d, np.concatenate(where), np.concatenate(terms))
    return cast(Vector, total)
