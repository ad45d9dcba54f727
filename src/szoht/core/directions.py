"""Directions: sampled from a key, block by block, and sparse as long as possible."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol, Self, cast

import numpy as np

from szoht.core.distributions import Distribution, rows_per_block
from szoht.core.random import Key, Purpose
from szoht.core.sparse_vector import SparseVector
from szoht.types import Indices, Vector

__all__ = [
    "ArrayDirections",
    "DirectionSlice",
    "Directions",
    "MappedDirections",
    "Offsets",
    "SampledDirections",
    "ScaledDirections",
    "prefetch",
    "weighted_sum",
]

VALUE_BYTES = 8

CACHE_BYTES = 2**27
"""Directions up to this size are cached; larger ones are sampled again when needed."""


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
        """How many directions a slice holds at most."""
        ...

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop`` in order, in slices of any length."""
        ...

    def recycle(self, previous: "Directions | None") -> None:
        """Take over the memory of directions whose plan has been answered, if it fits."""
        ...


@dataclass(frozen=True, kw_only=True)
class SampledDirections:
    """Directions that are known by their key; a pickled copy carries no array.

    Any slice can be sampled without the others. Slices are cached if all directions together fit
    `CACHE_BYTES`; otherwise a slice is sampled again each time it is needed.
    """

    distribution: Distribution
    key: Key
    d: int
    count: int
    _cache: dict[int, Offsets] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def block_rows(self) -> int:
        """How many directions share one key."""
        return self.distribution.block_rows(self.d, self.count)

    @property
    def is_cached(self) -> bool:
        """Whether slices are cached."""
        width = self.distribution.width(self.d)
        arrays = 1 if width == self.d else 2  # values, and where they are
        return self.count * width * VALUE_BYTES * arrays <= CACHE_BYTES

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop``, one slice per block."""
        rows = self.block_rows
        for block in range(start // rows, math.ceil(stop / rows)):
            indices, values = self._block(block, rows)
            first, last = max(start - block * rows, 0), min(stop - block * rows, rows)
            yield Offsets(None if indices is None else indices[first:last], values[first:last])

    def _block(self, block: int, rows: int) -> Offsets:
        if block in self._cache:
            return self._cache[block]
        first = block * rows
        is_cached = self.is_cached
        out = (
            self._buffer[first : first + rows]
            if is_cached
            else self._empty(min(rows, self.count - first))
        )
        generator = self.key.generator(Purpose.DIRECTIONS, block)
        sampled = Offsets(self.distribution.draw(generator, d=self.d, out=out), out)
        if sampled.indices is not None:
            sampled.indices.flags.writeable = False
        if is_cached:
            self._cache[block] = sampled
        return sampled

    def recycle(self, previous: Directions | None) -> None:
        """Take over the memory of directions whose plan has been answered, if it fits.

        Fetching fresh pages from the system costs as much as sampling the numbers. The previous
        directions stay usable: they would be sampled again.
        """
        buffer = (
            previous.__dict__.get("_buffer") if isinstance(previous, SampledDirections) else None
        )
        if buffer is not None and buffer.shape == (self.count, self.distribution.width(self.d)):
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

    @classmethod
    def axes(cls, coordinates: Indices, d: int) -> Self:
        """Return the unit vectors of some coordinates."""
        return cls(d=d, indices=coordinates[:, np.newaxis], values=np.ones((coordinates.size, 1)))

    @property
    def count(self) -> int:
        """How many directions there are."""
        return int(self.values.shape[0])

    @property
    def block_rows(self) -> int:
        """How many directions are as large as a block of sampled ones."""
        return rows_per_block(max(1, int(self.values.shape[1])))

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop`` in one slice."""
        if stop > start:
            yield Offsets(self.indices[start:stop], self.values[start:stop])

    def recycle(self, previous: Directions | None) -> None:
        """Nothing is sampled, so no memory is needed."""


@dataclass(frozen=True, kw_only=True)
class DirectionSlice:
    """The directions ``start`` to ``start + count`` of others, with the same key."""

    whole: SampledDirections
    start: int
    count: int

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return self.whole.d

    @property
    def block_rows(self) -> int:
        """How many directions share one key."""
        return self.whole.block_rows

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop`` of this slice."""
        yield from self.whole.slices(self.start + start, self.start + stop)

    def recycle(self, previous: Directions | None) -> None:
        """Leave memory to the whole."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MappedDirections:
    """Other directions, each of them mapped: as many, in slices of the same size."""

    inner: Directions

    @property
    def count(self) -> int:
        """How many directions there are."""
        return self.inner.count

    @property
    def block_rows(self) -> int:
        """How many directions a slice holds at most."""
        return self.inner.block_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class ScaledDirections(MappedDirections):
    """Other directions with every coordinate multiplied by its own factor."""

    scale: Vector

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return self.inner.d

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop``."""
        for indices, values in self.inner.slices(start, stop):
            factors = self.scale if indices is None else self.scale[indices]
            yield Offsets(indices, values * factors)

    def recycle(self, previous: Directions | None) -> None:
        """Pass memory on to the directions that are scaled."""
        self.inner.recycle(previous.inner if isinstance(previous, ScaledDirections) else previous)


def prefetch(directions: Directions) -> Iterator[Offsets]:
    """Sample, a block at a time, what will be needed later and is cached until then."""
    if isinstance(directions, ScaledDirections):
        yield from prefetch(directions.inner)
    elif isinstance(directions, SampledDirections) and directions.is_cached:
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
