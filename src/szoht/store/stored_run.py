"""One run of a store, locked by this process or open to be read."""

import sqlite3
import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

from szoht.core.clock import Clock
from szoht.core.ledger import OTHER_POINTS_BYTES
from szoht.core.query import Plan
from szoht.errors import EncodingError, RunMismatchError
from szoht.evaluation.chunks import Chunk, ChunkValues, chunk_of_point, first_point_indices
from szoht.result import Status
from szoht.store import answers, locking
from szoht.store.codec import Encoded
from szoht.store.database import BUSY_SECONDS, damaged, reading, transaction
from szoht.store.digests import digest
from szoht.store.parts import Part
from szoht.store.points import MOST_POINTS, encode_points
from szoht.store.rounds import RoundTable, checksum
from szoht.store.snapshots import Snapshot
from szoht.store.spec import RunSpec
from szoht.types import Vector

__all__ = ["Fault", "ReplayLeftOff", "StoredRun"]

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


class ReplayLeftOff(Exception):  # noqa: N818  (control flow inside the library, never the user's)
    """The run asks for other points than those that are stored, by more than rounding."""


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
        self.path = path
        self.rounds = RoundTable(connection, path, number, spec.x0)
        self._connection = connection
        self._number = number
        self._new_round: tuple[int, bytes] | None = None
        self._set_aside = False
        self._other_bytes = 0
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

    def start_round(self, plan: Plan) -> tuple[dict[Chunk, ChunkValues], float | None, Plan]:
        """Return the stored answers to the next plan, the time when it was complete, and the plan.

        The time is None if it is not complete. The plan has the points that were evaluated, which
        may differ by rounding. Raises `ReplayLeftOff` if other points are stored.
        """
        if plan.n_points > MOST_POINTS:
            raise RunMismatchError(
                f"run {self.name} asks for {plan.n_points:,} points at once; a store takes at most "
                f"{MOST_POINTS:,}. Lower the number of directions `q`."
            )
        self.round += 1
        row, bits = self.rounds.row(self.round), digest(plan)
        evaluated = plan
        if row is not None and row[0] != bits:
            stored = self.rounds.plan(self.round, row[1])
            if stored.agrees(plan):
                evaluated = stored.evaluated(plan)
            elif self.limits_changed and self.rounds.last <= self.round + 1:
                # the end was measured, at most by two rounds: the solution, the effects of changes
                self._set_aside, row = True, None
            else:
                raise ReplayLeftOff
        if row is None:
            self._new_round = bits, self._encoded(plan)
            return {}, None, plan
        known = self.rounds.answers(self.round, [query.n_points for query in plan.queries])
        if row[2] is not None:
            self._check_complete(plan, known)
        return known, row[2], evaluated

    @property
    def part(self) -> Part | None:
        """The newest part, if the run has gone on from its evaluations."""
        with reading(self.path):
            row = self._connection.execute(
                "SELECT part, round, state, arrays, crc FROM parts WHERE run = ? "
                "ORDER BY part DESC LIMIT 1",
                (self._number,),
            ).fetchone()
        if row is None:
            return None
        number, round_, state, arrays, crc = row
        whole = isinstance(state, str) and isinstance(arrays, bytes)
        encoded = Encoded(state, arrays) if whole else Encoded("", b"")
        if not whole or crc != _crc(f"{number} {round_}", encoded):
            raise damaged(self.path, f"part {number} of run {self.name}")
        try:
            part = Part.decoded(number, round_, encoded)
        except EncodingError as error:
            raise damaged(self.path, f"part {number} of run {self.name}: {error}") from error
        if part.x.size != self.spec.x0.size or not 0 <= part.round <= self.rounds.last + 1:
            raise damaged(self.path, f"part {number} of run {self.name}")
        return part

    def begin_part(self, part: Part) -> None:
        """Store that the run goes on from here, and count rounds from there."""
        encoded = part.encoded()
        crc = _crc(f"{part.number} {part.round}", encoded)
        self._new_round, self._set_aside = None, False
        self._commit(
            "INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?)",
            *(self._number, part.number, part.round, *encoded, crc),
        )

    def append(self, answer: ChunkValues) -> None:
        """Take a new answer; it is durable when `flush` returns, if not sooner."""
        self._answers.append(answer)
        if time.monotonic() - self._committed >= self._commit_interval:
            self._commit()

    def append_late(self, round_: int, point: int, values: Vector) -> bool:
        """Take the value of a point that was asked in an earlier part; tell whether one was."""
        part = self.part
        found = None if part is None or round_ >= part.round else self.rounds.find(round_)
        if found is None or point >= found.plan.n_points:
            return False
        chunk = chunk_of_point(first_point_indices(found.plan), point)
        if chunk in found.known:
            return False
        row = answers.to_row(ChunkValues(chunk=chunk, values=values))
        self._commit(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(self._number, round_, *row),
        )
        return True

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
        """Store that the run continues, perhaps with other limits, in one transaction."""
        self.status = Status.RUNNING
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

    def _encoded(self, plan: Plan) -> bytes:
        """Return the points of a plan as they are stored, of few numbers where there are many."""
        rows = self.spec.answers_best and self._other_bytes <= OTHER_POINTS_BYTES
        try:
            points = encode_points(plan, self.spec.x0, rows=rows)
        except EncodingError:  # directions that are no rows of one width
            points = encode_points(plan, self.spec.x0, rows=False)
        if any(query.directions is not None for query in plan.queries):
            self._other_bytes += len(points)
        return points

    def _check_complete(self, plan: Plan, known: Mapping[Chunk, ChunkValues]) -> None:
        n_answered = sum(chunk.n_points for chunk in known)
        if plan.n_points > n_answered * MAX_POINTS_PER_ANSWER:
            raise damaged(self.path, f"round {self.round} of run {self.name} has few answers")

    def _commit(self, statement: str = "", *values: object) -> None:
        """Write what has been collected, and one more statement, in one transaction."""
        start = time.monotonic()
        with transaction(self._connection, self.path):
            self._write_collected()
            if statement:
                self._connection.execute(statement, values)
        self._new_round = self._snapshot = None
        self._set_aside = False
        self._answers.clear()
        self._faults.clear()
        self._committed = time.monotonic()
        self._commit_interval = max(
            COMMIT_INTERVAL_SECONDS, (self._committed - start) / COMMIT_TIME_SHARE
        )

    def _write_collected(self) -> None:
        # OR IGNORE: an interrupt may come after a commit and before it is noted here
        execute, many = self._connection.execute, self._connection.executemany
        if self._set_aside:
            self._move_rounds()
        if self._new_round is not None:
            bits, points = self._new_round
            row = (*self._key, bits, points, checksum(bits, points))
            execute("INSERT OR IGNORE INTO rounds VALUES (?, ?, ?, ?, ?, NULL)", row)
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

    def _move_rounds(self) -> None:
        """Set aside what measured the end of the run, under numbers below zero."""
        for number in range(self.round, self.rounds.last + 1):
            self.rounds.move(number, self.rounds.lowest - 1)


def _crc(text: str, encoded: Encoded) -> int:
    return zlib.crc32(text.encode(), encoded.crc)
