"""Worker processes of this machine, told once what to compute, replaced when they die or hang."""

import multiprocessing
import pickle
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from szoht.core.objective import Objective
from szoht.core.validation import check_integer
from szoht.errors import ExecutorError
from szoht.evaluation.chunks import Chunk, ChunkValues
from szoht.evaluation.executors.base import TaskFuture, WorkerLostError
from szoht.evaluation.executors.local import LocalPool, LocalWorker
from szoht.evaluation.executors.wire import Task, WorkerContext, load_objective
from szoht.evaluation.program_folders import die_with_parent

__all__ = ["Processes"]

SHUTDOWN_SECONDS = 1.0
"""How long an idle process may take to end by itself."""

LIVENESS_SECONDS = 0.5
"""Between two looks whether a process from which nothing has come is still there."""

REPORT_SECONDS = 0.01
"""Values that come more quickly than this share a message."""


@dataclass(frozen=True)
class Processes:
    """Evaluates on ``n`` processes of this machine; ``workers=n`` is short for it.

    The processes are spawned afresh, since copying a process that has threads is not safe. So the
    function must be importable from a module (or cloudpickle be installed), and a script must
    start the run below ``if __name__ == "__main__":``.

    Parameters
    ----------
    n : int
        How many processes, >= 1.
    """

    n: int

    def __post_init__(self) -> None:
        check_integer("n", self.n, low=1)

    def open(self, objective: Objective) -> "ProcessPool":
        """Start the processes."""
        return ProcessPool(objective, self.n, elsewhere=True)


class ProcessPool(LocalPool):
    """Processes that we started; those that die or hang are replaced."""

    objective: bytes

    def start_worker(self) -> "ProcessWorker":
        """Start a process."""
        return ProcessWorker(self, self.objective)

    @property
    def n_bytes(self) -> int:
        """How many bytes have gone to the processes and come from them."""
        workers = [worker for worker in self._workers if isinstance(worker, ProcessWorker)]
        return sum(worker.n_bytes for worker in workers)


_starting = threading.Lock()
"""Processes are started and waited for by one thread at a time: the library's books are shared."""


class ProcessWorker(LocalWorker):
    """A thread that passes tasks on to a process, and starts another one if it dies."""

    def __init__(self, pool: LocalPool, objective: bytes) -> None:
        self.n_bytes = 0
        self._objective = objective
        self._process: SpawnProcess | None = None
        self._connection: Connection
        self._plan_number = -1
        self._ready = False
        self._start(pool)  # here, so that whoever opens the pool learns if that is impossible
        super().__init__(pool)

    def prepare(self) -> bool:
        """Start a process, unless there is one that is ready."""
        if self._ready:
            return True
        try:
            if self._process is None:
                self._start(self.pool)
            self._send(self._objective)
            error = self._receive()
            self._ready = error is None
        except EOFError:
            error = (
                f"A worker process ended while it was starting, with exit code {self._reap()}. A "
                'script must start its runs below `if __name__ == "__main__":`, because each '
                "worker imports the script; or use threads, executor=szoht.executors.Threads(n)."
            )
        except Exception as cause:
            self._reap()
            error = f"A worker process could not be started: {cause!r}."
        if error is not None:
            self.pool.fail(ExecutorError(error))
        return error is None

    def evaluate(self, task: Task, future: TaskFuture) -> None:
        """Evaluate a task in the process."""
        try:
            if self._plan_number != task.plan_number:
                self._send(pickle.dumps((task.plan_number, task.plan)))
                self._plan_number = task.plan_number
            self._send(pickle.dumps(task.chunks))
            done = False
            while not done:
                parts, done = self._receive()
                future.advance(parts)
        except EOFError as error:
            reason = f"the worker process ended with exit code {self._reap()}"
            raise WorkerLostError(reason, parts=future.parts) from error
        except Exception as error:
            self.end()
            self._reap()
            reason = f"the values of a worker process cannot be read: {error!r}"
            raise WorkerLostError(reason, parts=future.parts) from error

    def kill(self, task: Task) -> None:
        """End the process, which `evaluate` notices."""
        del task
        self.end()

    def end(self) -> None:
        """End the process; its guard ends the program that it waits for."""
        process = self._process
        if process is not None:
            with suppress(ValueError):  # closed in the meantime
                process.kill()

    def finish(self) -> None:
        """End an idle process: it ends by itself when its connection is closed."""
        if self._process is not None:
            self._reap()

    def _start(self, pool: LocalPool) -> None:
        with _starting:
            if pool.closed:
                raise EOFError
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs,))
            process.start()
            theirs.close()
            self._process, self._plan_number = process, -1

    def _reap(self) -> int | None:
        """Wait for the process, by force if it takes long, and return its exit code."""
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return None
        self._connection.close()
        if not wait([process.sentinel], SHUTDOWN_SECONDS):
            process.kill()
        with _starting:
            process.join()
            code = process.exitcode
            process.close()
        return code

    def _send(self, message: bytes) -> None:
        try:
            self._connection.send_bytes(message)
        except OSError as error:
            raise EOFError from error
        self.n_bytes += len(message)

    def _receive(self) -> Any:
        assert self._process is not None, "only a process that was started replies"  # noqa: S101
        # a process may have ended although a forked child of its own keeps the connection open
        while not wait([self._connection], LIVENESS_SECONDS):
            with _starting:
                if not self._process.is_alive() and not self._connection.poll():
                    raise EOFError
        try:
            message = self._connection.recv_bytes()
        except OSError as error:
            raise EOFError from error
        self.n_bytes += len(message)
        # from a process that we started, never from a file
        return pickle.loads(message)  # noqa: S301


def _work(connection: Connection) -> None:
    """Run in the process: load the objective, then evaluate until the connection is closed."""
    # Ctrl-C reaches every process of a terminal; only the one that started us may act on it. A
    # handler, because programs that the function starts would inherit "ignore".
    signal.signal(signal.SIGINT, lambda *_: None)
    die_with_parent()
    with suppress(EOFError, ConnectionError):
        packed = connection.recv_bytes()
        try:
            context = WorkerContext(load_objective(packed))
        except Exception as error:
            _reply(connection, _unloadable(error))
            return
        _reply(connection, None)
        while True:
            # from the process that started us, never from a file
            match pickle.loads(connection.recv_bytes()):  # noqa: S301
                case (int(number), bytes(plan)):
                    context.set_plan(number, plan)
                case chunks:
                    _evaluate(connection, context, chunks)


def _evaluate(connection: Connection, context: WorkerContext, chunks: tuple[Chunk, ...]) -> None:
    parts: list[ChunkValues] = []
    reported = time.monotonic()
    for chunk in chunks:
        parts.append(context.evaluate(chunk))
        done, now = chunk is chunks[-1], time.monotonic()
        if done or now - reported >= REPORT_SECONDS:
            _reply(connection, (parts, done))
            parts, reported = [], now


def _reply(connection: Connection, message: object) -> None:
    connection.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


def _unloadable(error: Exception) -> str:
    return (
        f"`fun` could not be loaded in a worker process: {error!r}. Define it in a module that can "
        "be imported; or install cloudpickle, which also sends functions of an interactive "
        "session; or use threads, executor=szoht.executors.Threads(n)."
    )
