"""The contract of an executor: a pool of workers for one run, and futures for its tasks."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4

from szoht.core.objective import Objective
from szoht.core.query import Plan
from szoht.evaluation.chunks import Chunk, ChunkValues
from szoht.evaluation.executors.wire import Task, pack, pack_objective
from szoht.evaluation.program_folders import kill_programs

__all__ = ["Executor", "RemoteFuture", "TaskFuture", "WorkerLostError", "WorkerPool"]


@runtime_checkable
class Executor(Protocol):
    """Something that can open a pool of workers for one run."""

    def open(self, objective: Objective) -> "WorkerPool":
        """Return workers for the objective; whoever opens a pool closes it."""
        ...


class WorkerPool(ABC):
    """The workers of one run. Only `submit` must be written; a task is called to be evaluated.

    Parameters
    ----------
    objective : Objective
        What is evaluated.
    elsewhere : bool
        Whether tasks go to other processes, so that they carry the objective packed.

    Attributes
    ----------
    size : int
        How many tasks can be evaluated at the same time.
    queue_depth : int
        How many tasks per worker keep all of them busy.
    task_seconds : float
        Quick chunks are submitted several at a time, about this much work together.
    """

    size = 1
    queue_depth = 2
    task_seconds = 0.5

    def __init__(self, objective: Objective, *, elsewhere: bool = False) -> None:
        self.run = uuid4().hex
        self.objective: Objective | bytes = pack_objective(objective) if elsewhere else objective
        self.plan_number = 0
        self.plan = b""

    def set_plan(self, plan: Plan) -> None:
        """Make ``plan`` the one that the tasks to come are about."""
        self.plan_number += 1
        self.plan = pack(plan)

    def task(self, number: int, chunks: tuple[Chunk, ...], after: int | None) -> Task:
        """Return the task of evaluating some chunks of the plan."""
        return Task(
            run=self.run,
            number=number,
            chunks=chunks,
            after=after,
            plan_number=self.plan_number,
            plan=self.plan,
            objective=self.objective,
        )

    @abstractmethod
    def submit(self, task: Task) -> "Future[tuple[ChunkValues, ...]]":
        """Return the future of ``task()``, evaluated by a worker."""

    def kill(self, task: Task, future: "Future[Any]") -> None:
        """End a task that takes too long, as far as that is possible."""
        if not future.cancel():
            kill_programs(self.run, task.number)

    def n_lost_workers(self) -> int:
        """Return how many workers died although none of their tasks has failed."""
        return 0

    def close(self) -> None:  # noqa: B027  (many pools have nothing to end)
        """End what was opened for the run, and nothing else."""


class TaskFuture(Future[tuple[ChunkValues, ...]]):
    """A future that tells how far its task has come.

    ``began`` is when, None if it has not; ``since`` is when it last made progress, and ``parts``
    is what has been evaluated.
    """

    def __init__(self) -> None:
        super().__init__()
        self.began: float | None = None
        self.since: float | None = None
        self.parts: list[ChunkValues] = []

    def begin(self) -> bool:
        """Start the clock; tell whether the task is still wanted."""
        if not self.set_running_or_notify_cancel():
            return False
        self.began = self.since = time.monotonic()
        return True

    def advance(self, parts: Iterable[ChunkValues]) -> None:
        """Take what has been evaluated."""
        self.parts.extend(parts)
        self.since = time.monotonic()


class RemoteFuture(Future[tuple[ChunkValues, ...]]):
    """The future of a task on a cluster; cancelling it cancels the task there."""

    def __init__(self, cancel_remote: Callable[[], object]) -> None:
        super().__init__()
        self._cancel_remote = cancel_remote

    def cancel(self) -> bool:
        """Cancel the task."""
        self._cancel_remote()
        return super().cancel()

    def settle(self, result: Callable[[], tuple[ChunkValues, ...]]) -> None:
        """Take the outcome of the task, unless it was cancelled."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            self.set_result(result())
        except BaseException as error:
            self.set_exception(error)


class WorkerLostError(Exception):
    """A worker ended before its task did.

    ``parts`` is what it had evaluated until then, as far as that is known; ``final`` means that
    the pool itself has tried again already.
    """

    def __init__(
        self, reason: str, *, parts: Iterable[ChunkValues] = (), final: bool = False
    ) -> None:
        self.parts = tuple(parts)
        self.final = final
        super().__init__(reason)
