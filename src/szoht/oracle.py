"""Plan -> answers: picks the objective's best power, slices, checks and wraps what goes wrong."""

import math
import numbers
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from szoht._validate import check_choice, check_integer, real_array
from szoht.algorithm import Algorithm
from szoht.errors import AnswerShapeError, CapabilityError
from szoht.objective import Call, Objective
from szoht.queries import Answer, Plan, Query
from szoht.sparse_vector import SparseVector
from szoht.types import Vector

__all__ = [
    "OnError",
    "Oracle",
    "PointFailure",
    "as_gradient",
    "as_values",
    "check_capabilities",
]

OnError: TypeAlias = Literal["stop", "skip", "raise"]

CHUNK_VALUES = 2**19
"""Coordinates handed over in one call unless ``chunk_size`` says otherwise: 4 MB."""


class PointFailure(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """A point was not answered by a finite real number, and the run is to stop.

    ``index`` is the point's place in the plan, ``spent`` how many points had been evaluated.
    """

    def __init__(self, *, index: int, spent: int, point: Vector, what: Exception | str) -> None:
        self.index = index
        self.spent = spent
        self.point = point
        self.cause = what if isinstance(what, Exception) else None
        self.reason = what if isinstance(what, str) else f"the function raised {what!r}"
        super().__init__(self.reason)


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """Answers plans with an objective.

    Points are built here and not earlier. A sparse-aware objective gets sparse offsets, a
    vectorised one gets chunks of dense points, a plain one gets one fresh point at a time.

    Parameters
    ----------
    objective : Objective
        The function and its powers.
    on_error : {"stop", "skip", "raise"}
        A point that fails ends the run, or becomes NaN, or its exception is raised.
    chunk_size : int, optional
        Points per call of a vectorised or sparse-aware function.
    """

    objective: Objective
    on_error: OnError = "stop"
    chunk_size: int | None = None

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, get_args(OnError))
        if self.chunk_size is not None:
            check_integer("chunk_size", self.chunk_size, low=1)

    def __call__(self, plan: Plan) -> list[Answer]:
        """Evaluate every point of the plan, in order."""
        if self._stackable(plan):
            return self._stack(plan)
        answers: list[Answer] = []
        done = 0
        for query in plan.queries:
            values = self._values(query, done)
            answers.append(Answer(values=values, gradient=self._gradient(query, values, done)))
            done += query.n_points
        return answers

    def _stackable(self, plan: Plan) -> bool:
        """Tell whether the plan is several single points that one call can answer."""
        sample = plan.queries[0].sample
        return (
            self.objective.values is not None
            and len(plan.queries) > 1
            and all(
                query.directions is None and not query.gradient and query.sample is sample
                for query in plan.queries
            )
        )

    def _stack(self, plan: Plan) -> list[Answer]:
        points, sample = plan.points(), plan.queries[0].sample
        stacked = self.objective.values
        assert stacked is not None, "only a vectorised objective comes here"  # noqa: S101

        def evaluate(start: int, stop: int) -> Vector:
            return as_values(stacked(points[start:stop].copy(), sample), stop - start)

        values = self._in_chunks(evaluate, points.__getitem__, len(points), self._rows(points[0]))
        return [Answer(values=values[i : i + 1]) for i in range(len(points))]

    def _values(self, query: Query, done: int) -> Vector:
        along, stacked = self.objective.along, self.objective.values
        plain = along is None and stacked is None
        if plain or query.directions is None or query.by_lookup:
            return self._one_by_one(query, done)
        first = np.empty(0)
        if along is not None and query.with_base:
            first = self._one_by_one(Query(base=query.base, sample=query.sample), done)
        # Sparse offsets come in blocks of bounded size anyway; dense points must be rationed.
        rows = self._rows(query.base) if along is None else self.chunk_size or query.n_points
        rest = self._in_chunks(
            lambda start, stop: _evaluate(self.objective, query, start, stop),
            lambda i: query.points(i, i + 1)[0],
            query.n_points,
            rows,
            first=first.size,
            done=done,
        )
        return np.concatenate([first, rest])

    def _one_by_one(self, query: Query, done: int) -> Vector:
        value, sample = self.objective.value, query.sample
        values = np.empty(query.n_points)
        for i, point in enumerate(query.each()):
            try:
                answer = value(point, sample)
            except KeyboardInterrupt as stop:
                stop.points_spent = done + i + 1  # type: ignore[attr-defined]
                raise
            except AnswerShapeError:
                raise
            except Exception as error:
                values[i] = self._failed(query.points(i, i + 1)[0], done + i, done + i + 1, error)
                continue
            # the usual case first: this line runs once per query
            if type(answer) is float and math.isfinite(answer):
                values[i] = answer
            elif (objection := _objection(answer)) is None:
                values[i] = float(answer)
            else:
                where = query.points(i, i + 1)[0]  # afresh: the function may have changed its own
                values[i] = self._failed(where, done + i, done + i + 1, objection)
        return values

    def _rows(self, x: Vector) -> int:
        return max(1, CHUNK_VALUES // x.size) if self.chunk_size is None else self.chunk_size

    def _in_chunks(
        self,
        evaluate: Callable[[int, int], Vector],
        point: Callable[[int], Vector],
        count: int,
        rows: int,
        *,
        first: int = 0,
        done: int = 0,
    ) -> Vector:
        """Evaluate the points ``first`` to ``count``, ``rows`` at a time."""
        values = np.empty(count - first)
        for start in range(first, count, rows):
            stop = min(start + rows, count)
            try:
                chunk = evaluate(start, stop)
            except KeyboardInterrupt as interrupt:
                interrupt.points_spent = done + stop  # type: ignore[attr-defined]
                raise
            except AnswerShapeError:
                raise
            except Exception as error:
                # which of the points is to blame is not known, so all of them count as failed
                self._failed(point(start), done + start, done + stop, error)
                chunk = np.full(stop - start, np.nan)
            finite = np.isfinite(chunk)
            if not finite.all():
                i = int(np.argmin(finite))
                reason = f"the function returned {chunk[i]}"
                self._failed(point(start + i), done + start + i, done + stop, reason)
            values[start - first : stop - first] = np.where(finite, chunk, np.nan)
        return values

    def _gradient(self, query: Query, values: Vector, done: int) -> Vector | None:
        if not query.gradient or self.objective.gradient is None or math.isnan(values[0]):
            return None
        try:
            answer = self.objective.gradient(query.base.copy(), query.sample)
            gradient = as_gradient(answer, query.base.shape)
        except AnswerShapeError:
            raise
        except Exception as error:
            self._failed(query.base, done, done + 1, error)
            return None
        if not np.isfinite(gradient).all():
            self._failed(query.base, done, done + 1, "the gradient has entries that are not finite")
            return None
        return gradient

    def _failed(self, point: Vector, index: int, spent: int, what: Exception | str) -> float:
        """Return NaN for a point to be skipped, else raise."""
        if self.on_error == "skip":
            return math.nan
        if self.on_error == "raise" and isinstance(what, Exception):
            raise what
        raise PointFailure(index=index, spent=spent, point=point, what=what)


def check_capabilities(objective: Objective, algorithm: Algorithm, plan: Plan) -> None:
    """Find what the algorithm needs and the objective lacks, before the first query."""
    for power in sorted(algorithm.requires):
        if getattr(objective, power, None) is None:
            raise CapabilityError(
                f"{algorithm!r} needs the objective's `{power}`, and the objective has none. "
                f"Pass `{power}=...`, or choose a zeroth-order method such as 'szoht'."
            )
    sampled = plan.queries[0].sample is not None
    if objective.stochastic and not sampled:
        raise CapabilityError(
            "The objective takes a sample, and the algorithm's sampler draws none. Use the "
            "sampler Minibatch(size=...) for a finite sum, or Seeds() for a simulator."
        )
    if sampled and not objective.stochastic:
        raise CapabilityError(
            "The algorithm's sampler draws samples, and the objective takes none. Use the sampler "
            "Full(), or pass `stochastic=True` with a function `fun(x, sample)`."
        )
    if objective.values is not None:
        _check_dense(plan.queries[0])
        _try_empty_stack(objective.values, plan.queries[0])


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
    return np.array([math.nan if _objection(entry) else float(entry) for entry in array])


def as_gradient(answer: object, shape: tuple[int, ...]) -> Vector:
    """Return ``answer`` as a gradient of the right shape, or raise."""
    try:
        gradient = real_array(answer)
    except (TypeError, ValueError) as error:
        raise AnswerShapeError(f"`gradient` must be an array of real numbers: {error}.") from error
    if gradient.shape != shape:
        raise AnswerShapeError(f"`gradient` must have shape {shape}; got {gradient.shape}.")
    return gradient


def _evaluate(objective: Objective, query: Query, start: int, stop: int) -> Vector:
    """Evaluate the points ``start`` to ``stop`` in one go."""
    if objective.along is None:
        assert objective.values is not None, "only a vectorised objective comes here"  # noqa: S101
        return as_values(objective.values(query.points(start, stop), query.sample), stop - start)
    parts = []
    for indices, values in query.offsets(start, stop):
        where = indices
        if where is None:
            where = np.broadcast_to(np.arange(query.base.size), values.shape)
        parts.append(
            as_values(objective.along(query.base, where, values, query.sample), len(values))
        )
    return np.concatenate(parts)


def _objection(answer: Any) -> str | None:
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


def _check_dense(query: Query) -> None:
    if isinstance(query.base, SparseVector):
        raise CapabilityError(
            "`x0` is sparse, and a vectorised function takes a dense stack of points. Pass `x0` as "
            "an array; or drop `vectorized=True` (`values`) and give `along`, which answers many "
            "points at once."
        )


def _try_empty_stack(values: Call, query: Query) -> None:
    """Show a wrong shape before anything is spent: no points must give no values."""
    empty = np.empty((0, query.base.size))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shape = np.shape(values(empty, query.sample))
    except Exception:
        return  # a function may well refuse an empty stack; that proves nothing
    if shape != (0,):
        raise AnswerShapeError(
            "`fun` was declared vectorised, so a stack of shape (m, d) must give values of shape "
            f"(m,); a stack of shape (0, {query.base.size}) gave shape {shape}. Return one value "
            "per row, or drop `vectorized=True`."
        )
