"""Chunk -> values: calls the objective, here or in a worker, and checks what it returns."""

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from szoht.core.objective import Objective
from szoht.core.query import Plan, Query
from szoht.core.validation import (
    answer_array,
    as_scalar,
    describe_entries,
    describe_shape,
    real_array,
    shown,
)
from szoht.errors import AnswerShapeError
from szoht.evaluation.chunks import Chunk, ChunkValues, is_batchable
from szoht.types import Vector

__all__ = [
    "OutOfTime",
    "as_gradient",
    "as_values",
    "describe_exception",
    "evaluate_chunk",
    "failed_chunk",
    "why_invalid",
]


class OutOfTime(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """The time of the run is over before all points of a plan are evaluated."""


def evaluate_chunk(
    objective: Objective,
    plan: Plan,
    chunk: Chunk,
    points: Iterable[Vector] | None = None,
    is_late: Callable[[], bool] | None = None,
) -> ChunkValues:
    """Evaluate one chunk with the function that it was split for.

    Failures of the objective are returned with the values; only a wrong shape raises. Where the
    points are evaluated one by one, evaluation ends with the first that fails, and the values are
    those up to there. A KeyboardInterrupt or `OutOfTime` says in ``points_spent`` how many points
    had begun, and in ``evaluated`` which values there are.

    Parameters
    ----------
    objective, plan, chunk
        What to evaluate.
    points : iterable of arrays, optional
        The points, if they have been built already.
    is_late : callable, optional
        Asked before each point but the first whether the time is over.
    """
    query = plan.queries[chunk.query]
    call = _call(objective, plan, query, chunk)
    if call is None:
        part = _point_by_point(objective, query, chunk, points, is_late)
        return _with_gradient(objective, query, part)
    try:
        values = call()
    except AnswerShapeError:
        raise
    except Exception as error:
        # which point caused it is not known, so all of them count as failed
        return failed_chunk(chunk, objective, describe_exception(error), error)
    finite = np.isfinite(values)
    if finite.all():
        return ChunkValues(chunk=chunk, values=values)
    part = ChunkValues(chunk=chunk, values=np.where(finite, values, np.nan))
    if not part.failed.any():
        return part
    first = values[int(np.argmax(part.failed))]
    reason = f"the function returned {first if objective.n_outputs else first.item()}"
    return ChunkValues(chunk=chunk, values=part.values, error=reason)


def failed_chunk(
    chunk: Chunk, objective: Objective, reason: str, cause: Exception | None = None
) -> ChunkValues:
    """Return a chunk of which every point has failed."""
    values = np.full((chunk.n_points, objective.n_outputs or 1), np.nan)
    return ChunkValues(chunk=chunk, values=values, error=reason, cause=cause)


def as_values(answer: object, count: int, n_outputs: int | None = None) -> Vector:
    """Return ``answer`` as ``count`` rows of floats; complex entries become NaN.

    Any shape but (count,), or (count, n_outputs) for a function with several outputs, raises.
    """
    shape = (count,) if n_outputs is None else (count, n_outputs)
    array = answer_array(answer)
    if array.shape != shape:
        raise AnswerShapeError(
            f"The values of {count} points must have shape {shape}; got {describe_shape(answer)}. "
            "A vectorized function takes an array of shape (m, d) and returns one row per point."
        )
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    entries = [as_scalar(entry) for entry in array.flat]
    flat = [math.nan if why_invalid(entry) else float(entry) for entry in entries]
    return np.array(flat).reshape(shape)


def as_gradient(answer: object, shape: tuple[int, ...]) -> Vector:
    """Return ``answer`` as a gradient of the right shape, or raise."""
    try:
        gradient = real_array(answer)
    except (TypeError, ValueError) as error:
        raise AnswerShapeError(f"`gradient` must be an array of real numbers: {error}.") from error
    if gradient.shape != shape:
        raise AnswerShapeError(f"`gradient` must have shape {shape}; got {gradient.shape}.")
    return gradient


def why_invalid(answer: Any) -> str | None:
    """Say why ``answer`` is not a finite real number, or None if it is one."""
    answer = as_scalar(answer)
    if answer is None:
        return "the function returned None (is a `return` missing?)"
    if isinstance(answer, np.ndarray):
        return f"the function returned an array of shape {answer.shape}, not a number"
    if isinstance(answer, list | tuple):
        what, remedy = describe_entries(answer)
        return f"the function returned {what}, not a number{remedy}"
    if isinstance(answer, numbers.Real | np.bool_):
        try:
            return None if math.isfinite(answer) else f"the function returned {float(answer)}"
        except OverflowError:
            return "the function returned an integer beyond the range of floating-point numbers"
    return (
        f"the function returned {shown(answer)} of type {type(answer).__name__}, not a real number"
    )


def describe_exception(error: Exception) -> str:
    """Say that the function raised, and what."""
    return f"the function raised {error!r}"


def _call(
    objective: Objective, plan: Plan, query: Query, chunk: Chunk
) -> Callable[[], Vector] | None:
    """Return the call that evaluates the chunk, or None if its points are evaluated one by one."""
    along, batched, m = objective.along, objective.values, objective.n_outputs
    start, stop = chunk.start, chunk.stop
    if batched is not None and is_batchable(plan, objective):
        bases = [other.base for other in plan.queries[chunk.query :][start:stop]]
        return lambda: as_values(batched(np.stack(bases), query.sample), stop - start, m)
    if query.directions is None or query.is_implicit:
        return None
    if along is not None:
        is_base = query.with_base and start == 0
        return None if is_base else lambda: _along(objective, query, start, stop)
    if batched is not None:
        return lambda: as_values(batched(query.points(start, stop), query.sample), stop - start, m)
    return None


def _along(objective: Objective, query: Query, start: int, stop: int) -> Vector:
    assert objective.along is not None, "only a sparse-aware objective comes here"  # noqa: S101
    parts = []
    for indices, offsets in query.offsets(start, stop):
        where = indices
        if where is None:
            where = np.broadcast_to(np.arange(query.base.size), offsets.shape)
        values = objective.along(query.base, where, offsets, query.sample)
        parts.append(as_values(values, len(offsets), objective.n_outputs))
    return np.concatenate(parts)


def _point_by_point(
    objective: Objective,
    query: Query,
    chunk: Chunk,
    points: Iterable[Vector] | None,
    is_late: Callable[[], bool] | None,
) -> ChunkValues:
    """Return the values up to the first point that fails."""
    value, sample, m = objective.value, query.sample, objective.n_outputs
    values = np.empty((chunk.n_points, m or 1))
    points = query.each(chunk.start, chunk.stop) if points is None else points
    for i, point in enumerate(points):
        cause: Exception | None = None
        is_number = True
        try:
            if i and is_late is not None:
                _check_time(is_late)
            answer = value(point, sample)
            # the usual case first: this line runs once per query
            if isinstance(answer, float) and m is None and math.isfinite(answer):
                values[i, 0] = answer
                continue
            values[i], reason = _checked(answer, m)
            is_number = m is not None or isinstance(as_scalar(answer), numbers.Real | np.bool_)
        except (KeyboardInterrupt, OutOfTime) as stop:
            stop.points_spent = i + isinstance(stop, KeyboardInterrupt)  # type: ignore[union-attr]
            until = Chunk(chunk.query, chunk.start, chunk.start + i)
            stop.evaluated = ChunkValues(chunk=until, values=values[:i])  # type: ignore[union-attr]
            raise
        except AnswerShapeError:
            raise
        except Exception as error:
            values[i], reason, cause = math.nan, describe_exception(error), error
        if reason is not None:
            until = Chunk(chunk.query, chunk.start, chunk.start + i + 1)
            return ChunkValues(
                chunk=until,
                values=values[: i + 1],
                error=reason,
                cause=cause,
                is_number=is_number,
            )
    return ChunkValues(chunk=chunk, values=values)


def _check_time(is_late: Callable[[], bool]) -> None:
    if is_late():
        raise OutOfTime


def _checked(answer: Any, n_outputs: int | None) -> tuple[float | Vector, str | None]:
    """Return a number or a row of outputs, NaN where it is not finite, and why it has failed."""
    if n_outputs is None:
        answer = as_scalar(answer)
        reason = why_invalid(answer)
        return (math.nan if reason else float(answer)), reason
    (row,) = as_values(answer_array(answer)[np.newaxis], 1, n_outputs)
    finite = np.isfinite(row)
    reason = None if finite.any() else f"the function returned {row}"
    return np.where(finite, row, np.nan), reason


def _with_gradient(objective: Objective, query: Query, part: ChunkValues) -> ChunkValues:
    """Add the gradient, where the query wants one and its base point has a value."""
    chunk = part.chunk
    if not query.gradient or objective.gradient is None or chunk.start > 0 or part.error:
        return part
    try:
        slope = objective.gradient(query.base.copy(), query.sample)
        gradient = as_gradient(slope, query.base.shape)
    except AnswerShapeError:
        raise
    except Exception as error:
        return ChunkValues(
            chunk=chunk, values=part.values, error=describe_exception(error), cause=error
        )
    if not np.isfinite(gradient).all():
        reason = "the gradient has entries that are not finite"
        return ChunkValues(chunk=chunk, values=part.values, error=reason)
    return ChunkValues(chunk=chunk, values=part.values, gradient=gradient)
