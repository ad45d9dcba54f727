"""Processes of our own: told once what to compute, replaced when they die or hang."""

import multiprocessing
import pickle
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from szoht._validate import check_integer
from szoht.errors import ExecutorError
from szoht.executors.base import Report
from szoht.executors.parcel import Desk, load_objective, pack, pack_objective
from szoht.objective import Objective
from szoht.pieces import Piece, PieceAnswer
from szoht.program_folders import die_with_parent
from szoht.queries import Plan

__all__ = ["Processes"]

GRACE = 1.0
"""Seconds that a process gets to end by itself."""

REPORT_SECONDS = 0.005
"""Answers that come more quickly than this share a message."""


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

    def open(self, objective: Objective) -> "ProcessCrew":
        """Start the processes."""
        return ProcessCrew(pack_objective(objective), self.n)


class _Worker:
    """A process and our end of the line to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,))
        self.process.start()
        theirs.close()
        self.ready = False
        self.ticket: int | None = None
        self.number = -1

    def end(self) -> None:
        """End the process: an idle one by itself, a busy one by force."""
        self.line.close()
        if self.ticket is None:
            self.process.join(GRACE)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


class ProcessCrew:
    """Processes that we started, one line to each. All work is done in the calling thread.

    ``sent`` and ``received`` count the bytes on the lines.
    """

    streams = True
    depth = 1

    def __init__(self, objective: bytes, n: int) -> None:
        self.sent = self.received = 0
        self._objective = objective
        self._parcel = b""
        self._number = 0
        self._places: dict[int, _Worker] = {}
        self._workers = [_Worker() for _ in range(n)]
        for worker in self._workers:
            self._send(worker, self._objective)

    @property
    def size(self) -> int:
        """How many processes have started."""
        return sum(worker.ready for worker in self._workers)

    def brief(self, plan: Plan) -> None:
        """Pack the plan; a process gets it with its first pieces."""
        self._number += 1
        self._parcel = pickle.dumps((self._number, pack(plan)))
        self._places.clear()

    def submit(self, ticket: int, pieces: Sequence[Piece], *, after: int | None) -> None:
        """Give the pieces to an idle process."""
        idle = [worker for worker in self._workers if worker.ready and worker.ticket is None]
        spoilt = None if after is None else self._places.get(after)
        worker = min(idle, key=lambda candidate: candidate is spoilt)
        worker.ticket = ticket
        self._places[ticket] = worker
        with suppress(OSError):  # it has died; `wait` will tell
            if worker.number != self._number:
                self._send(worker, self._parcel)
                worker.number = self._number
            self._send(worker, pickle.dumps(tuple(pieces)))

    def wait(self, seconds: float | None) -> list[Report]:
        """Listen to all lines, and for processes that end."""
        lines: dict[Any, _Worker] = {}
        for worker in self._workers:
            lines[worker.line] = lines[worker.process.sentinel] = worker
        heard = {id(lines[key]): lines[key] for key in wait(list(lines), seconds)}
        reports = (self._hear(worker) for worker in heard.values())
        return [report for report in reports if report is not None]

    def drop(self, ticket: int) -> None:
        """Tell the process to stop after the piece that it is at."""
        for worker in self._workers:
            if worker.ticket == ticket:
                with suppress(OSError):
                    self._send(worker, pickle.dumps(()))

    def free(self, ticket: int) -> None:
        """End the process and start another."""
        for worker in self._workers:
            if worker.ticket == ticket:
                self._replace(worker)

    def deaths(self) -> int:
        """Every death is reported."""
        return 0

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.line.close()  # all of them at once, and then one after the other
        for worker in self._workers:
            worker.end()

    def _hear(self, worker: _Worker) -> Report | None:
        try:
            if not worker.line.poll():
                return self._bury(worker)
            message = worker.line.recv_bytes()
        except (EOFError, OSError):
            return self._bury(worker)
        self.received += len(message)
        # from a process that we started, never from a file
        answers, over = pickle.loads(message)  # noqa: S301
        if isinstance(answers, str):
            raise ExecutorError(answers)
        if not worker.ready:
            worker.ready = True
            return None
        return self._take(worker, answers, over)

    def _take(self, worker: _Worker, answers: tuple[PieceAnswer, ...], over: bool) -> Report:
        assert worker.ticket is not None, "only a busy worker reports"  # noqa: S101
        report = Report(ticket=worker.ticket, answers=answers, over=over)
        if over:
            worker.ticket = None
        return report

    def _bury(self, worker: _Worker) -> Report | None:
        worker.process.join(GRACE)
        code = worker.process.exitcode
        if not worker.ready:
            raise ExecutorError(
                f"A worker process ended while it was starting, with exit code {code}. A script "
                'must start its runs below `if __name__ == "__main__":`, because each worker '
                "imports the script; or use threads, executor=szoht.executors.Threads(n)."
            )
        ticket = worker.ticket
        self._replace(worker)
        if ticket is None:
            return None
        return Report(ticket=ticket, lost=f"the worker process ended with exit code {code}")

    def _replace(self, worker: _Worker) -> None:
        worker.end()
        fresh = self._workers[self._workers.index(worker)] = _Worker()
        self._send(fresh, self._objective)

    def _send(self, worker: _Worker, message: bytes) -> None:
        worker.line.send_bytes(message)
        self.sent += len(message)


def _work(line: Connection) -> None:
    """Run in the process: load the objective, then answer until the line is closed."""
    # Ctrl-C reaches every process of a terminal; only the one that started us may act on it. A
    # handler, because programs that the function starts would inherit "ignore".
    signal.signal(signal.SIGINT, lambda *_: None)
    die_with_parent()
    with suppress(EOFError, ConnectionError):
        message = line.recv_bytes()
        try:
            desk = Desk(load_objective(message))
        except Exception as error:
            _answer(line, _unloadable(error), over=True)
            return
        _answer(line, (), over=True)
        while True:
            # from the process that started us, never from a file
            match pickle.loads(line.recv_bytes()):  # noqa: S301
                case (int(number), bytes(parcel)):
                    desk.brief(number, parcel)
                case pieces:
                    _evaluate(line, desk, pieces)


def _evaluate(line: Connection, desk: Desk, pieces: tuple[Piece, ...]) -> None:
    answers: list[PieceAnswer] = []
    reported = time.monotonic()
    for piece in pieces:
        if line.poll():  # dropped, or nobody is there any more
            _answer(line, (), over=True)
            return
        answers.append(desk.evaluate(piece))
        over = piece is pieces[-1]
        if over or time.monotonic() - reported >= REPORT_SECONDS:
            _answer(line, tuple(answers), over=over)
            answers.clear()
            reported = time.monotonic()


def _answer(line: Connection, answers: tuple[PieceAnswer, ...] | str, *, over: bool) -> None:
    line.send_bytes(pickle.dumps((answers, over), protocol=pickle.HIGHEST_PROTOCOL))


def _unloadable(error: Exception) -> str:
    return (
        f"`fun` could not be loaded in a worker process: {error!r}. Define it in a module that can "
        "be imported; or install cloudpickle, which also sends functions of an interactive "
        "session; or use threads, executor=szoht.executors.Threads(n)."
    )
