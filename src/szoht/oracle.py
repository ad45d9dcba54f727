"""Plan -> answers: has the pieces evaluated, and decides what becomes of those that fail."""

import math
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import repeat
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht._validate import check_choice, check_integer
from szoht.algorithm import Algorithm
from szoht.errors import (
    AnswerShapeError,
    CapabilityError,
    ExecutorError,
    IdleWorkersWarning,
    warn,
)
from szoht.evaluate import evaluate, objection, raised
from szoht.executors.dispatch import Dispatcher
from szoht.objective import Call, Objective
from szoht.pieces import Piece, PieceAnswer, assemble, cut, first_points
from szoht.queries import STACK_VALUES, Answer, Plan, Query
from szoht.sparse_vector import SparseVector
from szoht.types import Vector

__all__ = ["Landed", "OnError", "Oracle", "PointFailure", "check_capabilities"]

OnError: TypeAlias = Literal["stop", "skip", "raise"]

Landed: TypeAlias = Callable[[PieceAnswer], None]
"""Told about every newly evaluated piece, before its values are used."""

NOTHING: Mapping[Piece, PieceAnswer] = MappingProxyType({})


class PointFailure(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """A point was not answered by a finite real number, and the run is to stop.

    ``index`` is the point's place in the plan, ``spent`` how many points had been evaluated.
    """

    def __init__(
        self, *, index: int, spent: int, point: Vector, reason: str, cause: Exception | None = None
    ) -> None:
        self.index = index
        self.spent = spent
        self.point = point
        self.reason = reason
        self.cause = cause
        super().__init__(reason)


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """Answers plans with an objective.

    Points are built where they are evaluated and not earlier. A sparse-aware objective gets sparse
    offsets, a vectorised one gets chunks of dense points, a plain one gets one fresh point at a
    time.

    Parameters
    ----------
    objective : Objective
        The function and its powers.
    on_error : {"stop", "skip", "raise"}
        A point that fails ends the run, or becomes NaN, or its exception is raised.
    chunk_size : int, optional
        Points per call of a vectorised or sparse-aware function.
    dispatcher : Dispatcher, optional
        Has the pieces evaluated by workers; without it they are evaluated here.
    """

    objective: Objective
    on_error: OnError = "stop"
    chunk_size: int | None = None
    dispatcher: Dispatcher | None = None

    def __post_init__(self) -> None:
        check_choice("on_error", self.on_error, get_args(OnError))
        if self.chunk_size is not None:
            check_integer("chunk_size", self.chunk_size, low=1)

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Piece, PieceAnswer] = NOTHING,
        landed: Landed | None = None,
    ) -> list[Answer]:
        """Evaluate every point of the plan.

        Parameters
        ----------
        plan : Plan
            What to evaluate.
        known : mapping of Piece to PieceAnswer
            Pieces that were answered before and are not evaluated again.
        landed : callable, optional
            ``landed(answer)`` is called in this thread for each newly evaluated piece as soon as it
            arrives and before its values are used. A piece that ends the run is not handed over.
        """
        if self.dispatcher is None and landed is None and not known and self._is_plain(plan):
            return self._plain(plan)
        pieces = self.pieces(plan)
        answers = [known[piece] for piece in pieces if piece in known]
        missing = [piece for piece in pieces if piece not in known]
        with closing(self._evaluate(plan, missing)) as arriving:
            for answer, spent in arriving:
                if answer.error is not None:
                    self._object(plan, answer, spent)
                if landed is not None:
                    landed(answer)
                answers.append(answer)
        return assemble(plan, answers)

    def pieces(self, plan: Plan) -> tuple[Piece, ...]:
        """Return the pieces in which the plan is evaluated and recorded."""
        return cut(plan, self.objective, self.chunk_size)

    def warn_of_idle_workers(self, plan: Plan) -> None:
        """Say so if a whole estimate goes to the function, and so to one worker, in one call."""
        if plan.n_points > 1 and len(self.pieces(plan)) == 1:
            warn(
                f"The function takes all {plan.n_points} points of the first plan in one call, so "
                "that one worker has everything to do. Pass a smaller `chunk_size`.",
                IdleWorkersWarning,
            )

    def _evaluate(
        self, plan: Plan, pieces: Sequence[Piece]
    ) -> Generator[tuple[PieceAnswer, int], None, None]:
        """Yield each answer with the number of points spent on the plan until then."""
        if self.dispatcher is not None:
            yield from self._dispatch(self.dispatcher, plan, pieces)
            return
        spent = plan.n_points - sum(piece.n_points for piece in pieces)
        points = _one_at_a_time(plan, pieces) if self._is_plain(plan) else repeat(None)
        for piece, point in zip(pieces, points, strict=False):
            spent += piece.n_points
            try:
                answer = evaluate(self.objective, plan, piece, point)
            except KeyboardInterrupt as stop:
                stop.points_spent = spent  # type: ignore[attr-defined]
                raise
            yield answer, spent

    def _dispatch(
        self, dispatcher: Dispatcher, plan: Plan, pieces: Sequence[Piece]
    ) -> Generator[tuple[PieceAnswer, int], None, None]:
        with closing(dispatcher.begin(plan, pieces)) as shift:
            try:
                for answer in shift:
                    yield answer, shift.issued
            except ExecutorError as error:
                if not dispatcher.has_answered:
                    raise  # the workers never worked, so there is nothing to keep
                nothing = np.full(pieces[0].n_points, np.nan)
                lost = PieceAnswer(piece=pieces[0], values=nothing, error=str(error), cause=error)
                self._object(plan, lost, shift.issued, skippable=False)

    def _object(
        self, plan: Plan, answer: PieceAnswer, spent: int, *, skippable: bool = True
    ) -> None:
        """Return if a failed piece is to be skipped, else raise."""
        assert answer.error is not None, "only failures come here"  # noqa: S101
        piece, cause = answer.piece, answer.cause
        if self.on_error == "skip" and skippable:
            return
        if self.on_error == "raise" and cause is not None:
            raise cause
        missing = np.isnan(answer.values)
        place = piece.start + (int(np.argmax(missing)) if missing.any() else 0)
        raise PointFailure(
            index=first_points(plan)[piece.query] + place,
            spent=spent,
            point=_point(plan, piece.query, place),
            reason=answer.error,
            cause=cause,
        )

    def _is_plain(self, plan: Plan) -> bool:
        single = self.objective.values is None and self.objective.along is None
        return single and not any(query.gradient for query in plan.queries)

    def _plain(self, plan: Plan) -> list[Answer]:
        """Do the same as by pieces, for functions so fast that pieces of one point are felt."""
        answers: list[Answer] = []
        done = 0
        for i, query in enumerate(plan.queries):
            answers.append(Answer(values=self._one_by_one(plan, i, done)))
            done += query.n_points
        return answers

    def _one_by_one(self, plan: Plan, i: int, done: int) -> Vector:
        query = plan.queries[i]
        value, sample = self.objective.value, query.sample
        values = np.empty(query.n_points)
        for j, point in enumerate(query.each()):
            cause: Exception | None = None
            try:
                answer = value(point, sample)
            except KeyboardInterrupt as stop:
                stop.points_spent = done + j + 1  # type: ignore[attr-defined]
                raise
            except AnswerShapeError:
                raise
            except Exception as error:
                cause, reason = error, raised(error)
            else:
                # the usual case first: this line runs once per query
                if type(answer) is float and math.isfinite(answer):
                    values[j] = answer
                    continue
                reason = objection(answer) or ""
                if not reason:
                    values[j] = float(answer)
                    continue
            values[j] = math.nan
            failed = PieceAnswer(
                piece=Piece(i, j, j + 1), values=values[j : j + 1], error=reason, cause=cause
            )
            self._object(plan, failed, done + j + 1)
        return values


def _one_at_a_time(plan: Plan, pieces: Sequence[Piece]) -> Iterator[Vector]:
    """Yield the points of pieces of one point, built in stacks to share the overhead."""
    query, first, stack = -1, 0, np.empty((0, 0))
    for piece in pieces:
        if piece.query != query or not first <= piece.start < first + len(stack):
            asked, query, first = plan.queries[piece.query], piece.query, piece.start
            stack = asked.points(first, first + max(1, STACK_VALUES // asked.base.size))
        yield stack[piece.start - first]


def _point(plan: Plan, i: int, place: int) -> Vector:
    """Return a point afresh, since the function may have changed its own."""
    query = plan.queries[i]
    if place >= query.n_points:  # a stack of single points
        return plan.queries[i + place].base
    point: Vector = query.points(place, place + 1)[0]
    return point


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
