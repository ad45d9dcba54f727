"""Plans in chunks, which are evaluated anywhere, in any order, and stored one by one."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np

from szoht.core.objective import Objective
from szoht.core.query import Answer, Plan, Query
from szoht.types import Mask, Vector

__all__ = [
    "Chunk",
    "ChunkValues",
    "chunk_of_point",
    "first_point_indices",
    "is_batchable",
    "merge",
    "split",
]

CHUNK_VALUES = 2**19
"""Coordinates per call of a vectorized function unless ``chunk_size`` is given: 4 MB."""


@dataclass(frozen=True, order=True)
class Chunk:
    """The points ``start`` to ``stop`` of a plan, counted from the first of ``queries[query]``.

    A chunk ends with its query, except in a plan of single points that one call can answer
    (`is_batchable`): there it runs on over the queries that follow.
    """

    query: int
    start: int
    stop: int

    @property
    def n_points(self) -> int:
        """How many points are evaluated."""
        return self.stop - self.start


@dataclass(frozen=True, kw_only=True, eq=False)
class ChunkValues:
    """The values of a chunk, of shape (n_points, m): m = 1 for a plain function.

    NaN stands where the objective failed; a point with several outputs has failed if all of them
    have. A chunk with the base point of a query that asks for a gradient carries the gradient too.
    ``error`` says in words what went wrong first, and ``cause`` is the exception behind it, if the
    objective raised one; ``is_number`` is False if it answered with something else than a number.
    A flat array of values is taken point by point.
    """

    chunk: Chunk
    values: Vector
    gradient: Vector | None = None
    error: str | None = None
    cause: Exception | None = None
    is_number: bool = True

    def __post_init__(self) -> None:
        if self.values.ndim == 1:
            object.__setattr__(self, "values", self.values.reshape(self.chunk.n_points, -1))

    @property
    def failed(self) -> Mask:
        """Which points have failed."""
        return np.asarray(np.isnan(self.values).all(axis=1))


def split(
    plan: Plan, objective: Objective, chunk_size: int | None = None, *, by_query: bool = False
) -> tuple[Chunk, ...]:
    """Return the chunks of a plan: one call each of the best function that the objective has.

    A function that takes one point at a time gets chunks of one point; its values do not depend
    on that, so ``by_query`` joins them where nothing is gained by small chunks. How a vectorized
    function is called depends on nothing but the other arguments, never on where the chunks are
    evaluated: it may round differently in stacks of another height.

    >>> from szoht.core.query import one_point
    >>> split(one_point(np.zeros(3), None), Objective(value=lambda x, sample: 0.0))
    (Chunk(query=0, start=0, stop=1),)
    """
    if is_batchable(plan, objective):
        rows = chunk_size or _dense_rows(plan.queries[0])
        return tuple(_ranges(0, 0, plan.n_points, rows))
    return tuple(
        chunk
        for i, query in enumerate(plan.queries)
        for chunk in _split(i, query, objective, chunk_size, by_query=by_query)
    )


def is_batchable(plan: Plan, objective: Objective) -> bool:
    """Tell whether the plan is several single points that one call can answer."""
    sample = plan.queries[0].sample
    return (
        objective.values is not None
        and len(plan.queries) > 1
        and all(
            query.directions is None and not query.gradient and query.sample is sample
            for query in plan.queries
        )
    )


def first_point_indices(plan: "SizedPlan") -> list[int]:
    """Return the index in the plan of each query's first point."""
    return list(accumulate((query.n_points for query in plan.queries[:-1]), initial=0))


def chunk_of_point(first_indices: list[int], point: int) -> Chunk:
    """Return the chunk of one point of a plan, whose queries begin at ``first_indices``."""
    query = bisect_right(first_indices, point) - 1
    return Chunk(query, point - first_indices[query], point - first_indices[query] + 1)


class Sized(Protocol):
    """A query, or what is left of one: as many points as there are."""

    @property
    def n_points(self) -> int:
        """How many points are evaluated."""
        ...


class SizedPlan(Sized, Protocol):
    """A plan, or what is left of one."""

    @property
    def queries(self) -> Sequence[Sized]:
        """The queries, in order."""
        ...


def merge(plan: SizedPlan, parts: Iterable[ChunkValues]) -> list[Answer]:
    """Merge the values; points of chunks that are missing are NaN and left out."""
    parts = list(parts)
    first_indices = first_point_indices(plan)
    values = np.full((plan.n_points, parts[0].values.shape[1] if parts else 1), np.nan)
    missing = np.ones(plan.n_points, dtype=bool)
    gradients: dict[int, Vector | None] = {}
    for part in parts:
        start = first_indices[part.chunk.query] + part.chunk.start
        values[start : start + part.chunk.n_points] = part.values
        missing[start : start + part.chunk.n_points] = False
        if part.gradient is not None:
            gradients[part.chunk.query] = part.gradient
    some_missing = bool(missing.any())
    return [
        Answer.of(
            values[first : first + query.n_points],
            gradient=gradients.get(i),
            left_out=missing[first : first + query.n_points] if some_missing else None,
        )
        for i, (first, query) in enumerate(zip(first_indices, plan.queries, strict=True))
    ]


def _split(
    i: int, query: Query, objective: Objective, chunk_size: int | None, *, by_query: bool
) -> Iterator[Chunk]:
    plain = objective.along is None and objective.values is None
    if plain or query.directions is None or query.is_implicit:
        rows = query.n_points if by_query and not query.gradient else 1
        return _ranges(i, 0, query.n_points, rows)
    if objective.along is None:
        return _ranges(i, 0, query.n_points, chunk_size or _dense_rows(query))
    return _split_along(i, query, chunk_size or query.directions.block_rows)


def _split_along(i: int, query: Query, rows: int) -> Iterator[Chunk]:
    # the base point is no offset from itself
    yield from _ranges(i, 0, int(query.with_base), 1)
    yield from _ranges(i, int(query.with_base), query.n_points, rows)


def _ranges(i: int, start: int, stop: int, rows: int) -> Iterator[Chunk]:
    return (Chunk(i, low, min(low + rows, stop)) for low in range(start, stop, rows))


def _dense_rows(query: Query) -> int:
    return max(1, CHUNK_VALUES // query.base.size)
