"""Threads of this process, for functions that release the interpreter's lock."""

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from szoht._validate import check_integer
from szoht.executors.base import Report
from szoht.executors.parcel import Desk, pack
from szoht.objective import Objective
from szoht.pieces import Piece
from szoht.program_folders import kill_programs, task_scope
from szoht.queries import Plan

__all__ = ["Threads"]


@dataclass(frozen=True)
class Threads:
    """Evaluates on ``n`` threads: for functions that wait for something, or release the lock.

    Nothing is pickled, so any function will do. Python cannot end a thread: one that hangs past
    the timeout is left to itself, a fresh thread takes its place, and a late answer is ignored.
    A `Program` that it waits for is killed.

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

    def open(self, objective: Objective) -> "ThreadCrew":
        """Start the threads."""
        return ThreadCrew(objective, self.n)


class _Hand:
    """One thread, what it is given and what it is about."""

    def __init__(self, objective: Objective, outbox: "queue.SimpleQueue[Report]", run: str) -> None:
        self.inbox: queue.SimpleQueue[tuple[int, int, bytes, tuple[Piece, ...]] | None] = (
            queue.SimpleQueue()
        )
        self.ticket: int | None = None
        self._desk = Desk(objective)
        self._outbox = outbox
        self._token = run
        # a daemon: a function that hangs must not keep the interpreter from ending
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        while (task := self.inbox.get()) is not None:
            ticket, number, parcel, pieces = task
            try:
                with task_scope(self._token, ticket):
                    self._work(ticket, number, parcel, pieces)
            except BaseException as error:
                reason = f"the function ended its thread with {error!r}"
                self._outbox.put(Report(ticket=ticket, lost=reason))

    def _work(self, ticket: int, number: int, parcel: bytes, pieces: tuple[Piece, ...]) -> None:
        self._desk.brief(number, parcel)
        for piece in pieces[:-1]:
            if self.ticket != ticket:  # dropped
                break
            answer = self._desk.evaluate(piece)
            self._outbox.put(Report(ticket=ticket, answers=(answer,), over=False))
        else:
            answer = self._desk.evaluate(pieces[-1])
            self._outbox.put(Report(ticket=ticket, answers=(answer,)))
            return
        self._outbox.put(Report(ticket=ticket))


class ThreadCrew:
    """Threads that we started; those that hang are replaced."""

    streams = True
    depth = 1

    def __init__(self, objective: Objective, n: int) -> None:
        self._objective = objective
        self._token = uuid4().hex
        self._outbox: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self._number = 0
        self._parcel = b""
        self._busy: dict[int, _Hand] = {}
        self._idle = [_Hand(objective, self._outbox, self._token) for _ in range(n)]
        self.size = n

    def brief(self, plan: Plan) -> None:
        """Pack the plan; each thread unpacks a copy of its own."""
        self._parcel, self._number = pack(plan), self._number + 1

    def submit(self, ticket: int, pieces: Sequence[Piece], *, after: int | None) -> None:
        """Give the pieces to the thread that has waited longest."""
        del after
        hand = self._busy[ticket] = self._idle.pop(0)
        hand.ticket = ticket
        hand.inbox.put((ticket, self._number, self._parcel, tuple(pieces)))

    def wait(self, seconds: float | None) -> list[Report]:
        """Return the next report."""
        try:
            report = self._outbox.get(timeout=seconds)
        except queue.Empty:
            return []
        if report.over and report.ticket in self._busy:
            self._idle.append(self._busy.pop(report.ticket))
        return [report]

    def drop(self, ticket: int) -> None:
        """Let the thread finish its piece and no more."""
        if ticket in self._busy:
            self._busy[ticket].ticket = None

    def free(self, ticket: int) -> None:
        """Leave the thread to itself, end the program that it waits for, and start another."""
        if ticket in self._busy:
            self._dismiss(self._busy.pop(ticket))
            kill_programs(self._token, ticket)
            self._idle.append(_Hand(self._objective, self._outbox, self._token))

    def deaths(self) -> int:
        """Threads do not die unseen."""
        return 0

    def close(self) -> None:
        """End the threads, those that hang in the function as soon as it returns."""
        for hand in self._idle:
            hand.inbox.put(None)
            hand.thread.join()
        for ticket, hand in self._busy.items():
            self._dismiss(hand)
            kill_programs(self._token, ticket)

    def _dismiss(self, hand: _Hand) -> None:
        hand.ticket = None
        hand.inbox.put(None)
