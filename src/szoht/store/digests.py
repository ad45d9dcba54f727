"""Checksums of plans: to tell at once whether a round has the same points to the last bit."""

import zlib
from typing import cast

from szoht.core.directions import (
    ArrayDirections,
    Directions,
    DirectionSlice,
    MappedDirections,
    SampledDirections,
    ScaledDirections,
)
from szoht.core.implicit import ImplicitSigns
from szoht.core.query import Plan, Query
from szoht.core.sparse_vector import SparseVector
from szoht.types import Vector

__all__ = ["address", "digest", "sample_digest"]


def digest(plan: Plan) -> int:
    """Return a number that tells plans with different points apart, to the last bit."""
    crc, last = 0, None
    for query in plan.queries:
        if query.base is not last:
            crc = _crc_of_base(query.base, crc)
        last = query.base
        if query.sample is not None:
            crc = zlib.crc32(query.sample.data, crc)
        crc = zlib.crc32(f"{query.n_points} {query.radius!r}".encode(), crc)
        crc = _crc_of_directions(query.directions, crc)
    return crc


def sample_digest(query: Query) -> int:
    """Return a checksum of the sample of a query, 0 if it has none."""
    return 0 if query.sample is None else zlib.crc32(query.sample.data)


def address(directions: Directions | None) -> int:
    """Return a checksum of where random directions come from, 0 for others."""
    if isinstance(directions, DirectionSlice):
        part = f"{directions.start} {directions.count} "
        return zlib.crc32(part.encode(), address(directions.whole))
    if isinstance(directions, SampledDirections):
        return zlib.crc32(f"{directions.distribution!r} {directions.key!r}".encode())
    if isinstance(directions, ImplicitSigns):
        places = directions.bucket.tobytes() + directions.bit.tobytes()
        places += directions.excluded.tobytes()
        return zlib.crc32(f"{directions.seed} {directions.buckets}".encode() + places)
    if isinstance(directions, MappedDirections):
        return address(directions.inner)
    return 0


def _crc_of_base(base: Vector, crc: int) -> int:
    if isinstance(cast(object, base), SparseVector):
        sparse = cast(SparseVector, base)
        crc = zlib.crc32(f"{sparse.size} ".encode() + sparse.indices.tobytes(), crc)
        return zlib.crc32(sparse.values.data, crc)
    return zlib.crc32(base.data, crc)


def _crc_of_directions(directions: Directions | None, crc: int) -> int:
    """Return a checksum of directions to the last bit: of their address, or of their entries."""
    if isinstance(directions, ArrayDirections):
        crc = zlib.crc32(directions.indices.tobytes(), crc)
        return zlib.crc32(directions.values.tobytes(), crc)
    if isinstance(directions, ScaledDirections):
        crc = zlib.crc32(directions.scale.tobytes(), crc)
    if isinstance(directions, MappedDirections):
        return _crc_of_directions(directions.inner, crc)
    return zlib.crc32(str(address(directions)).encode(), crc)
