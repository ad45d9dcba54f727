"""Rows of the table ``answers``: the values of some points of a plan, and a checksum.

Values are little-endian doubles, for each point as many as the function has outputs: the number of
outputs follows from the number of bytes.
"""

import zlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from szoht.core.validation import frozen
from szoht.evaluation.chunks import Chunk, ChunkValues

__all__ = ["ANSWER_COLUMNS", "from_row", "to_row"]

ANSWER_COLUMNS = 'query, start, stop, "values", gradient, crc'
DOUBLE_BYTES = 8

Row: TypeAlias = tuple[int, int, int, bytes, bytes | None, int]


def to_row(answer: ChunkValues) -> Row:
    """Return an answer as the table holds it."""
    chunk = answer.chunk
    values = _bytes(answer.values)
    gradient = None if answer.gradient is None else _bytes(answer.gradient)
    place = (chunk.query, chunk.start, chunk.stop)
    return *place, values, gradient, _crc(*place, values, gradient)


def from_row(stored: tuple[Any, ...], sizes: Sequence[int], d: int) -> ChunkValues | None:
    """Return the answer that a row holds; None unless it is whole and fits the plan.

    ``sizes`` are the numbers of points of the plan's queries.
    """
    query, start, stop, values, gradient, crc = stored
    if not all(type(number) is int for number in (query, start, stop)):
        return None
    if not (0 <= query < len(sizes) and 0 <= start < stop <= sum(sizes[query:])):
        return None
    n_points = stop - start
    if not (isinstance(values, bytes) and values) or len(values) % (DOUBLE_BYTES * n_points):
        return None
    if gradient is not None and not (
        isinstance(gradient, bytes) and len(gradient) == DOUBLE_BYTES * d
    ):
        return None
    if crc != _crc(query, start, stop, values, gradient):
        return None
    return ChunkValues(
        chunk=Chunk(query, start, stop),
        values=_floats(values).reshape(n_points, -1),
        gradient=None if gradient is None else _floats(gradient),
    )


def _crc(query: int, start: int, stop: int, values: bytes, gradient: bytes | None) -> int:
    crc = zlib.crc32(b"%d %d %d" % (query, start, stop))
    return zlib.crc32(gradient or b"", zlib.crc32(values, crc))


def _bytes(array: np.ndarray) -> bytes:
    return array.astype("<f8").tobytes()


def _floats(data: bytes) -> np.ndarray:
    return frozen(np.frombuffer(data, dtype="<f8").astype(np.float64))
