"""Stored runs with external evaluation: `waiting` lists points, `answer` takes their values."""

import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from szoht.algorithms.calibration import Calibration
from szoht.core.query import Answer, Plan
from szoht.core.sparse_vector import as_point
from szoht.errors import EvaluationError, ParameterError, RunMismatchError, SzohtError
from szoht.evaluation.chunks import Chunk, ChunkValues, first_point_indices, merge
from szoht.result import Result, Status
from szoht.run.ask_tell import AskTell
from szoht.run.least_squares_result import with_fit
from szoht.run.loop import loop
from szoht.run.outputs import OutputForm
from szoht.run.problem import Start
from szoht.run.resume import rebuild
from szoht.run.view import View
from szoht.store import Fault, ReplayOracle, Store, StoredRun
from szoht.types import Sample, Vector

__all__ = [
    "Point",
    "PointId",
    "Reply",
    "Told",
    "answer",
    "begin",
    "replay",
    "replayed_evaluations",
    "waiting",
]

LOCK_WAIT_SECONDS = 30.0
"""How long to wait for another process that has locked the run."""

MAX_POINTS = 10**7
"""In a plan that is evaluated externally: each of its points is listed."""


class PointId(NamedTuple):
    """The name of a point, ``run:round:point``: its index in a plan, and the plan's in a run.

    >>> str(PointId("k7mq2x", 3, 14)), PointId.parse("k7mq2x:3:14")
    ('k7mq2x:3:14', PointId(run='k7mq2x', round=3, point=14))
    """

    run: str
    round: int
    point: int

    def __str__(self) -> str:
        return f"{self.run}:{self.round}:{self.point}"

    @classmethod
    def parse(cls, text: object) -> "PointId":
        """Return the id that a text denotes."""
        parts = text.split(":") if isinstance(text, str) else []
        if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):  # noqa: PLR2004
            raise ParameterError(f"`id` must read run:round:point; got {text!r}.")
        return cls(parts[0], int(parts[1]), int(parts[2]))


class Point(NamedTuple):
    """A point that waits for its value."""

    id: PointId
    x: Vector
    sample: Sample


class Reply(NamedTuple):
    """The value of a point, or its outputs; NaN, with the reason, if it could not be evaluated.

    Outputs may have names in a run that knows them.
    """

    id: PointId
    value: float | Sequence[float] | Mapping[str, float]
    error: str = ""

    @property
    def outputs(self) -> Vector:
        """The value as an array of one or several outputs."""
        return np.atleast_1d(np.asarray(self.value, dtype=np.float64))

    @property
    def failed(self) -> bool:
        """Whether no output is a finite number."""
        return not np.isfinite(self.outputs).any()


@dataclass
class Told:
    """How many replies were new, known already, or contradicted what is known.

    ``rejected`` says which do not have the outputs of the run, and so were not taken.
    """

    new: int = 0
    repeated: int = 0
    failed: int = 0
    contradictions: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    result: Result | None = None
    rejected: list[str] = field(default_factory=list)


class _Pending(Exception):  # noqa: N818  (control flow)
    """A plan has points without a value."""

    def __init__(self, plan: Plan, known: Iterable[ChunkValues]) -> None:
        self.plan = plan
        self.known = known
        super().__init__()

    @property
    def missing(self) -> list[int]:
        """The indices in the plan of the points without a value."""
        values = _values_by_point(self.plan, self.known)
        return [point for point in range(self.plan.n_points) if point not in values]


class _ExternalOracle:
    """Answers plans with the replies it is given, and raises `_Pending` if some are missing."""

    def __init__(self, stored: StoredRun, run: AskTell, replies: Iterable[Reply], told: Told):
        self._stored = stored
        self._told = told
        self._skip = run.on_error == "skip"
        self._takes_outputs = "n_outputs" in run.algorithm.requires
        self._sizes: set[int] = set()
        self._replies: dict[int, list[Reply]] = {}
        for reply in replies:
            self._replies.setdefault(reply.id.round, []).append(reply)

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Chunk, ChunkValues],
        on_chunk: Callable[[ChunkValues], None],
    ) -> Sequence[Answer]:
        """Return the answers, or raise `_Pending`."""
        answers, first_indices = list(known.values()), first_point_indices(plan)
        replies = self.compare(plan, known)
        self._n_outputs = self._count_outputs(replies)
        for reply in replies:
            if (
                new := self._as_answer(reply, _chunk_of_point(first_indices, reply.id.point))
            ) is not None:
                answers.append(new)
                on_chunk(new)
        if sum(answer.chunk.n_points for answer in answers) < plan.n_points:
            raise _Pending(plan, answers)
        return merge(plan, answers)

    def compare(self, plan: Plan, known: Mapping[Chunk, ChunkValues]) -> list[Reply]:
        """Compare replies with what is known; return the first to each point that is not."""
        values, new = _values_by_point(plan, known.values()), []
        self._sizes |= {answer.values.shape[1] for answer in known.values()}
        for reply in self._replies.pop(self._stored.round, []):
            point = reply.id.point
            if point >= plan.n_points:
                self._told.unknown.append(str(reply.id))
            elif point in values:
                self._count_repeated(reply, values[point])
            else:
                new.append(reply)
                if not reply.failed:
                    values[point] = reply.outputs
        return new

    def _count_outputs(self, replies: Sequence[Reply]) -> int:
        """Return how many outputs a point has, the same for all points of the run."""
        sizes = self._sizes | {reply.outputs.size for reply in replies if not reply.failed}
        if not self._takes_outputs and sizes - {1}:
            raise ParameterError(
                f"`value` must be one number for each point; got {max(sizes)} numbers."
            )
        if len(sizes) > 1:
            raise ParameterError(
                f"`value` must have as many outputs for each point; got {sorted(sizes)}."
            )
        return sizes.pop() if sizes else 1

    def count_unknown(self) -> None:
        """Count the replies to rounds that have not begun."""
        unknown = [str(reply.id) for replies in self._replies.values() for reply in replies]
        self._told.unknown += unknown

    def _count_repeated(self, reply: Reply, known: Vector) -> None:
        if reply.failed or np.array_equal(reply.outputs, known, equal_nan=True):
            self._told.repeated += 1
        else:
            first = float(known[0]) if known.size == 1 else known.tolist()
            self._told.contradictions.append(
                f"{reply.id} is {first!r} already; {reply.value!r} is ignored"
            )

    def _as_answer(self, reply: Reply, chunk: Chunk) -> ChunkValues | None:
        """Return the answer to be stored, None if the point is to be evaluated again."""
        if not reply.failed:
            self._told.new += 1
            return ChunkValues(chunk=chunk, values=reply.outputs[np.newaxis])
        self._told.failed += 1
        reason = reply.error or f"the value is {reply.value}"
        self._stored.log_fault(Fault(reply.id.point, 1, reason))
        if not self._skip:
            return None
        return ChunkValues(chunk=chunk, values=np.full((1, self._n_outputs), np.nan))


def begin(store: Store, run: AskTell, x0: Start, *, limits: dict[str, Any]) -> str:
    """Start a run whose points are evaluated externally, and return its name.

    ``x0`` is as given to the run, which knows itself where its variables begin.
    """
    config = replace(run.config, limits=limits)
    if config.variables is None:
        config = replace(config, x0=as_point("x0", x0))
    with store.create(config.spec()) as stored:
        return stored.name


def replay(store: Store, run: str) -> AskTell:
    """Return a run as far as its answers reach, without evaluating anything."""
    replayed, _ = _replay(store.open_readonly(run))
    return replayed


def replayed_evaluations(store: Store, run: str) -> tuple[Vector, Vector]:
    """Return the points that a run has evaluated, in the user's numbers, and their values."""
    stored = store.open_readonly(run)
    rebuilt = _rebuild(stored)
    view = View(variables=stored.spec.variables)
    points, values = [np.empty((0, stored.spec.x0.size))], [np.empty(0)]

    def keep(plan: Plan, known: Mapping[Chunk, ChunkValues]) -> None:
        by_point = _values_by_point(plan, known.values())
        if by_point:
            points.append(view.x(plan.points()[list(by_point)]))
            values.append(np.array([outputs[0] for outputs in by_point.values()]))

    external = _ExternalOracle(stored, rebuilt, (), Told())
    pending = _drive(rebuilt, ReplayOracle(external, stored, rebuilt, on_replayed=keep), stored)
    if pending is not None:
        keep(pending.plan, {answer.chunk: answer for answer in pending.known})
    return np.vstack(points), np.concatenate(values)


def waiting(store: Store, run: str) -> list[Point]:
    """Return the points of a run that wait for a value; none if it has ended."""
    stored = store.open_readonly(run)
    _, pending = _replay(stored)
    if pending is None:
        return []
    plan = pending.plan
    if plan.n_points > MAX_POINTS:
        raise RunMismatchError(
            f"run {stored.name} asks for {plan.n_points:,} points at once; at most {MAX_POINTS:,} "
            "can be listed. Lower the number of directions `q`."
        )
    view = View(variables=stored.spec.variables)
    points, first_indices = [], first_point_indices(plan)
    for point in pending.missing:
        chunk = _chunk_of_point(first_indices, point)
        query = plan.queries[chunk.query]
        where = PointId(stored.name, stored.round, point)
        x = view.x(query.points(chunk.start, chunk.stop)[0])
        points.append(Point(where, x, query.sample))
    return points


def answer(store: Store, run: str, replies: Iterable[Reply]) -> Told:
    """Take the values of points in any order, and continue the run as far as they reach.

    The first value of a point counts; others are reported. A point that could not be evaluated
    is asked for again, unless the run was made with ``on_error="skip"``.
    """
    told = Told()
    with store.lock(run, wait=LOCK_WAIT_SECONDS) as stored:
        rebuilt = _rebuild(stored)
        external = _ExternalOracle(stored, rebuilt, _in_form(replies, rebuilt, told), told)
        oracle = ReplayOracle(external, stored, rebuilt, on_replayed=external.compare)
        _drive(rebuilt, oracle, stored)
        external.count_unknown()
        if rebuilt.done:
            told.result = with_fit(rebuilt, rebuilt.result)
        oracle.close(otherwise=Status.RUNNING)
    return told


def _in_form(replies: Iterable[Reply], run: AskTell, told: Told) -> list[Reply]:
    """Return replies with outputs in the order of the run; reject those with others."""
    algorithm = run.algorithm
    form = None
    if isinstance(algorithm, Calibration) and algorithm.n_outputs is not None:
        form = OutputForm.stored(algorithm)
    taken = []
    for reply in replies:
        try:
            taken.append(reply if reply.error else _with_row(reply, form))
        except EvaluationError as error:
            told.rejected.append(f"{reply.id}: {error}")
    return taken


def _with_row(reply: Reply, form: OutputForm | None) -> Reply:
    if form is not None:
        return reply._replace(value=form.row(reply.value).tolist())
    if isinstance(reply.value, Mapping):
        raise EvaluationError("outputs by name need a run of `least_squares` that knows its names")
    return reply


def _replay(stored: StoredRun) -> tuple[AskTell, _Pending | None]:
    rebuilt = _rebuild(stored)
    external = _ExternalOracle(stored, rebuilt, (), Told())
    return rebuilt, _drive(rebuilt, ReplayOracle(external, stored, rebuilt), stored)


def _rebuild(stored: StoredRun) -> AskTell:
    stored.spec = stored.spec.checked()
    return rebuild(stored.spec)


def _drive(run: AskTell, oracle: ReplayOracle, stored: StoredRun) -> _Pending | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same with every call
        try:
            loop(run, oracle)
        except _Pending as pending:
            return pending
        except SzohtError:
            raise
        except Exception as error:  # nothing of the user's is called here
            raise RunMismatchError(
                f"run {stored.name} cannot be replayed from what is stored of it: {error!r}."
            ) from error
    return None


def _chunk_of_point(first_indices: list[int], point: int) -> Chunk:
    """Return the chunk of one point of a plan, whose queries begin at ``first_indices``."""
    query = bisect_right(first_indices, point) - 1
    return Chunk(query, point - first_indices[query], point - first_indices[query] + 1)


def _values_by_point(plan: Plan, answers: Iterable[ChunkValues]) -> dict[int, Vector]:
    """Return the known values, by the indices of their points in the plan."""
    first_indices = first_point_indices(plan)
    return {
        first_indices[known.chunk.query] + known.chunk.start + i: outputs
        for known in answers
        for i, outputs in enumerate(known.values)
    }
