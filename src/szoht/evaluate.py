"""Piece -> values: calls the objective, here or in a worker, and says what is an answer."""

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from szoht.core.objective import Objective
from szoht.core.query import Plan, Query
from szoht.core.validation import real_array
from szoht.errors import AnswerShapeError
from szoht.pieces import Piece, PieceAnswer, is_stack
from szoht.types import Vector

__all__ = ["as_gradient", "as_values", "evaluate", "objection", "raised"]


def evaluate(
    objective: Objective, plan: Plan, piece: Piece, point: Vector | None = None
) -> PieceAnswer:
    """Evaluate one piece with the power that it was cut for; ``point`` is its only one, if built.

    What the objective does wrong comes back in the answer; only answers of the wrong shape raise.
    """
    query = plan.queries[piece.query]
    call = _call(objective, plan, query, piece)
    if call is None:
        return _with_gradient(objective, query, _one_by_one(objective, query, piece, point))
    try:
        values = call()
    except AnswerShapeError:
        raise
    except Exception as error:
        # which of the points is to blame is not known, so all of them count as failed
        return _failed(piece, error)
    finite = np.isfinite(values)
    if finite.all():
        return PieceAnswer(piece=piece, values=values)
    reason = f"the function returned {values[int(np.argmin(finite))]}"
    return PieceAnswer(piece=piece, values=np.where(finite, values, np.nan), error=reason)


def as_values(answer: object, count: int) -> Vector:
    """Return ``answer`` as ``count`` floats; complex entries become NaN, other shapes raise."""
    try:
        array = np.asarray(answer)
    except ValueError as error:
        raise AnswerShapeError(f"The values must be an array of numbers: {error}.") from error
    if array.shape != (count,):
        raise AnswerShapeError(
            f"The values of {count} points must have shape ({count},); got {array.shape}. A "
            "vectorised function takes an array of shape (m, d) and returns one value per row."
        )
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    return np.array([math.nan if objection(entry) else float(entry) for entry in array])


def as_gradient(answer: object, shape: tuple[int, ...]) -> Vector:
    """Return ``answer`` as a gradient of the right shape, or raise."""
    try:
        gradient = real_array(answer)
    except (TypeError, ValueError) as error:
        raise AnswerShapeError(f"`gradient` must be an array of real numbers: {error}.") from error
    if gradient.shape != shape:
        raise AnswerShapeError(f"`gradient` must have shape {shape}; got {gradient.shape}.")
    return gradient


def objection(answer: Any) -> str | None:
    """Say why ``answer`` is not a finite real number, or None if it is one."""
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        answer = answer[()]
    if isinstance(answer, np.ndarray | list | tuple):
        return f"the function returned an array of shape {np.shape(answer)}, not a number"
    if isinstance(answer, numbers.Real | np.bool_):
        try:
            return None if math.isfinite(answer) else f"the function returned {float(answer)}"
        except OverflowError:
            return "the function returned an integer beyond the range of floating-point numbers"
    return f"the function returned {answer!r} of type {type(answer).__name__}, not a real number"


def raised(error: Exception) -> str:
    """Say that the function raised."""
    return f"the function raised {error!r}"


def _call(
    objective: Objective, plan: Plan, query: Query, piece: Piece
) -> Callable[[], Vector] | None:
    """Return the one call that answers the piece, or None if its points are asked one by one."""
    along, stacked = objective.along, objective.values
    start, stop = piece.start, piece.stop
    if stacked is not None and is_stack(plan, objective):
        bases = [other.base for other in plan.queries[piece.query :][start:stop]]
        return lambda: as_values(stacked(np.stack(bases), query.sample), stop - start)
    if query.directions is None or query.by_lookup:
        return None
    if along is not None:
        is_base = query.with_base and start == 0
        return None if is_base else lambda: _along(objective, query, start, stop)
    if stacked is not None:
        return lambda: as_values(stacked(query.points(start, stop), query.sample), stop - start)
    return None


def _along(objective: Objective, query: Query, start: int, stop: int) -> Vector:
    assert objective.along is not None, "only a sparse-aware objective comes here"  # noqa: S101
    parts = []
    for indices, values in query.offsets(start, stop):
        where = indices
        if where is None:
            where = np.broadcast_to(np.arange(query.base.size), values.shape)
        parts.append(
            as_values(objective.along(query.base, where, values, query.sample), len(values))
        )
    return np.concatenate(parts)


def _one_by_one(
    objective: Objective, query: Query, piece: Piece, point: Vector | None
) -> PieceAnswer:
    if point is None:
        (point,) = query.points(piece.start, piece.stop)
    try:
        answer = objective.value(point, query.sample)
    except AnswerShapeError:
        raise
    except Exception as error:
        return _failed(piece, error)
    if type(answer) is float and math.isfinite(answer):  # the usual case first
        return PieceAnswer(piece=piece, values=np.array([answer]))
    reason = objection(answer)
    value = math.nan if reason else float(answer)
    return PieceAnswer(piece=piece, values=np.array([value]), error=reason)


def _with_gradient(objective: Objective, query: Query, answer: PieceAnswer) -> PieceAnswer:
    """Add the gradient, where the query wants one and its base point has a value."""
    piece = answer.piece
    if not query.gradient or objective.gradient is None or piece.start > 0 or answer.error:
        return answer
    try:
        slope = objective.gradient(query.base.copy(), query.sample)
        gradient = as_gradient(slope, query.base.shape)
    except AnswerShapeError:
        raise
    except Exception as error:
        return PieceAnswer(piece=piece, values=answer.values, error=raised(error), cause=error)
    if not np.isfinite(gradient).all():
        reason = "the gradient has entries that are not finite"
        return PieceAnswer(piece=piece, values=answer.values, error=reason)
    return PieceAnswer(piece=piece, values=answer.values, gradient=gradient)


def _failed(piece: Piece, error: Exception) -> PieceAnswer:
    nothing = np.full(piece.n_points, np.nan)
    return PieceAnswer(piece=piece, values=nothing, error=raised(error), cause=error)
