"""Plans in pieces: what can be evaluated anywhere, in any order, and recorded one by one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from szoht.core.objective import Objective
from szoht.core.query import Answer, Plan, Query
from szoht.types import Vector

__all__ = ["Piece", "PieceAnswer", "assemble", "cut", "first_points", "is_stack"]

CHUNK_VALUES = 2**19
"""Coordinates handed over in one call unless ``chunk_size`` says otherwise: 4 MB."""


@dataclass(frozen=True, order=True)
class Piece:
    """The points ``start`` to ``stop`` of a plan, counted from the first of ``queries[query]``.

    A piece ends with its query, except in a plan of single points that are stacked for one call
    (`is_stack`): there it runs on over the queries that follow.
    """

    query: int
    start: int
    stop: int

    @property
    def n_points(self) -> int:
        """How many points are evaluated."""
        return self.stop - self.start


@dataclass(frozen=True, kw_only=True, eq=False)
class PieceAnswer:
    """The values of a piece, NaN where the objective failed.

    A piece with the base point of a query that asks for a gradient carries the gradient too.
    ``error`` says in words what went wrong first, and ``cause`` is the exception behind it, if the
    objective raised one.
    """

    piece: Piece
    values: Vector
    gradient: Vector | None = None
    error: str | None = None
    cause: Exception | None = None


def cut(plan: Plan, objective: Objective, chunk_size: int | None = None) -> tuple[Piece, ...]:
    """Return the pieces of a plan: one call of the objective's best power each.

    A function that takes one point at a time gets pieces of one point. The cut depends on nothing
    but the arguments, never on who evaluates the pieces: a vectorised function may round
    differently in stacks of another height.

    >>> from szoht.core.query import one_point
    >>> cut(one_point(np.zeros(3), None), Objective(value=lambda x, sample: 0.0))
    (Piece(query=0, start=0, stop=1),)
    """
    if is_stack(plan, objective):
        rows = chunk_size or _dense_rows(plan.queries[0])
        return tuple(_ranges(0, 0, plan.n_points, rows))
    return tuple(
        piece
        for i, query in enumerate(plan.queries)
        for piece in _cut(i, query, objective, chunk_size)
    )


def is_stack(plan: Plan, objective: Objective) -> bool:
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


def first_points(plan: Plan) -> list[int]:
    """Return the place in the plan of each query's first point."""
    return list(accumulate((query.n_points for query in plan.queries[:-1]), initial=0))


def assemble(plan: Plan, answers: Iterable[PieceAnswer]) -> list[Answer]:
    """Put the answers together; points that no piece answers are NaN and left out."""
    values = np.full(plan.n_points, np.nan)
    left_out = np.ones(plan.n_points, dtype=bool)
    gradients: dict[int, Vector | None] = {}
    firsts = first_points(plan)
    for answer in answers:
        start = firsts[answer.piece.query] + answer.piece.start
        values[start : start + answer.piece.n_points] = answer.values
        left_out[start : start + answer.piece.n_points] = False
        if answer.gradient is not None:
            gradients[answer.piece.query] = answer.gradient
    return [
        Answer(
            values=values[first : first + query.n_points],
            gradient=gradients.get(i),
            left_out=left_out[first : first + query.n_points] if left_out.any() else None,
        )
        for i, (first, query) in enumerate(zip(firsts, plan.queries, strict=True))
    ]


def _cut(i: int, query: Query, objective: Objective, chunk_size: int | None) -> Iterator[Piece]:
    plain = objective.along is None and objective.values is None
    if plain or query.directions is None or query.by_lookup:
        return _ranges(i, 0, query.n_points, 1)
    if objective.along is None:
        return _ranges(i, 0, query.n_points, chunk_size or _dense_rows(query))
    return _cut_along(i, query, chunk_size or query.directions.block_rows)


def _cut_along(i: int, query: Query, rows: int) -> Iterator[Piece]:
    # the base point is no offset from itself
    yield from _ranges(i, 0, int(query.with_base), 1)
    yield from _ranges(i, int(query.with_base), query.n_points, rows)


def _ranges(i: int, start: int, stop: int, rows: int) -> Iterator[Piece]:
    return (Piece(i, low, min(low + rows, stop)) for low in range(start, stop, rows))


def _dense_rows(query: Query) -> int:
    return max(1, CHUNK_VALUES // query.base.size)
