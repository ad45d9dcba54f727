"""An oracle that remembers: every answer is durable before it is used, none is asked twice."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from szoht.core.algorithm import State
from szoht.core.clock import Clock
from szoht.core.query import Answer, Plan
from szoht.errors import RunMismatchError, StoreWriteError
from szoht.evaluation.chunks import Chunk, ChunkValues, first_points, merge
from szoht.evaluation.oracle import PointFailure
from szoht.result import Progress, Result, Status
from szoht.store.sitting import NOWHERE, Fault, Sitting
from szoht.store.snapshots import take

__all__ = ["Recorded", "RunOver", "recording"]

SNAPSHOT_SECONDS = 1.0
SNAPSHOT_SHARE = 0.01
"""Snapshots are at least so far apart, and take no larger share of the time."""

FINAL = frozenset(Status) - {Status.RUNNING, Status.INTERRUPTED, Status.FAILED, Status.STORE}
"""Endings after which there is nothing to resume, unless with other limits."""


VERDICT = 0
"""The attempt of a fault that nobody tried to mend any more, so that ``on_error`` decided."""


class RunOver(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """The stored run ended here, for a reason that its answers do not show."""

    def __init__(self, status: Status) -> None:
        self.status = status
        super().__init__(status.text)


class Answering(Protocol):
    """What is recorded: an `Oracle`."""

    def __call__(
        self,
        plan: Plan,
        *,
        known: Mapping[Chunk, ChunkValues],
        on_chunk: Callable[[ChunkValues], None],
    ) -> Sequence[Answer]:
        """Evaluate what is not known, handing over each piece before it is used."""
        ...


class Running(Protocol):
    """What is driven: an `AskTell`."""

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
        """Where the run stands."""
        ...

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        ...

    @property
    def result(self) -> Result:
        """The outcome so far."""
        ...


class Recorded:
    """Answers plans from the store as far as it reaches, and through ``oracle`` from there on.

    The clock stands still from the moment at which a round is complete until the next one begins
    and then makes up for it: what is decided in between depends on a time that is stored.

    ``review`` sees the rounds that come from the store; with ``look`` nothing is ever written.
    """

    def __init__(
        self,
        oracle: Answering,
        sitting: Sitting,
        run: Running,
        *,
        review: Callable[[Plan, Mapping[Chunk, ChunkValues]], object] | None = None,
        look: bool = False,
    ) -> None:
        self.name = sitting.name
        self._review = review
        self._look_only = look
        self._firsts = [0]
        self._oracle = oracle
        self._sitting = sitting
        self._run = run
        self._live = False
        self._seen = (time.monotonic(), 0.0, 0)
        sitting.clock = run.clock

    def __call__(self, plan: Plan) -> Sequence[Answer]:
        """Return the answers to a plan once all of them are on the disk."""
        sitting, clock = self._sitting, self._run.clock
        self._look()
        clock.release()
        known, seconds = sitting.begin(plan)
        if seconds is None and not self._live:
            self._go_live()
        if seconds is None:
            answers = self._answers(plan, known)
            seconds = clock.seconds
            sitting.settle(seconds)
        else:  # whatever is missing was left out when the round was complete
            answers = merge(plan, known.values())
            if self._review is not None:
                self._review(plan, known)
        clock.hold(seconds)
        return answers

    def note(self, piece: Chunk, attempt: int, reason: str, cause: BaseException | None) -> None:
        """Take note of an attempt that failed; attempt 0 is the last word on the piece."""
        place = self._firsts[piece.query] + piece.start
        self._sitting.report(Fault(place, attempt, reason, getattr(cause, "stderr", "")))

    def _answers(self, plan: Plan, known: Mapping[Chunk, ChunkValues]) -> Sequence[Answer]:
        self._firsts = first_points(plan)

        def on_chunk(answer: ChunkValues) -> None:
            if answer.error is not None:
                self.note(answer.chunk, VERDICT, answer.error, answer.cause)
            self._sitting.add(answer)

        try:
            return self._oracle(plan, known=known, on_chunk=on_chunk)
        except PointFailure as failed:
            words = getattr(failed.cause, "stderr", "")
            self._sitting.report(Fault(failed.index, VERDICT, failed.reason, words))
            raise

    def close(self, otherwise: Status = Status.INTERRUPTED) -> None:
        """Write down how the run ended, or ``otherwise``, and let others have it."""
        run, sitting = self._run, self._sitting
        try:
            if self._live:
                status = run.result.status if run.done else otherwise
                told = sitting.round if status in FINAL else NOWHERE
                sitting.keep(take(told, run.state, run.progress))
                with suppress(StoreWriteError):  # answers are durable already, or lost
                    sitting.finish(status)
            elif run.done:
                self._look()
        finally:
            sitting.close()

    def _go_live(self) -> None:
        sitting = self._sitting
        if sitting.status in FINAL and not sitting.extended:
            raise RunOver(sitting.status)
        self._live = True
        if self._look_only:
            return
        if sitting.extended or sitting.status is not Status.RUNNING:
            sitting.go_on()
        self._run.clock.set(max(self._run.clock.seconds, sitting.elapsed))

    def _look(self) -> None:
        """Compare the state with the snapshot of its round, or take a new one if it is time."""
        sitting, run = self._sitting, self._run
        if self._live:
            self._take_if_due()
            return
        stored = sitting.snapshot
        if stored is None or stored.round != sitting.round or sitting.extended:
            return
        if not stored.agrees(take(sitting.round, run.state, run.progress)):
            raise RunMismatchError(
                f"run {self.name} has come to another state after round {sitting.round} than the "
                "one stored. Another NumPy or another processor may round differently: go on with "
                "the run on the machine where it began."
            )

    def _take_if_due(self) -> None:
        last, cost, iteration = self._seen
        start = time.monotonic()
        now = self._run.state.iteration
        if now == iteration or start - last < max(SNAPSHOT_SECONDS, cost / SNAPSHOT_SHARE):
            return
        self._sitting.keep(take(self._sitting.round, self._run.state, self._run.progress))
        end = time.monotonic()
        self._seen = (end, end - start, now)


@contextmanager
def recording(oracle: Answering, sitting: Sitting, run: Running) -> Iterator[Recorded]:
    """Record a run for as long as the block lasts."""
    recorded = Recorded(oracle, sitting, run)
    try:
        yield recorded
    finally:
        recorded.close()
