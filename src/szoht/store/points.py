"""The points of a round as a store keeps them: few changes of the start, and rows of offsets.

A round is replayed if its points agree with those stored, but for rounding: another processor or
another NumPy adds up in another order. So the base of each query is kept; where a run may have to
be continued from its evaluations, the offsets of its points are, too.
"""

import struct
import zlib
from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np

from szoht.core.directions import ArrayDirections
from szoht.core.query import Plan, Query
from szoht.core.sparse_vector import SparseVector, changes_from, with_changes
from szoht.core.validation import frozen
from szoht.errors import EncodingError
from szoht.store.digests import address, sample_digest
from szoht.types import Indices, Vector

__all__ = ["MOST_POINTS", "StoredPlan", "StoredQuery", "encode_points"]

ROUNDING_TOLERANCE = 1e-9
"""Points that differ by less, relative to their largest entry, differ by rounding.

A step that is computed from the same values on another processor differs by about 1e-16 at first;
quasi-Newton and least squares amplify that by the condition number of what they solve. A stored
value is used at a point that is this close, where f differs by as small a share of its slope.
"""

QUERY_HEADER = struct.Struct("<BQQdIIqq")
HAS_BASE, MIRRORED, GRADIENT, WHOLE_BASE, SAME_BASE, HAS_ROWS = (1 << i for i in range(6))

MOST_POINTS = 10**8
"""In one query: more are a sign of a damaged file."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredQuery:
    """The points of a query as they were evaluated; ``offsets`` are None if they were not kept.

    ``address`` is a checksum of where random directions come from, ``sample`` one of the sample.
    """

    base: Vector
    n_points: int
    unit_cost: int
    radius: float
    address: int
    sample: int
    with_base: bool
    mirrored: bool
    gradient: bool
    offsets: ArrayDirections | None

    @property
    def query(self) -> Query | None:
        """The query with the same points, None if they are not known."""
        if self.n_points == 1 and self.with_base:
            return Query(base=self.base, gradient=self.gradient)
        if self.offsets is None:
            return None
        return Query(
            base=self.base,
            directions=self.offsets,
            with_base=self.with_base,
            gradient=self.gradient,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredPlan:
    """The points of a round as they were evaluated."""

    queries: tuple[StoredQuery, ...]

    @classmethod
    def decode(cls, data: bytes, start: Vector) -> Self:
        """Return the points that `encode_points` wrote, or raise `EncodingError`."""
        reader, queries = _Unpacker(data), list[StoredQuery]()
        while reader.left:
            queries.append(_decode_query(reader, start, queries))
        return cls(queries=tuple(queries))

    @property
    def n_points(self) -> int:
        """How many points were to be evaluated."""
        return sum(query.n_points for query in self.queries)

    def agrees(self, plan: Plan) -> bool:
        """Tell whether a plan has these points, but for rounding."""
        return len(plan.queries) == len(self.queries) and all(
            _query_agrees(query, other)
            for query, other in zip(plan.queries, self.queries, strict=True)
        )

    def evaluated(self, plan: Plan) -> Plan:
        """Return a plan that agrees, with the base points as they were evaluated."""
        queries = (
            replace(query, base=other.base)
            for query, other in zip(plan.queries, self.queries, strict=True)
        )
        return replace(plan, queries=tuple(queries))


def encode_points(plan: Plan, start: Vector, *, rows: bool) -> bytes:
    """Return the points of a plan; offsets from the base only if ``rows``."""
    parts, last = [], None
    for query in plan.queries:
        parts.append(_encode_query(query, start, rows=rows, same=query.base is last))
        last = query.base
    return b"".join(parts)


def _query_agrees(query: Query, stored: StoredQuery) -> bool:
    same_form = (
        query.n_points == stored.n_points
        and query.gradient == stored.gradient
        and (query.with_base, query.mirrored) == (stored.with_base, stored.mirrored)
        and sample_digest(query) == stored.sample
        and address(query.directions) == stored.address
    )
    if not same_form or abs(query.radius - stored.radius) > ROUNDING_TOLERANCE * abs(stored.radius):
        return False
    scale = _largest(stored.base)
    if stored.offsets is None:
        apart = _apart(query.base, stored.base)
        return apart <= ROUNDING_TOLERANCE * max(
            scale, abs(stored.radius) if query.n_directions else 0.0
        )
    rows = _rows(query)
    same_shape = rows.values.shape == stored.offsets.values.shape and np.array_equal(
        rows.indices, stored.offsets.indices
    )
    scale = max(scale, float(np.abs(stored.offsets.values).max(initial=0.0)))
    return (
        same_shape
        and _apart(query.base, stored.base) <= ROUNDING_TOLERANCE * scale
        and float(np.abs(rows.values - stored.offsets.values).max(initial=0.0))
        <= ROUNDING_TOLERANCE * scale
    )


def _apart(one: Vector, other: Vector) -> float:
    """Return the largest difference of two points."""
    if one.size != other.size:
        return np.inf
    return _largest(one - other)


def _largest(x: Vector) -> float:
    sparse = cast(object, x)
    entries = sparse.values if isinstance(sparse, SparseVector) else x
    return float(np.abs(entries).max(initial=0.0))


def _rows(query: Query) -> ArrayDirections:
    """Return the offsets of a query's points from its base, all with as many entries."""
    d = query.base.size
    indices, values = [], []
    for where, offsets in query.offsets(0, query.n_points):
        values.append(offsets)
        if where is None:
            where = np.broadcast_to(np.arange(d), offsets.shape)  # noqa: PLW2901
        indices.append(where)
    width = max((part.shape[1] for part in values), default=0)
    if any(part.shape[1] != width for part in values):
        raise EncodingError("rows of different widths are not stored")
    empty = np.empty((0, width))
    return ArrayDirections(
        d=d,
        indices=np.concatenate([empty.astype(np.intp), *indices]),
        values=np.concatenate([empty, *values]),
    )


def _encode_query(query: Query, start: Vector, *, rows: bool, same: bool) -> bytes:
    indices, entries = changes_from(start, query.base)
    whole = entries.size == query.base.size
    flags = (
        HAS_BASE * query.with_base
        | MIRRORED * query.mirrored
        | GRADIENT * query.gradient
        | WHOLE_BASE * whole
        | SAME_BASE * same
        | HAS_ROWS * (rows and query.directions is not None)
    )
    count = 0 if same else entries.size
    header = QUERY_HEADER.pack(
        flags,
        query.n_points,
        query.unit_cost,
        query.radius,
        address(query.directions),
        sample_digest(query),
        count,
        query.base.size,
    )
    parts = [header]
    if not same:
        parts += [b"" if whole else _packed(indices.astype("<i8")), _packed(entries.astype("<f8"))]
    if flags & HAS_ROWS:
        offsets = _rows(query)
        parts.append(struct.pack("<II", *offsets.values.shape))
        parts += [_packed(offsets.indices.astype("<i8")), _packed(offsets.values.astype("<f8"))]
    return b"".join(parts)


def _decode_query(reader: "_Unpacker", start: Vector, before: list[StoredQuery]) -> StoredQuery:
    flags, n_points, unit_cost, radius, origin, sample, count, d = QUERY_HEADER.unpack(
        reader.take(QUERY_HEADER.size)
    )
    if d != start.size or not (0 < n_points <= MOST_POINTS and 0 <= count <= d):
        raise EncodingError("a round has points of another size")
    if flags & SAME_BASE:
        if not before:
            raise EncodingError("a round begins with the base of no other")
        base = before[-1].base
    else:
        indices = None if flags & WHOLE_BASE else reader.integers(count, d)
        base = with_changes(start, indices, reader.floats(count))
    offsets = None
    if flags & HAS_ROWS:
        rows, width = struct.unpack("<II", reader.take(8))
        if rows != n_points - bool(flags & HAS_BASE) or rows * width > MOST_POINTS:
            raise EncodingError("a round has other offsets than points")
        where = reader.integers(rows * width, d).reshape(rows, width)
        offsets = ArrayDirections(
            d=d, indices=where, values=reader.floats(rows * width).reshape(rows, width)
        )
    return StoredQuery(
        base=base,
        n_points=n_points,
        unit_cost=unit_cost,
        radius=radius,
        address=origin,
        sample=sample,
        with_base=bool(flags & HAS_BASE),
        mirrored=bool(flags & MIRRORED),
        gradient=bool(flags & GRADIENT),
        offsets=offsets,
    )


class _Unpacker:
    """Takes packed arrays off some bytes, whose sizes are known before they are unpacked."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._place

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise EncodingError("the points of a round are cut off")
        self._place += size
        return self._data[self._place - size : self._place]

    def floats(self, count: int) -> Vector:
        numbers = np.frombuffer(self._unpacked(8 * count), dtype="<f8").astype(np.float64)
        if not np.isfinite(numbers).all():
            raise EncodingError("a point of a round is not finite")
        return frozen(numbers)

    def integers(self, count: int, d: int) -> Indices:
        numbers = np.frombuffer(self._unpacked(8 * count), dtype="<i8").astype(np.intp)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= d):
            raise EncodingError("a point of a round has coordinates beyond its size")
        return frozen(numbers)

    def _unpacked(self, size: int) -> bytes:
        (packed,) = struct.unpack("<I", self.take(4))
        if packed == 0:
            return self.take(size)
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(self.take(packed), size + 1)
        except zlib.error as error:
            raise EncodingError(f"the points of a round cannot be unpacked: {error}") from error
        if len(data) != size:
            raise EncodingError("a round has more points or fewer than it says")
        return data


def _packed(array: np.ndarray) -> bytes:
    """Return an array as bytes, with the size of what is packed; 0 if it is not worth it."""
    data = array.tobytes()
    if len(data) >= 1024:  # noqa: PLR2004  (below, a header takes most of it)
        packed = zlib.compress(data, 1)
        if len(packed) < len(data) // 2:
            return struct.pack("<I", len(packed)) + packed
    return struct.pack("<I", 0) + data
