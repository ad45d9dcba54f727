"""`Store`: runs in one file."""

import math
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from szoht.store.snapshots import Snapshot, read_summary
from szoht.store.spec import RunSpec
from szoht.store.stored_run import Fault, StoredRun

__all__ = ["RunSummary", "Store", "StoreLike", "open_store"]

ID_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
ID_LENGTH = 6
RETRY_SECONDS = 0.02

STORED_UNFINISHED = ("RUNNING", "INTERRUPTED", "FAILED", "STORE")
UNFINISHED = (*STORED_UNFINISHED, "STOPPED", "WAITING")

SELECT_NUMBER = "SELECT number, id FROM runs"
NEWEST_ROW = "ORDER BY number DESC LIMIT 1"

SELECT_SUMMARY = (
    "SELECT number, id, started, function, algorithm, d, k, seed, status, seconds, summary "
    "FROM runs LEFT JOIN snapshots ON run = number"
)

COLUMN_TYPES: dict[str, Any] = {
    **dict.fromkeys(("number", "d", "crc", "round", "point", "attempt"), int),
    **dict.fromkeys(("id", "started", "version", "algorithm", "seed", "settings", "status"), str),
    **dict.fromkeys(("state", "reason", "stderr"), str),
    "seconds": (float, int),
    "arrays": bytes,
    "k": (int, NoneType),
    "function": (str, NoneType),
    "summary": (str, NoneType),  # None in a list, for a run that has no snapshot yet
}
"""The types of the columns, which SQLite does not enforce."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of a list of runs.

    ``function`` is None if points are evaluated externally. ``status`` is the name of a `Status`,
    or of an open run that no process has locked: STOPPED, or WAITING for values from elsewhere.
    """

    name: str
    started: str
    function: str | None
    algorithm: str
    d: int
    k: int | None
    seed: int
    status: str
    seconds: float
    queries: int
    iteration: int
    best: float | None

    @property
    def finished(self) -> bool:
        """Whether there is nothing to resume."""
        return self.status not in UNFINISHED


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
        self._check_writable()
        number, name = self._find(run)
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
            rows = self._select(
                f"{SELECT_NUMBER} WHERE status IN (?, ?, ?, ?) {NEWEST_ROW}",
                *STORED_UNFINISHED,
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

    def _check_writable(self) -> None:
        if self._copy is not None:
            raise StoreWriteError(
                f"The run store {self.path} can be read and not written: the file or its folder "
                "is protected. Copy it to a folder that can be written to resume its runs."
            )

    def _open(self, number: int, *, locked: bool) -> StoredRun:
        row = self._row(number)
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
        if not rows:
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
        what = f"the entry of run {row['id']}"
        self._check_types(row, what)
        try:
            shown = {} if row["summary"] is None else read_summary(row["summary"])
            seed = int(row["seed"])
            datetime.fromisoformat(row["started"])
        except (EncodingError, ValueError) as error:
            raise damaged(self.path, f"{what}: {error}") from error
        status, seconds = row["status"], row["seconds"]
        holder = locking.holder(self.path, row["number"])
        if status == "RUNNING" and holder and holder.alive:
            seconds = max(seconds, holder.elapsed)  # a call of the function may take hours
        elif status == "RUNNING":
            status = "WAITING" if row["function"] is None else "STOPPED"
        return RunSummary(
            name=row["id"],
            started=row["started"],
            function=row["function"],
            algorithm=row["algorithm"],
            d=row["d"],
            k=row["k"],
            seed=seed,
            status=status,
            seconds=seconds,
            queries=shown.get("queries", 0),
            iteration=shown.get("iteration", 0),
            best=shown.get("best"),
        )

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
