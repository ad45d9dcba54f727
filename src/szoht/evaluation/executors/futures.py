"""Any `concurrent.futures.Executor`: the workers of somebody else."""

import os
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass

from szoht.core.objective import Objective
from szoht.core.validation import check_integer
from szoht.errors import ExecutorError, ParameterTypeError
from szoht.evaluation.chunks import ChunkValues
from szoht.evaluation.executors.base import WorkerPool
from szoht.evaluation.executors.wire import Task
from szoht.evaluation.program_folders import cancel_programs, die_with_parent

__all__ = ["Futures"]

SHUTDOWN_SECONDS = 1.0
"""How long cancelled tasks may take to get out of the pool."""


@dataclass(frozen=True, eq=False)
class Futures:
    """Evaluates on a `concurrent.futures.Executor`, which stays yours: it is not closed.

    ``executor=pool`` is short for ``executor=Futures(pool)``. Such a pool cannot be told anything
    in advance, so function and base point travel with every task, and a dead or hanging worker
    cannot be replaced; `Processes` does both better.

    Parameters
    ----------
    pool : concurrent.futures.Executor
        Threads, processes, MPI's, or any other.
    n : int, optional
        How many calls it runs at a time; by default what the pool itself says, or else the number
        of processors.
    """

    pool: Executor
    n: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pool, Executor):
            raise ParameterTypeError(
                f"`pool` must be a concurrent.futures.Executor; got {self.pool!r}."
            )
        if self.n is not None:
            check_integer("n", self.n, low=1)

    def open(self, objective: Objective) -> "FuturesPool":
        """Return the pool's workers."""
        size = self.n or getattr(self.pool, "_max_workers", None) or os.cpu_count() or 1
        return FuturesPool(self.pool, objective, size)


class FuturesPool(WorkerPool):
    """The workers of a pool that was passed to us."""

    def __init__(self, pool: Executor, objective: Objective, size: int) -> None:
        super().__init__(objective, elsewhere=not isinstance(pool, ThreadPoolExecutor))
        self.size = size
        self._pool = pool
        self._unfinished: set[Future[tuple[ChunkValues, ...]]] = set()

    def submit(self, task: Task) -> "Future[tuple[ChunkValues, ...]]":
        """Submit the task, everything included."""
        call = task if isinstance(task.objective, Objective) else _ProcessTask(task)
        try:
            future = self._pool.submit(call)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        except RuntimeError as error:
            raise ExecutorError(f"The executor takes no work: {error}.") from error
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)
        return future

    def close(self) -> None:
        """Cancel what is going on; the workers are not ours to end."""
        pending = list(self._unfinished)
        running = [future for future in pending if not future.cancel()]
        cancel_programs(self.run, running)
        wait_for(set(pending) - set(running), timeout=SHUTDOWN_SECONDS)


@dataclass(frozen=True)
class _ProcessTask:
    task: Task

    def __call__(self) -> tuple[ChunkValues, ...]:
        die_with_parent()
        return self.task()
