"""An oracle that replays a stored run first: answers are durable before they are used."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn, Protocol, Self

from szoht.core.algorithm import Measured, State
from szoht.core.clock import Clock
from szoht.core.query import Answer, Plan
from szoht.errors import RunMismatchError, StoreWriteError
from szoht.evaluation.chunks import Chunk, ChunkValues, first_point_indices, merge
from szoht.evaluation.oracle import PointFailure
from szoht.result import Progress, Status
from szoht.store.parts import Part
from szoht.store.rounds import StoredRound
from szoht.store.snapshots import take_snapshot
from szoht.store.stored_run import Fault, ReplayLeftOff, StoredRun

__all__ = ["PlanChanged", "ReplayOracle", "StoredEnding"]

SNAPSHOT_SECONDS = 1.0
SNAPSHOT_TIME_SHARE = 0.01
"""Snapshots are at least so far apart, and take no larger share of the time."""

FINAL_ATTEMPT = 0
"""The attempt of a fault that was not retried, so that ``on_error`` decided."""

ANOTHER_ARITHMETIC = "here other points follow from the same values"
OWN_ERROR = "an error of the solver ended it"


class StoredEnding(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """The stored run ended here, for a reason that is not among its answers."""

    def __init__(self, status: Status) -> None:
        self.status = status
        super().__init__(status.text)


class PlanChanged(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """The run goes on from its evaluations, so that it has another plan now."""


class Evaluator(Protocol):
    """What evaluates new points: an `Oracle`."""

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Chunk, ChunkValues],
        on_chunk: Callable[[ChunkValues], None],
        one_by_one: bool,
    ) -> Sequence[Answer]:
        """Evaluate what is not known, and pass each chunk to ``on_chunk`` before it is used."""
        ...


class Run(Protocol):
    """The run that is replayed: an `AskTell`."""

    @property
    def clock(self) -> Clock:
        """The stopwatch of the run."""
        ...

    @property
    def state(self) -> State:
        """The algorithm's state."""
        ...

    @property
    def progress(self) -> Progress:
        """The progress of the run."""
        ...

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        ...

    @property
    def status(self) -> Status:
        """Why the run has ended, or RUNNING."""
        ...

    @property
    def solution(self) -> Measured:
        """The answer so far, in the solver's numbers."""
        ...

    def continue_from(
        self, part: Part, rounds: Iterable[StoredRound], aside: Iterable[StoredRound]
    ) -> None:
        """Go on from the evaluations of some rounds."""
        ...

    def load(
        self,
        rounds: Iterable[StoredRound],
        aside: Iterable[StoredRound],
        solution: Measured | None,
    ) -> None:
        """Take the evaluations of a run that has ended, and its answer."""
        ...


class ReplayOracle:
    """Answers plans from a stored run as far as it reaches, and through ``oracle`` from there on.

    Where the run asks for other points than those stored, by more than rounding, it goes on from
    its evaluations: a new part of the run begins. The clock is frozen from the moment at which a
    round is complete until the next one begins, so that decisions in between depend on a stored
    time. Nothing is written to a run that is not locked. As a context manager it stores at the end
    how the run ended, and releases the lock.

    Parameters
    ----------
    oracle : Evaluator
        Evaluates what is not stored.
    stored : StoredRun
        The run as it is stored.
    run : AskTell
        The run that asks, from its beginning.
    on_replayed : callable, optional
        Called with the plan and the answers of each round that comes from the store.
    """

    def __init__(
        self,
        oracle: Evaluator,
        stored: StoredRun,
        run: Run,
        *,
        on_replayed: Callable[[Plan, Mapping[Chunk, ChunkValues]], object] | None = None,
    ) -> None:
        self.evaluated: Plan | None = None
        self._oracle = oracle
        self._stored = stored
        self._run = run
        self._on_replayed = on_replayed
        self._part: Part | None = None
        self._has_begun = self._is_live = False
        self._first_indices = [0]
        self._last_snapshot = (time.monotonic(), 0.0, 0)
        stored.clock = run.clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __call__(self, plan: Plan, *, on_chunk: Callable[[ChunkValues], None]) -> Sequence[Answer]:
        """Return the answers to a plan once all of them are on the disk.

        ``on_chunk`` is called with each part of them, stored or new; ``evaluated`` is then the plan
        with the points as they were evaluated, which may differ from it by rounding.
        """
        stored, clock = self._stored, self._run.clock
        self._begin()
        if self._is_live:
            self._snapshot_if_due()
        clock.unfreeze()
        try:
            known, seconds, self.evaluated = stored.start_round(plan)
        except ReplayLeftOff:
            self._leave(ANOTHER_ARITHMETIC)
        for part in known.values():
            on_chunk(part)
        if seconds is None and not self._is_live:
            self._start_evaluating()
        if seconds is None:
            answers = self._evaluate(plan, known, on_chunk)
            seconds = clock.seconds
            if stored.locked:
                stored.flush(seconds)
        else:  # points without a value were left out when the round was complete
            answers = self._merge(plan, known)
            if self._on_replayed is not None:
                self._on_replayed(plan, known)
        clock.freeze(seconds)
        return answers

    def goes_on_after_error(self) -> bool:
        """Tell whether a replay that an error of the solver has ended goes on from here.

        It does where the stored run may go on; an error in new steps is one of this version.
        """
        if self._is_live or not self._run.done or self._run.status is not Status.INTERNAL_ERROR:
            return False
        with suppress(PlanChanged, StoredEnding):
            self._leave(OWN_ERROR)
        return not self._run.done

    def log_fault(
        self, chunk: Chunk, attempt: int, reason: str, cause: BaseException | None
    ) -> None:
        """Store an attempt that failed; attempt 0 is the final one."""
        point = self._first_indices[chunk.query] + chunk.start
        self._stored.log_fault(Fault(point, attempt, reason, getattr(cause, "stderr", "")))

    def close(self, otherwise: Status = Status.INTERRUPTED) -> None:
        """Store how the run ended, or ``otherwise``, and release the lock."""
        run, stored = self._run, self._stored
        try:
            if self._is_live:
                status = run.status if run.done else otherwise
                ended = run.solution if run.done else None
                stored.set_snapshot(take_snapshot(stored.round, run.state, run.progress, ended))
                with suppress(StoreWriteError):  # answers are durable already, or lost
                    stored.finish(status)
        finally:
            stored.close()

    def _begin(self) -> None:
        """Go to the newest part of a run that has several."""
        if self._has_begun:
            return
        self._has_begun = True
        self._part = self._stored.part
        if self._part is not None:
            self._continue(self._part)

    def _continue(self, part: Part) -> NoReturn:
        """Let the run go on from what was evaluated before a part of it."""
        stored = self._stored
        self._run.continue_from(part, stored.rounds.read(0, part.round), self._set_aside())
        stored.round = part.round - 1
        raise PlanChanged

    def _set_aside(self) -> Iterable[StoredRound]:
        return self._stored.rounds.read(self._stored.rounds.lowest, 0)

    @property
    def _is_over(self) -> bool:
        return not (self._stored.status.goes_on or self._stored.limits_changed)

    def _leave(self, reason: str) -> NoReturn:
        """Go on from all evaluations where the replay has left off, or end as the run has ended."""
        stored, run = self._stored, self._run
        last = stored.rounds.last + 1
        if self._is_over or not stored.locked:
            answer = None if stored.snapshot is None else stored.snapshot.entries["solution"]
            run.load(stored.rounds.read(0, last), self._set_aside(), answer)
            # of a run that goes on elsewhere this is all that is known here
            ended = stored.status is not Status.RUNNING
            raise StoredEnding(stored.status if ended else Status.INTERRUPTED)
        x, iteration = run.state.x, run.progress.iteration
        snapshot = stored.snapshot
        if snapshot is not None and snapshot.entries["iteration"] > iteration:
            # the stored run had come farther than its replay: nothing of that is given up
            x, iteration = snapshot.entries["x"], snapshot.entries["iteration"]
        number = 1 if self._part is None else self._part.number + 1
        queries = run.progress.counts.queries
        self._part = Part(number, last, x, iteration, queries, reason)
        self._start_evaluating()
        stored.begin_part(self._part)
        self._continue(self._part)

    def _evaluate(
        self,
        plan: Plan,
        known: Mapping[Chunk, ChunkValues],
        on_chunk: Callable[[ChunkValues], None],
    ) -> Sequence[Answer]:
        self._first_indices = first_point_indices(plan)

        def keep(answer: ChunkValues) -> None:
            if answer.error is not None:
                self.log_fault(answer.chunk, FINAL_ATTEMPT, answer.error, answer.cause)
            self._stored.append(answer)
            on_chunk(answer)

        try:
            return self._oracle(plan, known=known, on_chunk=keep, one_by_one=True)
        except PointFailure as failed:
            stderr = getattr(failed.cause, "stderr", "")
            self._stored.log_fault(Fault(failed.index, FINAL_ATTEMPT, failed.reason, stderr))
            raise

    def _merge(self, plan: Plan, known: Mapping[Chunk, ChunkValues]) -> Sequence[Answer]:
        try:
            return merge(plan, known.values())
        except ValueError as error:
            raise RunMismatchError(
                f"the answers to round {self._stored.round} of run {self._stored.name} do not have "
                f"as many outputs as the function: {error}."
            ) from error

    def _start_evaluating(self) -> None:
        """Pass from stored answers to new ones."""
        stored = self._stored
        if self._is_over:
            raise StoredEnding(stored.status)
        self._is_live = True
        if stored.locked:
            if stored.limits_changed or stored.status is not Status.RUNNING:
                stored.reopen()
            self._run.clock.set(max(self._run.clock.seconds, stored.seconds_before))

    def _snapshot_if_due(self) -> None:
        last, cost, iteration = self._last_snapshot
        start = time.monotonic()
        now = self._run.state.iteration
        if now == iteration or start - last < max(SNAPSHOT_SECONDS, cost / SNAPSHOT_TIME_SHARE):
            return
        self._stored.set_snapshot(
            take_snapshot(self._stored.round, self._run.state, self._run.progress)
        )
        end = time.monotonic()
        self._last_snapshot = (end, end - start, now)
