"""A process at work on one run: durable answers come out, new ones go in."""

import math
import sqlite3
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from szoht.core.clock import Clock
from szoht.core.query import Plan
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import frozen
from szoht.errors import RunMismatchError
from szoht.evaluation.chunks import Chunk, ChunkValues, first_points
from szoht.result import Status
from szoht.store import locking
from szoht.store.database import BUSY_SECONDS, damaged, reading, transaction
from szoht.store.settings import Settings
from szoht.store.snapshots import Snapshot
from szoht.types import Vector

__all__ = ["NOWHERE", "Fault", "Round", "Sitting"]

NOWHERE = -2
"""The round of a snapshot that was taken in the middle of one: to be shown, not to be compared."""

COMMIT_SECONDS = 0.05
"""While a plan is evaluated, answers wait no longer than this for the next commit."""

COMMIT_SHARE = 0.02
"""Of the time goes into such commits at most, however slow the disk."""


MOST_LEFT_OUT = 1000
"""Points of a complete round for each that was answered; others were left out (`min_fraction`)."""


class Fault(NamedTuple):
    """An evaluation that failed: its point's place in the plan, and what was said about it."""

    point: int
    attempt: int
    reason: str
    stderr: str = ""


class Round(NamedTuple):
    """What is known of a round: durable answers, and the clock when it was complete, if it was."""

    known: dict[Chunk, ChunkValues]
    seconds: float | None


class Sitting:
    """The answers of one run, of which this process is the only writer.

    Rounds follow each other: `begin` gives the durable answers to a plan, `add` takes new ones,
    `settle` returns when all of them are on the disk.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        number: int,
        name: str,
        settings: Settings,
        status: Status = Status.RUNNING,
        seconds: float = 0.0,
        snapshot: Snapshot | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self.status = status
        self.snapshot = snapshot
        self.clock = Clock()
        self.elapsed = seconds
        self.round = -1
        self._connection = connection
        self._path = path
        self._number = number
        self.extended = False
        self._snapshot: Snapshot | None = None
        self._digest: int | None = None
        self._superseded: int | None = None
        self._answers: list[ChunkValues] = []
        self._faults: list[Fault] = []
        self._committed = time.monotonic()
        self._pause = COMMIT_SECONDS
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process have the run."""
        if self._open:
            self._open = False
            locking.release(self._path, self._number)

    def begin(self, plan: Plan) -> Round:
        """Start the next round and return what is known of it."""
        self.round += 1
        digest = points_digest(plan)
        with reading(self._path):
            row = self._connection.execute(
                "SELECT points, seconds FROM rounds WHERE run = ? AND round = ?", self._here
            ).fetchone()
        if row is not None and row[0] != digest:
            self._check_is_last()
            self._superseded, row = self.round, None
        self._digest = digest if row is None else None
        if row is None:
            return Round({}, None)
        seconds = row[1]
        if seconds is not None and not (isinstance(seconds, float) and 0 <= seconds < math.inf):
            raise damaged(self._path, f"the time of round {self.round} of run {self.name}")
        known = {answer.chunk: answer for answer in self._stored(plan)}
        answered = sum(piece.n_points for piece in known)
        if seconds is not None and plan.n_points > answered * MOST_LEFT_OUT:
            raise damaged(self._path, f"round {self.round} of run {self.name} has few answers")
        return Round(known, seconds)

    def add(self, answer: ChunkValues) -> None:
        """Take a new answer; it is durable when `settle` returns, if not sooner."""
        self._answers.append(answer)
        if time.monotonic() - self._committed >= self._pause:
            self._commit()

    def report(self, fault: Fault) -> None:
        """Take note of an evaluation that failed, with the next commit."""
        self._faults.append(fault)

    def keep(self, snapshot: Snapshot) -> None:
        """Put a snapshot in the place of the last one, with the next commit."""
        self._snapshot = snapshot

    def settle(self, seconds: float) -> None:
        """Return when all answers of the round are on the disk."""
        self._commit(
            "UPDATE rounds SET seconds = ? WHERE run = ? AND round = ?", (seconds, *self._here)
        )

    def extend(self, settings: Settings) -> None:
        """Go on with other limits than those stored, which are replaced once it comes to it."""
        self.extended = settings.limits != self.settings.limits
        self.settings = settings

    def go_on(self) -> None:
        """Write down that the run goes on, perhaps with other limits, all in one transaction.

        A last measurement that is no part of the longer run is forgotten, and the snapshot that
        was taken after it is kept to be shown and no longer compared.
        """
        text, arrays = self.settings.encoded()
        self.status = Status.RUNNING
        if self.extended and self.snapshot is not None:
            self.snapshot = self._snapshot = self.snapshot._replace(round=NOWHERE)
        self._commit(
            "UPDATE runs SET settings = ?, arrays = ?, crc = ?, status = ? WHERE number = ?",
            (text, arrays, zlib.crc32(arrays, zlib.crc32(text.encode())), "RUNNING", self._number),
        )
        self.extended = False

    def finish(self, status: Status) -> None:
        """Write down how the run ended, and whatever still waits."""
        self.status = status
        if status is Status.STORE:  # after one wait for another process in vain, no second one
            self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self._commit("UPDATE runs SET status = ? WHERE number = ?", (status.name, self._number))
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")

    @property
    def _here(self) -> tuple[int, int]:
        return self._number, self.round

    def _commit(self, statement: str = "", values: tuple[object, ...] = ()) -> None:
        """Write what waits, and one more statement, in one transaction."""
        start = time.monotonic()
        with transaction(self._connection, self._path):
            self._write_waiting()
            if statement:
                self._connection.execute(statement, values)
        self._digest = self._snapshot = self._superseded = None
        self._answers.clear()
        self._faults.clear()
        self._committed = time.monotonic()
        self._pause = max(COMMIT_SECONDS, (self._committed - start) / COMMIT_SHARE)

    def _write_waiting(self) -> None:
        # OR IGNORE: an interrupt may come between a commit and our knowledge of it
        execute, many = self._connection.execute, self._connection.executemany
        if self._superseded is not None:
            execute("DELETE FROM answers WHERE run = ? AND round = ?", self._here)
            execute("DELETE FROM rounds WHERE run = ? AND round = ?", self._here)
        if self._digest is not None:
            execute(
                "INSERT OR IGNORE INTO rounds VALUES (?, ?, ?, NULL)", (*self._here, self._digest)
            )
        many(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(*self._here, *_row(answer)) for answer in self._answers],
        )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        many(
            "INSERT INTO faults VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
            [(*self._here, *fault, now) for fault in self._faults],
        )
        if self._snapshot is not None:
            execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?)",
                (self._number, *self._snapshot, self._snapshot.crc),
            )
        execute("UPDATE runs SET seconds = ? WHERE number = ?", (self.clock.seconds, self._number))

    def _check_is_last(self) -> None:
        """Raise unless this round ended a run that goes on with other limits.

        Other points than those stored are otherwise a sign that this is not the same run.
        """
        with reading(self._path):
            (last,) = self._connection.execute(
                "SELECT max(round) FROM rounds WHERE run = ?", (self._number,)
            ).fetchone()
        if not (self.extended and last == self.round):
            raise RunMismatchError(
                f"round {self.round} of run {self.name} asks for other points than those stored. "
                "Another NumPy or another processor may round differently: go on with the run on "
                "the machine where it began."
            )

    def _stored(self, plan: Plan) -> Iterator[ChunkValues]:
        with reading(self._path):
            rows = self._connection.execute(
                'SELECT query, start, stop, "values", gradient, crc FROM answers '
                "WHERE run = ? AND round = ?",
                self._here,
            ).fetchall()
        firsts = first_points(plan)
        for query, start, stop, values, gradient, crc in rows:
            place = (query, start, stop)
            whole = _fits(plan, firsts, place, values, gradient)
            if not whole or crc != _crc(*place, values, gradient):
                raise damaged(self._path, f"an answer of round {self.round} of run {self.name}")
            yield ChunkValues(
                chunk=Chunk(*place),
                values=_floats(values),
                gradient=None if gradient is None else _floats(gradient),
            )


def points_digest(plan: Plan) -> int:
    """Return a number that tells plans with different points apart.

    It covers the base points, the samples and the numbers of directions; directions come from the
    seed.
    """
    crc, last = 0, None
    for query in plan.queries:
        if query.base is not last:
            crc = _base_crc(query.base, crc)
        last = query.base
        if query.sample is not None:
            crc = zlib.crc32(query.sample.data, crc)
        crc = zlib.crc32(f"{query.n_points} {query.radius!r}".encode(), crc)
    return crc


def _base_crc(base: Vector, crc: int) -> int:
    if isinstance(base, SparseVector):
        crc = zlib.crc32(f"{base.size} ".encode() + base.indices.tobytes(), crc)
        return zlib.crc32(base.values.data, crc)
    return zlib.crc32(base.data, crc)


def _fits(
    plan: Plan, firsts: list[int], place: tuple[Any, Any, Any], values: Any, gradient: Any
) -> bool:
    """Tell whether a stored answer is one to points of the plan, and as long as it must be."""
    if not all(type(number) is int for number in place):
        return False
    query, start, stop = place
    if not (0 <= query < len(firsts) and 0 <= start < stop <= plan.n_points - firsts[query]):
        return False
    size = plan.queries[query].base.size
    slope_fits = gradient is None or (isinstance(gradient, bytes) and len(gradient) == 8 * size)
    whole = (
        isinstance(values, bytes) and len(values) > 0 and len(values) % (8 * (stop - start)) == 0
    )
    return slope_fits and whole


def _row(answer: ChunkValues) -> tuple[object, ...]:
    piece = answer.chunk
    values = _bytes(answer.values)
    gradient = None if answer.gradient is None else _bytes(answer.gradient)
    place = (piece.query, piece.start, piece.stop)
    return *place, values, gradient, _crc(*place, values, gradient)


def _crc(query: int, start: int, stop: int, values: bytes, gradient: bytes | None) -> int:
    crc = zlib.crc32(b"%d %d %d" % (query, start, stop))
    return zlib.crc32(gradient or b"", zlib.crc32(values, crc))


def _bytes(array: np.ndarray) -> bytes:
    return array.astype("<f8").tobytes()


def _floats(data: bytes) -> np.ndarray:
    return frozen(np.frombuffer(data, dtype="<f8").astype(np.float64))
