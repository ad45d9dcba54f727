"""Workers of somebody else: any `concurrent.futures.Executor`, and what all such crews share."""

import os
import queue
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from szoht._validate import check_integer
from szoht.errors import ExecutorError, ParameterTypeError
from szoht.executors.base import Report
from szoht.executors.parcel import Desk, pack, pack_objective, work
from szoht.objective import Objective
from szoht.pieces import Piece, PieceAnswer
from szoht.program_folders import (
    TaskCancelled,
    cancel_programs,
    die_with_parent,
    kill_programs,
    task_scope,
)
from szoht.queries import Plan

__all__ = ["FutureCrew", "Futures", "LostError"]

GRACE = 1.0
"""Seconds given to tasks that were cancelled, to get out of the pool."""


class LostError(Exception):
    """A task will not be answered; ``final`` if its pool has tried again already."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        self.final = final
        super().__init__(reason)


class FutureCrew(ABC):
    """A crew whose tickets are futures: one call, one answer for all pieces of a ticket."""

    streams = False
    depth = 2

    def __init__(self) -> None:
        self.token = uuid4().hex
        self.number = 0
        self._futures: dict[int, Any] = {}
        self._dropped: set[int] = set()
        self._inbox: queue.SimpleQueue[int] = queue.SimpleQueue()

    @property
    @abstractmethod
    def size(self) -> int:
        """How many pieces can be evaluated at the same time, now."""

    @abstractmethod
    def prepare(self, parcel: bytes) -> None:
        """Send ahead what all tickets of a plan need."""

    @abstractmethod
    def start(self, ticket: int, pieces: tuple[Piece, ...], *, after: int | None) -> Any:
        """Return the future of a call of `work`; it has a method ``add_done_callback``."""

    @abstractmethod
    def collect(self, ticket: int, future: Any) -> tuple[PieceAnswer, ...]:
        """Return the answers of a future that is done, or raise `LostError`."""

    @abstractmethod
    def cancel(self, ticket: int, future: Any, *, force: bool) -> None:
        """Cancel a call, with ``force`` also if it has begun and that is possible."""

    def brief(self, plan: Plan) -> None:
        """Make ``plan`` the one that the tickets to come are about."""
        self.number += 1
        self.prepare(pack(plan))

    def submit(self, ticket: int, pieces: Sequence[Piece], *, after: int | None) -> None:
        """Start a call for the pieces."""
        future = self.start(ticket, tuple(pieces), after=after)
        self._futures[ticket] = future
        future.add_done_callback(lambda _: self._inbox.put(ticket))

    def wait(self, seconds: float | None) -> list[Report]:
        """Return the reports of the calls that are done."""
        try:
            done = [self._inbox.get(timeout=seconds)]
            while not self._inbox.empty():
                done.append(self._inbox.get())
        except queue.Empty:
            return []
        return [self._report(ticket) for ticket in done if ticket in self._futures]

    def drop(self, ticket: int) -> None:
        """Cancel the call if it has not begun."""
        if ticket in self._futures:
            self._dropped.add(ticket)
            self.cancel(ticket, self._futures[ticket], force=False)

    def free(self, ticket: int) -> None:
        """Cancel the call and think no more of it."""
        if ticket in self._futures:
            self.cancel(ticket, self._futures.pop(ticket), force=True)

    def deaths(self) -> int:
        """Deaths are reported, if anything is."""
        return 0

    def close(self) -> None:
        """Cancel what is going on; the workers are not ours to end."""
        for ticket in list(self._futures):
            self.drop(ticket)

    def _report(self, ticket: int) -> Report:
        future = self._futures.pop(ticket)
        if ticket in self._dropped:
            self._dropped.remove(ticket)
            return Report(ticket=ticket)
        try:
            return Report(ticket=ticket, answers=self.collect(ticket, future))
        except LostError as lost:
            return Report(ticket=ticket, lost=str(lost), final=lost.final)


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

    def open(self, objective: Objective) -> "PoolCrew":
        """Return a crew of the pool's workers."""
        size = self.n or getattr(self.pool, "_max_workers", None) or os.cpu_count() or 1
        if isinstance(self.pool, ThreadPoolExecutor):
            return ThreadPoolCrew(self.pool, objective, size)
        return PoolCrew(self.pool, pack_objective(objective), size)


class PoolCrew(FutureCrew):
    """The workers of a pool that was passed to us."""

    size = 0

    def __init__(self, pool: Executor, objective: bytes, size: int) -> None:
        super().__init__()
        self.size = size
        self._pool = pool
        self._objective = objective
        self._parcel = b""

    def prepare(self, parcel: bytes) -> None:
        """Keep the parcel; it goes with every task."""
        self._parcel = parcel

    def start(self, ticket: int, pieces: tuple[Piece, ...], *, after: int | None) -> Any:
        """Submit a call, everything included."""
        del after
        try:
            return self._call(ticket, pieces)
        except BrokenExecutor as error:
            raise _broken(error) from error
        except RuntimeError as error:
            raise ExecutorError(f"The executor takes no work: {error}.") from error

    def _call(self, ticket: int, pieces: tuple[Piece, ...]) -> "Future[tuple[PieceAnswer, ...]]":
        return self._pool.submit(
            _work_in_pool, (self.token, ticket), self._objective, self.number, self._parcel, pieces
        )

    def collect(self, ticket: int, future: "Future[Any]") -> tuple[PieceAnswer, ...]:
        """Return the answers; a broken pool ends the run."""
        del ticket
        try:
            answers: tuple[PieceAnswer, ...] = future.result()
        except BrokenExecutor as error:
            raise _broken(error) from error
        except CancelledError as error:
            raise LostError("the executor cancelled the call") from error
        except Exception as error:
            raise LostError(f"the executor reported {error!r}") from error
        return answers

    def cancel(self, ticket: int, future: "Future[Any]", *, force: bool) -> None:
        """Cancel the call if it has not begun, else end the program that it waits for."""
        if not future.cancel() and force:
            kill_programs(self.token, ticket)

    def close(self) -> None:
        """Cancel what is going on, and give the pool a moment to notice."""
        pending = list(self._futures.values())
        super().close()
        cancel_programs(self.token, [future for future in pending if not future.done()])
        wait_for([future for future in pending if future.cancelled()], timeout=GRACE)


class ThreadPoolCrew(PoolCrew):
    """The threads of a pool that was passed to us: nothing needs to be pickled."""

    def __init__(self, pool: Executor, objective: Objective, size: int) -> None:
        super().__init__(pool, b"", size)
        self._here = objective

    def _call(self, ticket: int, pieces: tuple[Piece, ...]) -> "Future[tuple[PieceAnswer, ...]]":
        return self._pool.submit(
            _work_here, (self.token, ticket), self._here, self.number, self._parcel, pieces
        )


def _work_here(
    task: tuple[str, int],
    objective: Objective,
    number: int,
    parcel: bytes,
    pieces: tuple[Piece, ...],
) -> tuple[PieceAnswer, ...]:
    desk = Desk(objective)
    desk.brief(number, parcel)
    with task_scope(*task), suppress(TaskCancelled):
        return tuple(desk.evaluate(piece) for piece in pieces)
    return ()


def _work_in_pool(
    task: tuple[str, int],
    objective: bytes,
    number: int,
    parcel: bytes,
    pieces: tuple[Piece, ...],
) -> tuple[PieceAnswer, ...]:
    die_with_parent()
    with task_scope(*task), suppress(TaskCancelled):
        return work(task[0], objective, number, parcel, pieces)
    return ()


def _broken(error: Exception) -> ExecutorError:
    return ExecutorError(
        f"The executor is broken, probably because one of its workers died: {error}. Pass "
        "workers=n instead, so that dead workers can be replaced."
    )
