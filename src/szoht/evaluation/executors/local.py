"""Workers in this process: the calling thread, and threads that take tasks from a queue."""

import threading
from abc import abstractmethod
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from szoht.core.objective import Objective
from szoht.core.query import Plan
from szoht.core.validation import check_integer
from szoht.errors import ExecutorError
from szoht.evaluation.chunks import ChunkValues
from szoht.evaluation.executors.base import TaskFuture, WorkerLostError, WorkerPool
from szoht.evaluation.executors.wire import Task, WorkerContext
from szoht.evaluation.program_folders import kill_programs, task_scope

__all__ = ["LocalPool", "LocalWorker", "Serial", "Threads"]


@dataclass(frozen=True)
class Serial:
    """Evaluates chunk after chunk in the calling thread; the measure of all other executors."""

    def open(self, objective: Objective) -> "SerialPool":
        """Return a pool of one."""
        return SerialPool(objective)


@dataclass(frozen=True)
class Threads:
    """Evaluates on ``n`` threads: for functions that wait for something, or release the lock.

    Nothing is pickled, so any function will do. Python cannot end a thread: one that hangs past
    the timeout is abandoned, a fresh thread takes its place, and a late answer is ignored. A
    `Program` that it waits for is killed.

    Parameters
    ----------
    n : int
        How many threads, >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> import szoht
    >>> result = szoht.minimize(
    ...     lambda x: float(((x - 1) ** 2).sum()),
    ...     np.zeros(20),
    ...     k=3,
    ...     method="szoht",
    ...     executor=szoht.executors.Threads(2),
    ...     max_queries=200,
    ...     rng=0,
    ... )
    >>> result.support.size
    3
    """

    n: int

    def __post_init__(self) -> None:
        check_integer("n", self.n, low=1)

    def open(self, objective: Objective) -> "ThreadPool":
        """Start the threads."""
        return ThreadPool(objective, self.n)


class SerialPool(WorkerPool):
    """The calling thread: a task is evaluated when it is submitted."""

    queue_depth = 1
    task_seconds = 0.0

    def __init__(self, objective: Objective) -> None:
        super().__init__(objective)
        self._context = WorkerContext(objective)

    def submit(self, task: Task) -> "Future[tuple[ChunkValues, ...]]":
        """Evaluate the task."""
        self._context.set_plan(task.plan_number, task.plan)
        future: Future[tuple[ChunkValues, ...]] = Future()
        future.set_result(tuple(self._context.evaluate(chunk) for chunk in task.chunks))
        return future


class LocalPool(WorkerPool):
    """Threads that take tasks from one queue, each for itself or for a process of its own."""

    task_seconds = 0.05

    def __init__(self, objective: Objective, n: int, *, elsewhere: bool = False) -> None:
        super().__init__(objective, elsewhere=elsewhere)
        self.size = n
        self.closed = False
        self.changed = threading.Condition()
        self._queue: deque[tuple[Task, TaskFuture]] = deque()
        self._idle: set[LocalWorker] = set()
        self._places: dict[int, LocalWorker] = {}
        self._failure: ExecutorError | None = None
        self._workers: set[LocalWorker] = set()
        with self.changed:  # they wait until all are there
            self._workers |= {self.start_worker() for _ in range(n)}

    @abstractmethod
    def start_worker(self) -> "LocalWorker":
        """Start another worker."""

    def set_plan(self, plan: Plan) -> None:
        """Make ``plan`` the one that the tasks to come are about."""
        super().set_plan(plan)
        self._places.clear()

    def submit(self, task: Task) -> TaskFuture:
        """Queue the task."""
        future = TaskFuture()
        with self.changed:
            if self._failure is not None:
                raise self._failure
            self._queue.append((task, future))
            self.changed.notify_all()
        return future

    def next_task(self, worker: "LocalWorker") -> tuple[Task, TaskFuture] | None:
        """Return a task for the worker, or None if it is no longer needed."""
        with self.changed:
            self._idle.add(worker)
            try:
                while not self.closed and worker in self._workers:
                    found = self._pop(worker)
                    if found is not None:
                        return found
                    self.changed.wait()
            finally:
                self._idle.discard(worker)
        return None

    def fail(self, error: ExecutorError) -> None:
        """Give up: nothing can be evaluated here."""
        with self.changed:
            self._failure = error
            waiting, self._queue = self._queue, deque()
        for _, future in waiting:
            if future.begin():
                future.set_exception(error)

    def replace(self, worker: "LocalWorker") -> None:
        """Start another worker in place of one that is abandoned."""
        with self.changed:
            self._workers.discard(worker)
            self._workers.add(self.start_worker())

    def kill(self, task: Task, future: "Future[Any]") -> None:
        """End the worker of the task; another one takes its place."""
        if future.cancel():
            return
        for worker in list(self._workers):
            if worker.task is task:
                worker.kill(task)

    def close(self) -> None:
        """End all workers, those that hang in the function as far as that is possible."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
            idle = set(self._idle)
        for worker in self._workers - idle:
            worker.end()
        for worker in self._workers:
            worker.join()

    def _pop(self, worker: "LocalWorker") -> tuple[Task, TaskFuture] | None:
        for i, (task, future) in enumerate(self._queue):
            failed_here = task.after is not None and self._places.get(task.after) is worker
            if failed_here and len(self._idle) > 1:
                continue  # another one will take it
            del self._queue[i]
            if not future.begin():  # cancelled
                return self._pop(worker)
            self._places[task.number] = worker
            worker.task = task
            return task, future
        return None


class LocalWorker(threading.Thread):
    """One worker of a `LocalPool`; a daemon, so that Python can end although a function hangs."""

    def __init__(self, pool: LocalPool) -> None:
        super().__init__(daemon=True)
        self.pool = pool
        self.task: Task | None = None
        self.start()

    def run(self) -> None:
        """Evaluate tasks until the pool is closed."""
        while self.prepare() and (found := self.pool.next_task(self)) is not None:
            task, future = found
            try:
                self.evaluate(task, future)
            except WorkerLostError as error:
                future.set_exception(error)
            else:
                future.set_result(tuple(future.parts))
            self.task = None
        self.finish()

    def prepare(self) -> bool:
        """Get ready for a task; tell whether that was possible."""
        return True

    @abstractmethod
    def evaluate(self, task: Task, future: TaskFuture) -> None:
        """Evaluate a task."""

    @abstractmethod
    def kill(self, task: Task) -> None:
        """End a task that takes too long."""

    @abstractmethod
    def end(self) -> None:
        """End whatever the worker is at, for good."""

    def finish(self) -> None:
        """Clean up."""


class ThreadPool(LocalPool):
    """Threads that we started; those that hang are replaced."""

    objective: Objective

    def start_worker(self) -> "ThreadWorker":
        """Start a thread."""
        return ThreadWorker(self, self.objective)


class ThreadWorker(LocalWorker):
    """A thread that evaluates by itself."""

    def __init__(self, pool: LocalPool, objective: Objective) -> None:
        self._context = WorkerContext(objective)
        self._abandoned = False
        super().__init__(pool)

    def evaluate(self, task: Task, future: TaskFuture) -> None:
        """Evaluate a task here."""
        try:
            self._context.set_plan(task.plan_number, task.plan)
            with task_scope(task.run, task.number):
                for chunk in task.chunks:
                    if not self._abandoned:
                        future.advance([self._context.evaluate(chunk)])
        except BaseException as error:
            reason = f"the function ended its thread with {error!r}"
            raise WorkerLostError(reason, parts=future.parts) from error

    def kill(self, task: Task) -> None:
        """Abandon the thread, and end the program that it waits for."""
        self._abandoned = True
        kill_programs(task.run, task.number)
        self.pool.replace(self)

    def end(self) -> None:
        """Abandon the thread, and end the program that it waits for."""
        task, self._abandoned = self.task, True
        if task is not None:
            kill_programs(task.run, task.number)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread, unless it is left to itself."""
        if not self._abandoned:
            super().join(timeout)
