"""Plan -> answers: has the chunks evaluated, and handles those that fail."""

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import repeat
from traceback import walk_tb
from types import MappingProxyType
from typing import Literal, TypeAlias, cast, get_args

import numpy as np

from szoht.core.algorithm import Algorithm
from szoht.core.objective import Objective
from szoht.core.query import STACK_VALUES, Answer, Plan, Query
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import check_choice, check_integer
from szoht.errors import (
    AnswerShapeError,
    CapabilityError,
    EvaluationError,
    ExecutorError,
    IdleWorkersWarning,
    SkippedPointWarning,
    warn,
)
from szoht.evaluation.chunks import Chunk, ChunkValues, first_point_indices, merge, split
from szoht.evaluation.evaluate import OutOfTime, as_values, evaluate_chunk, failed_chunk
from szoht.evaluation.executors.scheduler import Scheduler
from szoht.types import Vector

__all__ = [
    "OnChunk",
    "OnError",
    "Oracle",
    "PointFailure",
    "check_capabilities",
    "check_offered",
    "is_from_function",
]

OnError: TypeAlias = Literal["stop", "skip", "raise"]

BUGS = (NameError, ImportError, AttributeError, SyntaxError, TypeError)
"""Exceptions that no other point will mend."""

OnChunk: TypeAlias = Callable[[ChunkValues], None]
"""Called with every newly evaluated chunk, before its values are used."""

Evaluated: TypeAlias = Generator[tuple[ChunkValues, int], None, None]
"""Values, each with the number of points of the plan that were evaluated until then."""

NO_CHUNKS: Mapping[Chunk, ChunkValues] = MappingProxyType({})


class PointFailure(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """A point was not answered by a finite real number, and the run is to stop.

    ``index`` is the point's position in the plan, ``spent`` how many points had been evaluated.
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
    offsets, a vectorized one gets stacks of dense points, a plain one gets one fresh point at a
    time.

    Parameters
    ----------
    objective : Objective
        The function and its capabilities.
    on_error : {"stop", "skip", "raise"}, optional
        A point that fails ends the run, or becomes NaN, or its exception is raised. By default
        it becomes NaN, with a warning the first time; but a bug (`BUGS`) is raised, and so are any
        exception and any answer that is no number at the first plan's base point.
    chunk_size : int, optional
        Points per call of a vectorized or sparse-aware function.
    scheduler : Scheduler, optional
        Has the chunks evaluated by workers; without it they are evaluated here.
    first_plan : Plan, optional
        The one whose base point, the start of the run, must not fail.
    is_late : callable, optional
        Asked between evaluations whether the time of the run is over.
    skipped : set of str
        Why the first point was skipped, once one was: it is warned about.
    """

    objective: Objective
    on_error: OnError | None = None
    chunk_size: int | None = None
    scheduler: Scheduler | None = None
    first_plan: Plan | None = None
    is_late: Callable[[], bool] | None = None
    skipped: set[str] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        if self.on_error is not None:
            check_choice("on_error", self.on_error, get_args(OnError))
        if self.chunk_size is not None:
            check_integer("chunk_size", self.chunk_size, low=1)

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Chunk, ChunkValues] = NO_CHUNKS,
        on_chunk: OnChunk | None = None,
        one_by_one: bool = False,
    ) -> list[Answer]:
        """Evaluate every point of the plan, or raise `OutOfTime`.

        Parameters
        ----------
        plan : Plan
            What to evaluate.
        known : mapping of Chunk to ChunkValues
            Chunks that were evaluated before and are not evaluated again.
        on_chunk : callable, optional
            ``on_chunk(values)`` is called in this thread for each newly evaluated chunk as soon as
            it arrives and before its values are used; not for a chunk that ends the run.
        one_by_one : bool
            Whether the points of a plain function are chunks of their own even where nobody shares
            the work, so that each can be kept as soon as it is evaluated.
        """
        by_query = self.scheduler is None and not one_by_one and not known
        chunks = split(plan, self.objective, self.chunk_size, by_query=by_query)
        parts = [known[chunk] for chunk in chunks if chunk in known] if known else []
        missing = [chunk for chunk in chunks if chunk not in known] if known else chunks
        evaluate = self._evaluate_here if self.scheduler is None else self._schedule
        with closing(evaluate(plan, missing)) as arriving:
            for part, spent in arriving:
                if part.error is not None:
                    self._handle_failure(plan, part, spent)
                if on_chunk is not None:
                    on_chunk(part)
                parts.append(part)
        return merge(plan, parts)

    def warn_of_idle_workers(self, plan: Plan) -> None:
        """Warn if a whole estimate goes to the function, and so to one worker, in one call."""
        if plan.n_points > 1 and len(split(plan, self.objective, self.chunk_size)) == 1:
            warn(
                f"The function takes all {plan.n_points} points of the first plan in one call, so "
                "that one worker does all the work. Pass a smaller `chunk_size`.",
                IdleWorkersWarning,
            )

    def _evaluate_here(self, plan: Plan, chunks: Sequence[Chunk]) -> Evaluated:
        known = spent = plan.n_points - sum(chunk.n_points for chunk in chunks)
        plain = self.objective.values is None and self.objective.along is None
        stacks = _shared_stacks(plan, chunks) if plain else repeat(None, len(chunks))
        for chunk, stack in zip(chunks, stacks, strict=True):
            rest, points = chunk, stack
            while rest.n_points > 0:
                if spent > known and self.is_late is not None and self.is_late():
                    raise OutOfTime
                try:
                    part = evaluate_chunk(self.objective, plan, rest, points, self.is_late)
                except (KeyboardInterrupt, OutOfTime) as stop:
                    begun = getattr(stop, "points_spent", rest.n_points)
                    stop.points_spent = spent + begun  # type: ignore[union-attr]
                    evaluated = getattr(stop, "evaluated", None)
                    if evaluated is not None and evaluated.chunk.n_points:
                        yield evaluated, spent + begun
                    raise
                spent += part.chunk.n_points
                yield part, spent
                # a point that failed was the last one, and is skipped
                rest, points = Chunk(chunk.query, part.chunk.stop, chunk.stop), None

    def _schedule(self, plan: Plan, chunks: Sequence[Chunk]) -> Evaluated:
        assert self.scheduler is not None, "nothing is scheduled without workers"  # noqa: S101
        with closing(self.scheduler.execute(plan, chunks)) as execution:
            try:
                for part in execution:
                    yield part, execution.n_issued
                    if self.is_late is not None and self.is_late():
                        raise OutOfTime
            except ExecutorError as error:
                if not self.scheduler.has_answered:
                    raise  # no worker has returned a value, so there is nothing to keep
                lost = failed_chunk(chunks[0], self.objective, str(error), error)
                self._handle_failure(plan, lost, execution.n_issued, skippable=False)

    def _handle_failure(
        self, plan: Plan, part: ChunkValues, spent: int, *, skippable: bool = True
    ) -> None:
        """Return if a failed chunk is to be skipped, else raise."""
        assert part.error is not None, "only failures come here"  # noqa: S101
        chunk, failed = part.chunk, part.failed
        position = chunk.start + (int(np.argmax(failed)) if failed.any() else 0)
        point = _point(plan, chunk.query, position)
        at_start = plan is self.first_plan and _is_base(point, plan)
        fatal = isinstance(part.cause, BUGS) or at_start
        if skippable and (self.on_error == "skip" or (self.on_error is None and not fatal)):
            self._warn_once(point, part.error)
            return
        raises = self.on_error == "raise" or (self.on_error is None and skippable)
        if raises and part.cause is not None:
            raise part.cause
        if self.on_error is None and not part.is_number:  # at the start: no point would mend it
            raise EvaluationError(f"At the start `x0`, {part.error}. It must return one number.")
        raise PointFailure(
            index=first_point_indices(plan)[chunk.query] + position,
            spent=spent,
            point=point,
            reason=part.error,
            cause=part.cause,
        )

    def _warn_once(self, point: Vector, reason: str) -> None:
        """Warn about the first skipped point, unless skipping was asked for."""
        if self.on_error is None and not self.skipped:
            self.skipped.add(reason)
            warn(
                f"The function failed at a point with {np.count_nonzero(point)} non-zeros: "
                f"{reason}. Such points are skipped and counted in `result.counts.failures`; pass "
                '`on_error="skip"` to silence this, or "raise" to see where it fails.',
                SkippedPointWarning,
            )


def is_from_function(error: BaseException) -> bool:
    """Tell whether an exception is the objective's own, which an oracle has raised."""
    raised = (frame.f_code for frame, _ in walk_tb(error.__traceback__))
    return Oracle._handle_failure.__code__ in raised


def _shared_stacks(plan: Plan, chunks: Sequence[Chunk]) -> Iterator[Iterable[Vector] | None]:
    """Yield the point of each chunk of one point, built in stacks to share the overhead."""
    query, first, stack = -1, 0, np.empty((0, 0))
    for chunk in chunks:
        asked = plan.queries[chunk.query]
        if chunk.n_points > 1 or asked.n_points == 1:
            yield None
            continue
        if chunk.query != query or not first <= chunk.start < first + len(stack):
            query, first = chunk.query, chunk.start
            stack = asked.points(first, first + max(1, STACK_VALUES // asked.base.size))
        yield stack[chunk.start - first : chunk.start - first + 1]


def _is_base(point: Vector, plan: Plan) -> bool:
    """Tell whether a dense point is the plan's first base; sparse ones are taken for probes."""
    dense = isinstance(cast(object, point), np.ndarray)
    return dense and np.array_equal(point, plan.queries[0].base)


def _point(plan: Plan, i: int, position: int) -> Vector:
    """Return a new copy of a point, since the function may have changed its own."""
    query = plan.queries[i]
    if position >= query.n_points:  # a stack of single points
        return plan.queries[i + position].base
    point: Vector = query.points(position, position + 1)[0]
    return point


def check_offered(objective: Objective, algorithm: Algorithm) -> None:
    """Raise if the objective lacks what the algorithm needs."""
    for capability in sorted(algorithm.requires):
        if getattr(objective, capability, None) is None:
            raise CapabilityError(
                f"{algorithm!r} needs the objective's `{capability}`, and the objective has none. "
                f"Pass `{capability}=...`, or choose a zeroth-order method such as 'szoht'."
            )


def check_capabilities(objective: Objective, algorithm: Algorithm, plan: Plan) -> None:
    """Find what the algorithm needs and the objective lacks, before the first query."""
    check_offered(objective, algorithm)
    if objective.n_outputs is not None and "n_outputs" not in algorithm.requires:
        raise CapabilityError(
            f"{algorithm!r} minimizes one number, and the objective returns several: "
            f"n_outputs={objective.n_outputs}. Return one number, such as the sum of squares."
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
        _try_empty_stack(objective, plan.queries[0])


def _check_dense(query: Query) -> None:
    if isinstance(query.base, SparseVector):
        raise CapabilityError(
            "`x0` is sparse, and a vectorized function takes a dense stack of points. Pass `x0` as "
            "an array; or drop `vectorized=True` (`values`) and give `along`, which answers many "
            "points at once."
        )


def _try_empty_stack(objective: Objective, query: Query) -> None:
    """Show a wrong shape before anything is spent: no points must give no values."""
    assert objective.values is not None, "only a vectorized objective comes here"  # noqa: S101
    empty = np.empty((0, query.base.size))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = objective.values(empty, query.sample)
    except Exception:
        return  # a function may reject an empty stack
    try:
        as_values(answer, 0, objective.n_outputs)
    except AnswerShapeError as error:
        raise AnswerShapeError(
            f"`fun` was declared vectorized, and a stack of shape {empty.shape} gave a wrong "
            f"shape. {error} If it takes one point at a time, drop `vectorized=True`."
        ) from error
