"""Submits chunks to a pool, retries what is lost, and knows when enough has come in."""

import math
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

from szoht.core.directions import Offsets, prefetch
from szoht.core.objective import Objective
from szoht.core.query import Plan
from szoht.errors import AnswerShapeError, ExecutorError
from szoht.evaluation.chunks import Chunk, ChunkValues
from szoht.evaluation.evaluate import failed_chunk
from szoht.evaluation.executors.base import TaskFuture, WorkerLostError, WorkerPool
from szoht.evaluation.executors.completion import CompletionRule
from szoht.evaluation.executors.wire import Task
from szoht.result import Faults

__all__ = ["OnRetry", "PlanExecution", "Scheduler"]

OnRetry: TypeAlias = Callable[[Chunk, int, str, Exception | None], None]
"""Told about every attempt at a chunk that failed: which one it was, why, and what was raised."""

MIN_TASK_SECONDS = 0.002
"""Less work than this is not worth a task of its own."""

TAIL_SHARE = 3
"""A task is at most this fraction of a worker's share of what is left, to end evenly."""


@dataclass(frozen=True, eq=False)
class _SubmittedTask:
    """A task that was submitted, and when."""

    task: Task
    future: "Future[tuple[ChunkValues, ...]]"
    submitted: float

    def deadline(self, timeout: float, now: float) -> float:
        """Return when the task has taken too long: ``timeout`` is the time of one chunk."""
        if isinstance(self.future, TaskFuture):
            return timeout + (now if self.future.since is None else self.future.since)
        return timeout * len(self.task.chunks) + self.submitted

    @property
    def seconds(self) -> float:
        """How long the task has been evaluated, or at most how long."""
        began = self.future.began if isinstance(self.future, TaskFuture) else None
        return time.monotonic() - (self.submitted if began is None else began)


class Scheduler:
    """Has chunks evaluated by a pool, whatever happens to its workers.

    Parameters
    ----------
    pool : WorkerPool
        The workers.
    objective : Objective
        What they evaluate.
    timeout : float, optional
        Seconds that one chunk may take.
    retries : int
        How often a chunk is retried, elsewhere, after its worker died, hung or raised.
    min_fraction : float, optional
        The share of a query's directions that is enough.
    """

    def __init__(
        self,
        pool: WorkerPool,
        objective: Objective,
        *,
        timeout: float | None = None,
        retries: int = 0,
        min_fraction: float | None = None,
    ) -> None:
        self.pool = pool
        self.objective = objective
        self.timeout = timeout
        self.retries = retries
        self.min_fraction = min_fraction
        self.on_retry: OnRetry | None = None
        self.has_answered = False
        self.numbers = count()
        self.finished: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.abandoned: dict[int, _SubmittedTask] = {}
        self._faults = Faults()
        self._seconds_per_chunk = math.inf

    @property
    def faults(self) -> Faults:
        """What went wrong so far."""
        return replace(self._faults, died=self._faults.died + self.pool.n_lost_workers())

    def execute(self, plan: Plan, chunks: Sequence[Chunk]) -> "PlanExecution":
        """Return the values of the chunks as they come in, until all or enough of them have."""
        return PlanExecution(self, plan, chunks)

    def count_fault(self, kind: str, n: int = 1) -> None:
        """Count a fault."""
        self._faults = replace(self._faults, **{kind: getattr(self._faults, kind) + n})

    def observe_duration(self, running: _SubmittedTask) -> None:
        """Learn how long a chunk takes from a task that has ended."""
        self._seconds_per_chunk = running.seconds / len(running.task.chunks)

    def batch_size(self, n_left: int) -> int:
        """Return how many chunks make a task: one, unless they are quick."""
        if self.min_fraction is not None:
            return 1  # nothing may wait behind a straggler
        seconds = max(self._seconds_per_chunk, 1e-9)
        most, least = (
            int(min(work / seconds, n_left)) for work in (self.pool.task_seconds, MIN_TASK_SECONDS)
        )
        return max(1, min(most, max(least, n_left // (TAIL_SHARE * self.pool.size))))


class PlanExecution:
    """The work on one plan: yields values; ``n_issued`` counts the points submitted so far."""

    def __init__(self, scheduler: Scheduler, plan: Plan, chunks: Sequence[Chunk]) -> None:
        self._scheduler = scheduler
        self._pool = scheduler.pool
        self._plan = plan
        self._todo = deque(chunks)
        self._retries: deque[tuple[Chunk, int]] = deque()
        self._attempts: dict[Chunk, int] = {}
        self._running: dict[int, _SubmittedTask] = {}
        self._rule = CompletionRule(plan, chunks, scheduler.min_fraction)
        self.n_issued = plan.n_points - sum(chunk.n_points for chunk in chunks)

    def __iter__(self) -> Iterator[ChunkValues]:
        try:
            if not self._rule.satisfied:
                self._pool.set_plan(self._plan)
            prefetch = self._prefetch()
            while not self._rule.satisfied:
                self._submit_ready()
                busy = next(prefetch, None) is not None
                for number in self._wait(0.0 if busy else self._patience()):
                    yield from self._collect(number)
                yield from self._kill_overdue()
        except KeyboardInterrupt as stop:
            stop.points_spent = self.n_issued  # type: ignore[attr-defined]
            raise
        self._scheduler.count_fault("left_out", self._rule.n_missing)

    def close(self) -> None:
        """Abandon what is still running."""
        for number, running in self._running.items():
            running.future.cancel()
            self._scheduler.abandoned[number] = running
        self._running = {}

    def _prefetch(self) -> Iterator[Offsets]:
        """Draw the directions, which the estimate will need, while the workers are busy."""
        for query in self._plan.queries:
            if query.directions is not None:
                yield from prefetch(query.directions)

    def _submit_ready(self) -> None:
        """Keep all workers busy: first what must be retried, each chunk by itself."""
        # a task that waits for a worker would lose time that its chunks have
        depth = self._pool.queue_depth if self._scheduler.timeout is None else 1
        slots = depth * self._pool.size - len(self._scheduler.abandoned)
        while len(self._running) < slots and (self._todo or self._retries):
            if self._retries:
                chunk, after = self._retries.popleft()
                self._submit((chunk,), after)
            else:
                n = self._scheduler.batch_size(len(self._todo))
                self._submit(tuple(self._todo.popleft() for _ in range(n)), None)

    def _submit(self, chunks: tuple[Chunk, ...], after: int | None) -> None:
        number, finished = next(self._scheduler.numbers), self._scheduler.finished
        if after is None:
            self.n_issued += sum(chunk.n_points for chunk in chunks)
        task = self._pool.task(number, chunks, after)
        submitted = time.monotonic()
        future = self._pool.submit(task)
        self._running[number] = _SubmittedTask(task, future, submitted)
        future.add_done_callback(lambda _: finished.put(number))

    def _patience(self) -> float | None:
        """Return the seconds until the next task is overdue."""
        timeout = self._scheduler.timeout
        tasks = [*self._running.values(), *self._scheduler.abandoned.values()]
        if timeout is None or not tasks:
            return None
        now = time.monotonic()
        return max(0.0, min(running.deadline(timeout, now) for running in tasks) - now)

    def _wait(self, seconds: float | None) -> list[int]:
        finished = self._scheduler.finished
        try:
            numbers = [finished.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not finished.empty():
            numbers.append(finished.get())
        return numbers

    def _collect(self, number: int) -> Iterator[ChunkValues]:
        """Yield the values of a task that has ended, and retry what is missing."""
        running = self._running.pop(number, None)
        if running is None:
            self._scheduler.abandoned.pop(number, None)
            return
        self._scheduler.observe_duration(running)
        parts, lost = _outcome(running.future)
        yield from self._take(running.task, parts, "died", lost)

    def _kill_overdue(self) -> Iterator[ChunkValues]:
        """End tasks that take too long, and retry their chunks."""
        timeout = self._scheduler.timeout
        if timeout is None:
            return
        now = time.monotonic()
        for tasks in (self._scheduler.abandoned, self._running):
            for number, running in list(tasks.items()):
                if running.deadline(timeout, now) > now or running.future.done():
                    continue
                del tasks[number]
                future = running.future
                parts = tuple(future.parts) if isinstance(future, TaskFuture) else ()
                self._pool.kill(running.task, future)
                if tasks is self._running:
                    lost = WorkerLostError(f"no value came within timeout={timeout:g} seconds")
                    yield from self._take(running.task, parts, "hung", lost)

    def _take(
        self,
        task: Task,
        parts: tuple[ChunkValues, ...],
        kind: str,
        lost: WorkerLostError | None,
    ) -> Iterator[ChunkValues]:
        """Yield what has been evaluated, and retry what has not, or give it up."""
        for part in parts:
            if isinstance(part.cause, AnswerShapeError):
                raise part.cause
            if part.cause is None or not self._retry(
                part.chunk, task, "raised", part.error or "", part.cause
            ):
                yield self._accept(part)
        evaluated = {part.chunk for part in parts}
        rest = [chunk for chunk in task.chunks if chunk not in evaluated]
        if rest:
            lost = lost or WorkerLostError("the worker gave no values")
            yield from self._lose(task, rest, kind, lost)

    def _lose(
        self, task: Task, chunks: list[Chunk], kind: str, lost: WorkerLostError
    ) -> Iterator[ChunkValues]:
        if lost.final or len(chunks) == 1:
            for chunk in chunks:
                if lost.final:
                    self._scheduler.count_fault(kind)
                elif self._retry(chunk, task, kind, str(lost)):
                    continue
                yield self._accept(self._give_up(chunk, str(lost)))
            return
        # which of them is to blame is not known; it will be when each is tried by itself
        self._scheduler.count_fault(kind)
        self._retries.extend((chunk, task.number) for chunk in chunks)

    def _retry(
        self, chunk: Chunk, task: Task, kind: str, reason: str, cause: Exception | None = None
    ) -> bool:
        """Count a failed attempt at a chunk; tell whether it is retried."""
        self._scheduler.count_fault(kind)
        self._attempts[chunk] = self._attempts.get(chunk, 0) + 1
        if self._scheduler.on_retry is not None:
            self._scheduler.on_retry(chunk, self._attempts[chunk], reason, cause)
        if self._attempts[chunk] > self._scheduler.retries:
            return False
        self._retries.append((chunk, task.number))
        return True

    def _give_up(self, chunk: Chunk, reason: str) -> ChunkValues:
        tried = self._attempts.get(chunk, 1)
        often = "" if tried == 1 else f", {tried} times in a row"
        return failed_chunk(chunk, self._scheduler.objective, f"{reason}{often}")

    def _accept(self, part: ChunkValues) -> ChunkValues:
        self._rule.count(part.chunk)
        self._scheduler.has_answered = True
        return part


def _outcome(
    future: "Future[tuple[ChunkValues, ...]]",
) -> tuple[tuple[ChunkValues, ...], WorkerLostError | None]:
    """Return what a task has given, and why it ended early, if it did."""
    try:
        return future.result(), None
    except WorkerLostError as error:
        return error.parts, error
    except ExecutorError:
        raise
    except BrokenExecutor as error:
        raise ExecutorError(
            f"The executor is broken, probably because one of its workers died: {error}. Pass "
            "workers=n instead, so that dead workers can be replaced."
        ) from error
    except CancelledError:
        return (), WorkerLostError("the executor cancelled the task")
    except Exception as error:
        return (), WorkerLostError(f"the executor reported {error!r}")
