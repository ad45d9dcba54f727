"""`Store`: runs in one file."""

import math
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType
from typing import Any, Self, TypeAlias, cast

from szoht.core.validation import shown
from szoht.errors import (
    EncodingError,
    ParameterTypeError,
    RunBusyError,
    RunMismatchError,
    StoreWriteError,
    UnknownRunError,
)
from szoht.result import Status
from szoht.store import locking
from szoht.store.codec import Encoded
from szoht.store.database import connect, damaged, reading, transaction
from szoht.store.rounds import RoundTable
from szoht.store.schema import FIRST_RESUMABLE
from szoht.store.snapshots import Snapshot
from szoht.store.spec import RunSpec
from szoht.store.stored_run import Fault, StoredRun
from szoht.store.summaries import SELECT_SUMMARY, Durable, RunSummary, durable, summarize

__all__ = ["RunSummary", "Store", "StoreLike", "open_store"]

ID_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
ID_LENGTH = 6
RETRY_SECONDS = 0.02

UNFINISHED = tuple(status.name for status in Status if status.goes_on)

SELECT_NUMBER = "SELECT number, id FROM runs"
NEWEST_ROW = "ORDER BY number DESC LIMIT 1"

COLUMN_TYPES: dict[str, Any] = {
    **dict.fromkeys(("number", "d", "crc", "point", "attempt"), int),
    **dict.fromkeys(("id", "started", "version", "algorithm", "seed", "settings", "status"), str),
    **dict.fromkeys(("state", "reason", "stderr"), str),
    "seconds": (float, int),
    "arrays": bytes,
    "k": (int, NoneType),
    "function": (str, NoneType),
    "round": (int, NoneType),  # None in a list, for a run that has no snapshot yet
    "summary": (str, NoneType),
}
"""The types of the columns, which SQLite does not enforce."""


class Store:
    """Runs in one SQLite file.

    Parameters
    ----------
    path : str or path
        The file. Beside it, SQLite keeps ``-wal`` and ``-shm``, and we keep ``-lock``. A file that
        may not be written is read from a copy, which follows it.
    create : bool
        Whether it may be a new one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/runs.db") as store:
    ...     len(store.runs())
    0
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        self._connection, self._copy = connect(self.path, create=create)
        (self._version,) = self._select("PRAGMA user_version")[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def create(self, spec: RunSpec) -> StoredRun:
        """Start a run, and lock it."""
        self._check_writable()
        encoded = spec.encoded()
        row = (
            datetime.now(UTC).isoformat(timespec="seconds"),
            *(spec.version, spec.label, spec.algorithm, spec.x0.size, spec.k, str(spec.seed)),
            *(*encoded, encoded.crc),
        )
        number = 0
        try:
            with transaction(self._connection, self.path):
                name, number = self._insert(row)
                self._acquire(name, number, wait=0.0)  # before another process can see the run
        except BaseException:
            locking.release(self.path, number)
            raise
        return StoredRun(
            self._connection, self.path, number=number, name=name, spec=spec, locked=True
        )

    def lock(self, run: str | None = None, *, wait: float = 0.0) -> StoredRun:
        """Open a run for this process alone; another one has ``wait`` seconds to release it.

        Without a name, the newest unfinished run, or the newest if all are finished.
        """
        number, name = self._find(run)
        self._check_resumable(self._row(number))
        self._check_writable()
        (row,) = self._select("SELECT seconds FROM runs WHERE number = ?", number)
        (seconds,) = self._check_types(row, f"the entry of run {name}")
        self._acquire(name, number, wait=wait, seconds=float(seconds))
        try:
            return self._open(number, locked=True)
        except BaseException:
            locking.release(self.path, number)
            raise

    def open_readonly(self, run: str | None = None) -> StoredRun:
        """Open a run to be read, even if a process has locked it."""
        return self._open(self._find(run)[0], locked=False)

    def spec(self, run: str) -> RunSpec:
        """Return the specification of a run."""
        return self._spec(self._row(self._find(run)[0]))

    def snapshot(self, run: str) -> Snapshot | None:
        """Return the newest snapshot of a run, if there is one."""
        return self._snapshot(*self._find(run))

    def faults(self, run: str) -> list[Fault]:
        """Return the failed evaluations of a run, the oldest first."""
        number, name = self._find(run)
        rows = self._select(
            "SELECT point, attempt, reason, stderr FROM faults WHERE run = ? ORDER BY number",
            number,
        )
        return [Fault(*self._check_types(row, f"a fault of run {name}")) for row in rows]

    def runs(self) -> list[RunSummary]:
        """Return a line for each run, the oldest first."""
        return [self._summary(row) for row in self._select(f"{SELECT_SUMMARY} ORDER BY number")]

    def summary(self, run: str) -> RunSummary:
        """Return the line of one run."""
        (row,) = self._select(f"{SELECT_SUMMARY} WHERE number = ?", self._find(run)[0])
        return self._summary(row)

    def find(self, run: str | None = None) -> str:
        """Return the name of a run: the newest unfinished one, or the newest, if None."""
        return self._find(run)[1]

    def _find(self, run: str | None) -> tuple[int, str]:
        """Return the number and the name of a run."""
        if run is not None:
            if not isinstance(run, str):
                raise ParameterTypeError(f"`run` must be the name of a run; got {shown(run)}.")
            rows = self._select(f"{SELECT_NUMBER} WHERE id = ?", run) if run.isascii() else []
        else:
            places = ", ".join("?" * len(UNFINISHED))
            rows = self._select(
                f"{SELECT_NUMBER} WHERE status IN ({places}) {NEWEST_ROW}", *UNFINISHED
            )
            rows = rows or self._select(f"{SELECT_NUMBER} {NEWEST_ROW}")
        if rows:
            number, name = self._check_types(rows[0], "the list of runs")
            return number, name
        known = ", ".join(str(row["id"]) for row in self._select("SELECT id FROM runs"))
        if run is None or not known:
            raise UnknownRunError(f"there is no run in {self.path} yet.")
        raise UnknownRunError(f"there is no run {run!r} in {self.path}; known: {known}.")

    def _insert(self, row: tuple[Any, ...]) -> tuple[str, int]:
        """Add a run under a name that is not taken."""
        while True:
            name = "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_LENGTH))
            cursor = self._connection.execute(
                "INSERT OR IGNORE INTO runs VALUES "
                "(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'RUNNING', 0.0)",
                (name, *row),
            )
            if cursor.rowcount:
                return name, cast(int, cursor.lastrowid)

    def _acquire(self, name: str, number: int, *, wait: float, seconds: float = 0.0) -> None:
        deadline = time.monotonic() + wait
        while not locking.acquire(self.path, number, seconds):
            if time.monotonic() >= deadline:
                holder = locking.holder(self.path, number) or "another process"
                raise RunBusyError(
                    f"run {name} of {self.path} is locked by {holder}. Wait for it, or end it."
                )
            time.sleep(RETRY_SECONDS)

    def _check_resumable(self, row: Any) -> None:
        if self._version < FIRST_RESUMABLE:
            raise RunMismatchError(
                f"run {row['id']} of {self.path} was made by szoht {row['version']}. Runs from "
                "before version 0.2.0 are listed and not resumed: start a new run from its best "
                "point."
            )

    def _check_writable(self) -> None:
        if self._version < FIRST_RESUMABLE:
            raise StoreWriteError(
                f"The run store {self.path} is from before version 0.2.0: its runs are listed, and "
                "nothing is added to it. Choose another file."
            )
        if self._copy is not None:
            raise StoreWriteError(
                f"The run store {self.path} can be read and not written: the file or its folder "
                "is protected. Copy it to a folder that can be written to resume its runs."
            )

    def _open(self, number: int, *, locked: bool) -> StoredRun:
        row = self._row(number)
        self._check_resumable(row)
        return StoredRun(
            self._connection,
            self.path,
            number=number,
            name=row["id"],
            spec=self._spec(row),
            status=Status[row["status"]],
            seconds=row["seconds"],
            snapshot=self._snapshot(number, row["id"]),
            locked=locked,
        )

    def _row(self, number: int) -> Any:
        (row,) = self._select("SELECT * FROM runs WHERE number = ?", number)
        self._check_types(row, f"the entry of run {row['id']}")
        return row

    def _spec(self, row: Any) -> RunSpec:
        self._check_resumable(row)
        encoded = Encoded(row["settings"], row["arrays"])
        if row["crc"] != encoded.crc:
            raise damaged(self.path, f"the settings of run {row['id']}")
        try:
            return RunSpec.decoded(encoded)
        except EncodingError as error:
            raise RunMismatchError(
                f"run {row['id']}, made by szoht {row['version']}, cannot be read here: {error}. "
                f"Install szoht=={row['version']} to resume it."
            ) from error

    def _snapshot(self, number: int, name: str) -> Snapshot | None:
        what = f"the snapshot of run {name}"
        rows = self._select(
            "SELECT round, summary, state, arrays, crc FROM snapshots WHERE run = ?", number
        )
        if not rows or self._version < FIRST_RESUMABLE:
            return None
        *contents, crc = self._check_types(rows[0], what)
        snapshot = Snapshot(*contents)
        if snapshot.crc != crc:
            raise damaged(self.path, what)
        try:
            snapshot.check()
        except EncodingError as error:
            raise damaged(self.path, f"{what}: {error}") from error
        return snapshot

    def _summary(self, row: Any) -> RunSummary:
        self._check_types(row, f"the entry of run {row['id']}")
        newer = Durable()
        if self._version >= FIRST_RESUMABLE and Status[row["status"]].goes_on:
            with suppress(RunMismatchError):  # what cannot be read here is listed all the same
                spec = self._spec(self._row(row["number"]))
                rounds = RoundTable(self._connection, self.path, row["number"], spec.x0)
                newer = durable(rounds, spec, -1 if row["round"] is None else row["round"])
        return summarize(self.path, row, newer)

    def _check_types(self, row: Any, what: str) -> tuple[Any, ...]:
        """Return a row, whose columns must have their types."""
        for name in row.keys():  # noqa: SIM118  (a row is no dict)
            if not isinstance(row[name], COLUMN_TYPES[name]):
                raise damaged(self.path, f"{what}: {name}")
            if name == "seconds" and not 0 <= row[name] < math.inf:
                raise damaged(self.path, f"{what}: {name}")
            if name == "status" and row[name] not in Status.__members__:
                raise damaged(self.path, f"{what}: {name}")
        return tuple(row)

    def _select(self, query: str, *values: Any) -> list[Any]:
        with reading(self.path):
            if self._copy is not None:
                self._copy.refresh()
            cursor = self._connection.execute(query, values)
            cursor.row_factory = sqlite3.Row
            return cursor.fetchall()


StoreLike: TypeAlias = str | os.PathLike[str] | Store


@contextmanager
def open_store(store: StoreLike, *, create: bool) -> Iterator[Store]:
    """Yield the store itself, or open the one at a path for as long as the block lasts."""
    if isinstance(store, Store):
        yield store
        return
    if not isinstance(store, str | os.PathLike):
        raise ParameterTypeError(f"`store` must be a path or a Store; got {shown(store)}.")
    with Store(store, create=create) as new:
        yield new
