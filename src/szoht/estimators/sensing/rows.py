"""Structured rows for sparse recovery: Walsh-Hadamard signs and low Fourier frequencies.

Both are random through an address only, have entries between -1 and 1, and never exist as a whole
where that would be large: a row is made when it is asked for, and sums over all rows are done
by a fast transform.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from szoht.core.directions import Directions, Offsets
from szoht.core.random import Key, Purpose
from szoht.types import Indices, Vector

__all__ = ["FourierRows", "HadamardRows", "RowSlice", "Rows"]

KEPT_VALUES = 2**22
"""Rows with at most this many values in all are written out once and kept."""

ROW_BLOCK_VALUES = 2**17
"""Other rows are made in blocks of about this many values."""


class Rows(Protocol):
    """A matrix with one row per probe, known by an address."""

    @property
    def d(self) -> int:
        """The length of a row."""
        ...

    @property
    def available(self) -> int:
        """How many rows there are."""
        ...

    @property
    def weight(self) -> float:
        """One over the mean square of an entry: equalizes kinds of rows."""
        ...

    def block(self, start: int, stop: int) -> Vector:
        """Return the rows ``start`` to ``stop``."""
        ...

    def columns(self, start: int, stop: int, support: Indices) -> Vector:
        """Return those rows at the coordinates ``support``."""
        ...

    def correlate(self, start: int, weights: Vector) -> Vector:
        """Return the sum of the rows from ``start`` on, times ``weights``."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class HadamardRows:
    """Random rows of a Walsh-Hadamard matrix, its columns multiplied by random signs.

    Its constant column is left out: no slope could be told from what all rows have in common.
    Coordinates that are not among ``free`` are zero in every row.
    """

    key: Key
    d: int
    free: Indices | None = None

    weight = 1.0

    @cached_property
    def _order(self) -> int:
        return max(4, math.ceil(math.log2(self.d + 1)))

    @property
    def available(self) -> int:
        """All rows of the matrix but the constant one."""
        return int(2**self._order) - 1

    @cached_property
    def _numbers(self) -> Indices:
        generator = self.key.generator(Purpose.DIRECTIONS, 0)
        return 1 + generator.permutation(self.available)

    @cached_property
    def _signs(self) -> Vector:
        generator = self.key.generator(Purpose.DIRECTIONS, 1)
        signs: Vector = generator.choice(np.array([-1.0, 1.0]), self.d)
        if self.free is not None and self.free.size < self.d:
            mask = np.zeros(self.d)
            mask[self.free] = 1.0
            signs *= mask
        return signs

    @cached_property
    def _halves(self) -> tuple[Vector, Vector]:
        low = self._order // 2
        return _hadamard(self._order - low), _hadamard(low)

    def block(self, start: int, stop: int) -> Vector:
        """Return the rows ``start`` to ``stop``."""
        high, low = self._halves
        numbers = self._numbers[start:stop]
        left, right = high[numbers // len(low)], low[numbers % len(low)]
        rows = (left[:, :, np.newaxis] * right[:, np.newaxis, :]).reshape(numbers.size, -1)
        return np.asarray(rows[:, 1 : self.d + 1] * self._signs)

    def columns(self, start: int, stop: int, support: Indices) -> Vector:
        """Return those rows at the coordinates ``support``."""
        high, low = self._halves
        numbers = self._numbers[start:stop]
        left = high[np.ix_(numbers // len(low), (support + 1) // len(low))]
        right = low[np.ix_(numbers % len(low), (support + 1) % len(low))]
        return np.asarray(left * right * self._signs[support])

    def correlate(self, start: int, weights: Vector) -> Vector:
        """Return the sum of the rows from ``start`` on, times ``weights``."""
        spread = np.zeros(self.available + 1)
        spread[self._numbers[start : start + weights.size]] = weights
        return np.asarray(_walsh_transform(spread)[1 : self.d + 1] * self._signs)


@dataclass(frozen=True, kw_only=True, eq=False)
class FourierRows:
    """Rows s_i cos(j t_i) and s_i sin(j t_i) for j = 0, 1, 2, ...; t_i = 2 pi node_i / n.

    The nodes are a random permutation of 0, ..., n - 1 over the ``n`` free coordinates, the s_i
    random signs. Row 0 is j = 0; rows 2j - 1 and 2j are the cosine and the sine of frequency j.
    """

    key: Key
    d: int
    free: Indices
    _last: dict[int, Vector] = field(default_factory=dict, init=False, repr=False)

    weight = 2.0

    @property
    def available(self) -> int:
        """Up to the highest frequency that the nodes can tell apart."""
        return int(self.free.size)

    @cached_property
    def nodes(self) -> Indices:
        """The node of each free coordinate."""
        return self.key.generator(Purpose.DIRECTIONS, 0).permutation(self.free.size)

    @cached_property
    def coordinate_of(self) -> Indices:
        """The coordinate at each node."""
        inverse = np.empty(self.free.size, dtype=np.intp)
        inverse[self.nodes] = self.free
        return inverse

    @cached_property
    def _signs(self) -> Vector:
        generator = self.key.generator(Purpose.DIRECTIONS, 1)
        signs: Vector = generator.choice(np.array([-1.0, 1.0]), self.free.size)
        return signs

    @cached_property
    def _phase(self) -> Vector:
        return np.asarray(np.exp((2j * math.pi / self.free.size) * self.nodes))

    @cached_property
    def _place(self) -> Indices:
        place = np.full(self.d, -1)
        place[self.free] = np.arange(self.free.size)
        return place

    def block(self, start: int, stop: int) -> Vector:
        """Return the rows ``start`` to ``stop``."""
        rows = np.zeros((stop - start, self.d))
        for row in range(start, stop):
            wave = self._wave((row + 1) // 2)
            rows[row - start, self.free] = wave.real if row % 2 or row == 0 else wave.imag
        return rows

    def columns(self, start: int, stop: int, support: Indices) -> Vector:
        """Return those rows at the coordinates ``support``."""
        place = self._place[support]
        row = np.arange(start, stop)[:, np.newaxis]
        angle = (2 * math.pi / self.free.size) * (((row + 1) // 2) * self.nodes[place])
        values = np.where((row % 2 == 1) | (row == 0), np.cos(angle), np.sin(angle))
        return np.asarray(np.where(place >= 0, values * self._signs[place], 0.0))

    def correlate(self, start: int, weights: Vector) -> Vector:
        """Return the sum of the rows from ``start`` on, times ``weights``."""
        n = self.free.size
        spectrum = np.zeros(n, dtype=complex)
        row = np.arange(start, start + weights.size)
        # cos and sin of frequency j are the real and imaginary part of exp(i j t)
        np.add.at(
            spectrum,
            ((row + 1) // 2) % n,
            np.where((row % 2 == 1) | (row == 0), weights, -1j * weights),
        )
        at_nodes = np.fft.ifft(spectrum).real * n
        total = np.zeros(self.d)
        total[self.free] = at_nodes[self.nodes] * self._signs
        return total

    def _wave(self, frequency: int) -> Vector:
        """Return s exp(i j t), from the frequency before if that was the last one made."""
        last = self._last
        if frequency not in last:
            before = last.get(frequency - 1)
            wave = self._signs * self._phase**frequency if before is None else before * self._phase
            last.clear()
            last[frequency] = wave
        return last[frequency]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSlice:
    """Rows as `Directions`: the rows ``start`` to ``start + count``."""

    rows: Rows
    start: int
    count: int

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return self.rows.d

    @property
    def block_rows(self) -> int:
        """How many rows are best handed over at a time."""
        return max(1, ROW_BLOCK_VALUES // self.d)

    @cached_property
    def _kept(self) -> Vector | None:
        if self.count * self.d > KEPT_VALUES:
            return None
        return self.rows.block(self.start, self.start + self.count)

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the rows ``start`` to ``stop`` in blocks."""
        if self._kept is not None:
            if stop > start:
                yield Offsets(None, self._kept[start:stop])
            return
        for low in range(start, stop, self.block_rows):
            high = min(low + self.block_rows, stop)
            yield Offsets(None, self.rows.block(self.start + low, self.start + high))

    def recycle(self, previous: Directions | None) -> None:
        """Rows are made when they are asked for, so no memory is needed."""

    def columns(self, support: Indices) -> Vector:
        """Return the rows at the coordinates ``support``."""
        if self._kept is not None:
            return np.asarray(self._kept[:, support])
        return self.rows.columns(self.start, self.start + self.count, support)

    def correlate(self, weights: Vector) -> Vector:
        """Return the sum of the rows times ``weights``."""
        if self._kept is not None:
            return np.asarray(weights @ self._kept)
        return self.rows.correlate(self.start, weights)

    def __getstate__(self) -> dict[str, object]:
        return {"rows": self.rows, "start": self.start, "count": self.count}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def _hadamard(order: int) -> Vector:
    """Return the Hadamard matrix of size 2^order."""
    matrix = np.ones((1, 1))
    for _ in range(order):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def _walsh_transform(values: Vector) -> Vector:
    """Return the Hadamard matrix times ``values``, in O(n log n)."""
    n, step = values.size, 1
    while step < n:
        pairs = values.reshape(-1, 2, step)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
        step *= 2
    return np.asarray(values.reshape(n))
