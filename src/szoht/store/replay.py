"""An oracle that replays a stored run first: answers are durable before they are used."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol, Self

from szoht.core.algorithm import State
from szoht.core.clock import Clock
from szoht.core.query import Answer, Plan
from szoht.errors import RunMismatchError, StoreWriteError
from szoht.evaluation.chunks import Chunk, ChunkValues, first_points, merge
from szoht.evaluation.oracle import PointFailure
from szoht.result import Progress, Result, Status
from szoht.store.snapshots import NOT_COMPARED, take_snapshot
from szoht.store.stored_run import Fault, StoredRun

__all__ = ["ReplayOracle", "StoredEnding"]

SNAPSHOT_SECONDS = 1.0
SNAPSHOT_TIME_SHARE = 0.01
"""Snapshots are at least so far apart, and take no larger share of the time."""

FINAL = frozenset(Status) - {Status.RUNNING, Status.INTERRUPTED, Status.FAILED, Status.STORE}
"""Endings after which there is nothing to resume, unless the limits change."""

FINAL_ATTEMPT = 0
"""The attempt of a fault that was not retried, so that ``on_error`` decided."""


class StoredEnding(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """The stored run ended here, for a reason that is not among its answers."""

    def __init__(self, status: Status) -> None:
        self.status = status
        super().__init__(status.text)


class Evaluator(Protocol):
    """What evaluates new points: an `Oracle`."""

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Chunk, ChunkValues],
        on_chunk: Callable[[ChunkValues], None],
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
    def result(self) -> Result:
        """The outcome so far."""
        ...


class ReplayOracle:
    """Answers plans from a stored run as far as it reaches, and through ``oracle`` from there on.

    The clock is frozen from the moment at which a round is complete until the next one begins, so
    that decisions in between depend on a stored time. Nothing is written to a run that is not
    locked. As a context manager it stores at the end how the run ended, and releases the lock.

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
        self._oracle = oracle
        self._stored = stored
        self._run = run
        self._on_replayed = on_replayed
        self._is_live = False
        self._first_indices = [0]
        self._last_snapshot = (time.monotonic(), 0.0, 0)
        stored.clock = run.clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __call__(self, plan: Plan) -> Sequence[Answer]:
        """Return the answers to a plan once all of them are on the disk."""
        stored, clock = self._stored, self._run.clock
        if self._is_live:
            self._snapshot_if_due()
        else:
            self._compare_snapshot()
        clock.unfreeze()
        known, seconds = stored.start_round(plan)
        if seconds is None and not self._is_live:
            self._start_evaluating()
        if seconds is None:
            answers = self._evaluate(plan, known)
            seconds = clock.seconds
            if stored.locked:
                stored.flush(seconds)
        else:  # points without a value were left out when the round was complete
            answers = self._merge(plan, known)
            if self._on_replayed is not None:
                self._on_replayed(plan, known)
        clock.freeze(seconds)
        return answers

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
                status = run.result.status if run.done else otherwise
                round_ = stored.round if status in FINAL else NOT_COMPARED
                stored.set_snapshot(take_snapshot(round_, run.state, run.progress))
                with suppress(StoreWriteError):  # answers are durable already, or lost
                    stored.finish(status)
            elif run.done:
                self._compare_snapshot()
        finally:
            stored.close()

    def _evaluate(self, plan: Plan, known: Mapping[Chunk, ChunkValues]) -> Sequence[Answer]:
        self._first_indices = first_points(plan)

        def on_chunk(answer: ChunkValues) -> None:
            if answer.error is not None:
                self.log_fault(answer.chunk, FINAL_ATTEMPT, answer.error, answer.cause)
            self._stored.append(answer)

        try:
            return self._oracle(plan, known=known, on_chunk=on_chunk)
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
        if stored.status in FINAL and not stored.limits_changed:
            raise StoredEnding(stored.status)
        self._is_live = True
        if stored.locked:
            if stored.limits_changed or stored.status is not Status.RUNNING:
                stored.reopen()
            self._run.clock.set(max(self._run.clock.seconds, stored.seconds_before))

    def _compare_snapshot(self) -> None:
        """Raise if the run has come to another state than the one stored after this round."""
        stored, run = self._stored, self._run
        snapshot = stored.snapshot
        if snapshot is None or snapshot.round != stored.round or stored.limits_changed:
            return
        if not snapshot.agrees(take_snapshot(stored.round, run.state, run.progress)):
            raise RunMismatchError(
                f"run {stored.name} has come to another state after round {stored.round} than the "
                "one stored. Another NumPy or another processor may round differently: resume the "
                "run on the machine where it began."
            )

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
