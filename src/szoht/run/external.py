"""Stored runs whose points are evaluated elsewhere: `waiting` says which, `answer` takes values."""

import math
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from szoht.core.query import Answer, Plan
from szoht.errors import ParameterError, RunMismatchError, SzohtError
from szoht.evaluation.chunks import Chunk, ChunkValues, first_points, merge
from szoht.result import Result, Status
from szoht.run.ask_tell import AskTell
from szoht.run.loop import loop
from szoht.run.resume import rebuild
from szoht.store import Fault, Recorded, Settings, Sitting, Store
from szoht.store.fingerprint import describe
from szoht.types import Sample, Vector

__all__ = ["Point", "PointId", "Reply", "Told", "answer", "begin", "replay", "waiting"]

WAIT_SECONDS = 30.0
"""How long to wait for another process that is just telling the same run something."""

MOST_POINTS = 10**7
"""Of a plan that is evaluated elsewhere: each of them is listed by itself."""


class PointId(NamedTuple):
    """The name of a point, ``run:round:point``: the place in a plan, and of the plan in a run.

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
        """Return the name that a text spells."""
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
    """The value of a point; NaN, with the reason, if it could not be evaluated."""

    id: PointId
    value: float
    error: str = ""


@dataclass
class Told:
    """What became of replies: how many were new, known already, or contradicted what is known."""

    new: int = 0
    repeated: int = 0
    failed: int = 0
    contradictions: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    result: Result | None = None


class _Pending(Exception):  # noqa: N818  (control flow)
    """A plan has points without a value."""

    def __init__(self, plan: Plan, known: Iterable[ChunkValues]) -> None:
        self.plan = plan
        self.known = known
        super().__init__()

    @property
    def missing(self) -> list[int]:
        """The places in the plan of the points without a value."""
        values = _told(self.plan, self.known)
        return [place for place in range(self.plan.n_points) if place not in values]


class _Elsewhere:
    """Answers plans with what it is told, and says which points are missing."""

    def __init__(self, sitting: Sitting, replies: Iterable[Reply], told: Told, *, skip: bool):
        self._sitting = sitting
        self._told = told
        self._skip = skip
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
        answers, firsts = list(known.values()), first_points(plan)
        for reply in self.review(plan, known):
            if (new := self._taken(reply, _piece(firsts, reply.id.point))) is not None:
                answers.append(new)
                on_chunk(new)
        if sum(answer.chunk.n_points for answer in answers) < plan.n_points:
            raise _Pending(plan, answers)
        return merge(plan, answers)

    def review(self, plan: Plan, known: Mapping[Chunk, ChunkValues]) -> list[Reply]:
        """Compare replies with what is known; return the first to each point that is not."""
        values, new = _told(plan, known.values()), []
        for reply in self._replies.pop(self._sitting.round, []):
            point = reply.id.point
            if point >= plan.n_points:
                self._told.unknown.append(str(reply.id))
            elif point in values:
                self._compare(reply, values[point])
            else:
                new.append(reply)
                if math.isfinite(reply.value):
                    values[point] = reply.value
        return new

    def finish(self) -> None:
        """Count the replies to rounds that have not come."""
        left = [str(reply.id) for replies in self._replies.values() for reply in replies]
        self._told.unknown += left

    def _compare(self, reply: Reply, value: float) -> None:
        if reply.value == value or math.isnan(reply.value):
            self._told.repeated += 1
        else:
            self._told.contradictions.append(
                f"{reply.id} is {value!r} already; {reply.value!r} is ignored"
            )

    def _taken(self, reply: Reply, piece: Chunk) -> ChunkValues | None:
        """Return the answer to be stored, None if the point is to be asked again."""
        if math.isfinite(reply.value):
            self._told.new += 1
            return ChunkValues(chunk=piece, values=np.array([[reply.value]]))
        self._told.failed += 1
        reason = reply.error or f"the value is {reply.value}"
        self._sitting.report(Fault(reply.id.point, 1, reason))
        return ChunkValues(chunk=piece, values=np.array([[math.nan]])) if self._skip else None


def begin(store: Store, run: AskTell, x0: Vector, *, limits: dict[str, Any]) -> str:
    """Start a run whose points are evaluated elsewhere, and return its name."""
    settings = Settings(
        algorithm=describe(run.algorithm),
        method=run.algorithm,
        x0=x0,
        seed=run.seed,
        limits=limits,
        stop=None,
        stop_description=describe(None),
        on_error=run.on_error,
        n_samples=None,
        stochastic=False,
    )
    with store.create(settings) as sitting:
        return sitting.name


def replay(store: Store, run: str) -> AskTell:
    """Return a run as far as its answers reach, without evaluating anything."""
    again, _ = _replayed(store.look(run))
    return again


def waiting(store: Store, run: str) -> list[Point]:
    """Return the points of a run that wait for a value; none if it has ended."""
    sitting = store.look(run)
    _, pending = _replayed(sitting)
    if pending is None:
        return []
    plan = pending.plan
    if plan.n_points > MOST_POINTS:
        raise RunMismatchError(
            f"run {sitting.name} asks for {plan.n_points:,} points at once, and no more than "
            f"{MOST_POINTS:,} can be listed."
        )
    points, firsts = [], first_points(plan)
    for place in pending.missing:
        piece = _piece(firsts, place)
        query = plan.queries[piece.query]
        where = PointId(sitting.name, sitting.round, place)
        points.append(Point(where, query.points(piece.start, piece.stop)[0], query.sample))
    return points


def answer(store: Store, run: str, replies: Iterable[Reply]) -> Told:
    """Take the values of points in any order, and go on as far as they reach.

    The first value of a point counts; others are reported. A point that could not be evaluated
    waits again, unless the run was made with ``on_error="skip"``.
    """
    told = Told()
    with store.sit(run, wait=WAIT_SECONDS) as sitting:
        again = _again(sitting)
        elsewhere = _Elsewhere(sitting, replies, told, skip=again.on_error == "skip")
        recorded = Recorded(elsewhere, sitting, again, review=elsewhere.review)
        _drive(again, recorded)
        elsewhere.finish()
        if again.done:
            told.result = again.result
        recorded.close(otherwise=Status.RUNNING)
    return told


def _replayed(sitting: Sitting) -> tuple[AskTell, _Pending | None]:
    again = _again(sitting)
    elsewhere = _Elsewhere(sitting, (), Told(), skip=False)
    return again, _drive(again, Recorded(elsewhere, sitting, again, look=True))


def _again(sitting: Sitting) -> AskTell:
    sitting.settings = sitting.settings.checked()
    return rebuild(sitting.settings)


def _drive(again: AskTell, recorded: Recorded) -> _Pending | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # replayed with every call
        try:
            loop(again, recorded)
        except _Pending as pending:
            return pending
        except SzohtError:
            raise
        except Exception as error:  # nothing of the user's is called here
            raise RunMismatchError(
                f"run {recorded.name} cannot be replayed from what is stored of it: {error!r}."
            ) from error
    return None


def _piece(firsts: list[int], place: int) -> Chunk:
    """Return the piece that is one point of a plan, whose queries begin at ``firsts``."""
    query = bisect_right(firsts, place) - 1
    return Chunk(query, place - firsts[query], place - firsts[query] + 1)


def _told(plan: Plan, answers: Iterable[ChunkValues]) -> dict[int, float]:
    """Return the values that are known, by the place of their points in the plan."""
    firsts = first_points(plan)
    return {
        firsts[known.chunk.query] + known.chunk.start + i: float(value)
        for known in answers
        for i, value in enumerate(known.values[:, 0])
    }
