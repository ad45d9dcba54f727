"""Rows of the table ``answers``: the values of some points of a plan, and a checksum.

Values are little-endian doubles, for each point as many as the function has outputs: the number of
outputs follows from the number of bytes.
"""

import zlib
from typing import Any, TypeAlias

import numpy as np

from szoht.core.query import Plan
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import frozen
from szoht.evaluation.chunks import Chunk, ChunkValues
from szoht.types import Vector

__all__ = ["ANSWER_COLUMNS", "digest", "from_row", "to_row"]

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


def from_row(stored: tuple[Any, ...], plan: Plan, first_indices: list[int]) -> ChunkValues | None:
    """Return the answer that a row holds; None unless it is whole and fits the plan.

    ``first_indices`` are the indices in the plan of the first points of its queries.
    """
    query, start, stop, values, gradient, crc = stored
    if not all(type(number) is int for number in (query, start, stop)):
        return None
    if not (
        0 <= query < len(first_indices)
        and 0 <= start < stop <= plan.n_points - first_indices[query]
    ):
        return None
    n_points = stop - start
    if not (isinstance(values, bytes) and values) or len(values) % (DOUBLE_BYTES * n_points):
        return None
    if gradient is not None:
        size = DOUBLE_BYTES * plan.queries[query].base.size
        if not isinstance(gradient, bytes) or len(gradient) != size:
            return None
    if crc != _crc(query, start, stop, values, gradient):
        return None
    return ChunkValues(
        chunk=Chunk(query, start, stop),
        values=_floats(values).reshape(n_points, -1),
        gradient=None if gradient is None else _floats(gradient),
    )


def digest(plan: Plan) -> int:
    """Return a number that tells plans with different points apart.

    It covers the base points, the samples and the numbers of directions; directions come from the
    seed.
    """
    crc, last = 0, None
    for query in plan.queries:
        if query.base is not last:
            crc = _base_crc(query.base, crc)
        last = query.base
        if query.sample is not None:
            crc = zlib.crc32(query.sample.data, crc)
        crc = zlib.crc32(f"{query.n_points} {query.radius!r}".encode(), crc)
    return crc


def _base_crc(base: Vector, crc: int) -> int:
    if isinstance(base, SparseVector):
        crc = zlib.crc32(f"{base.size} ".encode() + base.indices.tobytes(), crc)
        return zlib.crc32(base.values.data, crc)
    return zlib.crc32(base.data, crc)


def _crc(query: int, start: int, stop: int, values: bytes, gradient: bytes | None) -> int:
    crc = zlib.crc32(b"%d %d %d" % (query, start, stop))
    return zlib.crc32(gradient or b"", zlib.crc32(values, crc))


def _bytes(array: np.ndarray) -> bytes:
    return array.astype("<f8").tobytes()


def _floats(data: bytes) -> np.ndarray:
    return frozen(np.frombuffer(data, dtype="<f8").astype(np.float64))
