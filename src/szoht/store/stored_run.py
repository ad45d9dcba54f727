"""One run of a store, locked by this process or open to be read."""

import math
import sqlite3
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

from szoht.core.clock import Clock
from szoht.core.query import Plan
from szoht.errors import RunMismatchError
from szoht.evaluation.chunks import Chunk, ChunkValues, first_point_indices
from szoht.result import Status
from szoht.store import answers, locking
from szoht.store.database import BUSY_SECONDS, damaged, reading, transaction
from szoht.store.snapshots import NOT_COMPARED, Snapshot
from szoht.store.spec import RunSpec

__all__ = ["Fault", "StoredRun"]

COMMIT_INTERVAL_SECONDS = 0.05
"""While a plan is evaluated, answers wait no longer than this for the next commit."""

COMMIT_TIME_SHARE = 0.02
"""The largest share of the time for such commits, however slow the disk."""

MAX_POINTS_PER_ANSWER = 1000
"""In a complete round; the other points were left out (`min_fraction`)."""


class Fault(NamedTuple):
    """A failed evaluation: the point's index in the plan, and what is known about the failure."""

    point: int
    attempt: int
    reason: str
    stderr: str = ""


class StoredRun:
    """The specification, the snapshot and the answers of a run.

    A plan and its answers are a round. `start_round` reads what is stored of the next round,
    `append` takes new answers, and `flush` returns when all of them are on the disk.

    Parameters
    ----------
    connection, path
        Of the store.
    number, name
        The row and the name of the run.
    spec, status, seconds, snapshot
        What is stored of it.
    locked : bool
        Whether this process has the lock of the run, and may write.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        number: int,
        name: str,
        spec: RunSpec,
        status: Status = Status.RUNNING,
        seconds: float = 0.0,
        snapshot: Snapshot | None = None,
        locked: bool,
    ) -> None:
        self.name = name
        self.spec = spec
        self.status = status
        self.snapshot = snapshot
        self.locked = locked
        self.limits_changed = False
        self.clock = Clock()
        self.seconds_before = seconds
        self.round = -1
        self._connection = connection
        self.path = path
        self._number = number
        self._outputs: tuple[int, ...] | None = None
        self._digest: int | None = None
        self._drop_round = False
        self._answers: list[ChunkValues] = []
        self._faults: list[Fault] = []
        self._snapshot: Snapshot | None = None
        self._committed = time.monotonic()
        self._commit_interval = COMMIT_INTERVAL_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        if self.locked:
            self.locked = False
            locking.release(self.path, self._number)

    def start_round(self, plan: Plan) -> tuple[dict[Chunk, ChunkValues], float | None]:
        """Return the stored answers to the next plan, and the run's time when it was complete.

        The time is None if the round is not complete.
        """
        self.round += 1
        digest = answers.digest(plan)
        with reading(self.path):
            row = self._connection.execute(
                "SELECT points, seconds FROM rounds WHERE run = ? AND round = ?", self._key
            ).fetchone()
        if row is not None and row[0] != digest:
            self._check_may_drop()
            self._drop_round, row = True, None
        self._digest = digest if row is None else None
        if row is None:
            return {}, None
        known, seconds = self._read_answers(plan), row[1]
        if seconds is not None:
            self._check_complete(plan, known, seconds)
        return known, seconds

    def append(self, answer: ChunkValues) -> None:
        """Take a new answer; it is durable when `flush` returns, if not sooner."""
        self._answers.append(answer)
        if time.monotonic() - self._committed >= self._commit_interval:
            self._commit()

    def log_fault(self, fault: Fault) -> None:
        """Store a failed evaluation with the next commit."""
        self._faults.append(fault)

    def set_snapshot(self, snapshot: Snapshot) -> None:
        """Replace the snapshot with the next commit."""
        self._snapshot = snapshot

    def flush(self, seconds: float) -> None:
        """Return when all answers of the round are on the disk, with the run's time."""
        self._commit(
            "UPDATE rounds SET seconds = ? WHERE run = ? AND round = ?", seconds, *self._key
        )

    def change_limits(self, spec: RunSpec) -> None:
        """Use a specification with other limits, which is stored when the run is reopened."""
        self.limits_changed = spec.limits != self.spec.limits
        self.spec = spec

    def reopen(self) -> None:
        """Store that the run continues, perhaps with other limits, in one transaction.

        A final measurement that is no part of the longer run is deleted, and the snapshot that was
        taken after it is shown from now on and no longer compared.
        """
        self.status = Status.RUNNING
        if self.limits_changed and self.snapshot is not None:
            self.snapshot = self._snapshot = self.snapshot._replace(round=NOT_COMPARED)
        encoded = self.spec.encoded()
        self._commit(
            "UPDATE runs SET settings = ?, arrays = ?, crc = ?, status = ? WHERE number = ?",
            *(*encoded, encoded.crc, self.status.name, self._number),
        )
        self.limits_changed = False

    def finish(self, status: Status) -> None:
        """Store how the run ended, and whatever has not been committed."""
        self.status = status
        if status is Status.STORE:  # another process has had its time to release the write lock
            self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self._commit("UPDATE runs SET status = ? WHERE number = ?", status.name, self._number)
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")

    @property
    def _key(self) -> tuple[int, int]:
        return self._number, self.round

    def _commit(self, statement: str = "", *values: object) -> None:
        """Write what has been collected, and one more statement, in one transaction."""
        start = time.monotonic()
        with transaction(self._connection, self.path):
            self._write_collected()
            if statement:
                self._connection.execute(statement, values)
        self._digest = self._snapshot = None
        self._drop_round = False
        self._answers.clear()
        self._faults.clear()
        self._committed = time.monotonic()
        self._commit_interval = max(
            COMMIT_INTERVAL_SECONDS, (self._committed - start) / COMMIT_TIME_SHARE
        )

    def _write_collected(self) -> None:
        # OR IGNORE: an interrupt may come after a commit and before it is noted here
        execute, many = self._connection.execute, self._connection.executemany
        if self._drop_round:
            execute("DELETE FROM answers WHERE run = ? AND round >= ?", self._key)
            execute("DELETE FROM rounds WHERE run = ? AND round >= ?", self._key)
        if self._digest is not None:
            execute(
                "INSERT OR IGNORE INTO rounds VALUES (?, ?, ?, NULL)", (*self._key, self._digest)
            )
        many(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(*self._key, *answers.to_row(answer)) for answer in self._answers],
        )
        if self._faults:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            many(
                "INSERT INTO faults VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
                [(*self._key, *fault, now) for fault in self._faults],
            )
        if self._snapshot is not None:
            execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?)",
                (self._number, *self._snapshot, self._snapshot.crc),
            )
        execute("UPDATE runs SET seconds = ? WHERE number = ?", (self.clock.seconds, self._number))

    def _check_may_drop(self) -> None:
        """Raise unless this round measured the end of a run whose limits have changed.

        There are at most two such rounds: the solution, and the effects of its changes.
        Other points than those stored are otherwise a sign that this is not the same run.
        """
        with reading(self.path):
            (last,) = self._connection.execute(
                "SELECT max(round) FROM rounds WHERE run = ?", (self._number,)
            ).fetchone()
        if not (self.limits_changed and last <= self.round + 1):
            raise RunMismatchError(
                f"round {self.round} of run {self.name} asks for other points than those stored. "
                "Another NumPy or another processor may round differently: resume the run on the "
                "machine where it began."
            )

    def _read_answers(self, plan: Plan) -> dict[Chunk, ChunkValues]:
        with reading(self.path):
            rows = self._connection.execute(
                f"SELECT {answers.ANSWER_COLUMNS} FROM answers WHERE run = ? AND round = ?",  # noqa: S608
                self._key,
            ).fetchall()
        known, first_indices = {}, first_point_indices(plan)
        for row in rows:
            answer = answers.from_row(row, plan, first_indices)
            if answer is None or not self._has_all_outputs(answer):
                raise damaged(self.path, f"an answer of round {self.round} of run {self.name}")
            known[answer.chunk] = answer
        return known

    def _has_all_outputs(self, answer: ChunkValues) -> bool:
        """Tell whether an answer has as many outputs as the first one that was read."""
        outputs = answer.values.shape[1:]
        if self._outputs is None:
            self._outputs = outputs
        return outputs == self._outputs

    def _check_complete(
        self, plan: Plan, known: Mapping[Chunk, ChunkValues], seconds: object
    ) -> None:
        if not (isinstance(seconds, float) and 0 <= seconds < math.inf):
            raise damaged(self.path, f"the time of round {self.round} of run {self.name}")
        n_answered = sum(chunk.n_points for chunk in known)
        if plan.n_points > n_answered * MAX_POINTS_PER_ANSWER:
            raise damaged(self.path, f"round {self.round} of run {self.name} has few answers")
