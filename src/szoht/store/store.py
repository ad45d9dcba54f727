"""`Store`: runs in one file."""

import math
import os
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType
from typing import Any, Self, TypeAlias, cast

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
from szoht.store.settings import Settings
from szoht.store.sitting import Fault, Sitting
from szoht.store.snapshots import Snapshot, read_summary

__all__ = ["RunSummary", "Store", "StoreLike", "opened"]

LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
ID_LENGTH = 6
RETRY_SECONDS = 0.02

STORED_OPEN = ("RUNNING", "INTERRUPTED", "FAILED", "STORE")
OPEN = (*STORED_OPEN, "STOPPED", "WAITING")

NUMBERS = "SELECT number, id FROM runs"
NEWEST = "ORDER BY number DESC LIMIT 1"

SUMMARIES = (
    "SELECT number, id, started, function, algorithm, d, k, seed, status, seconds, summary "
    "FROM runs LEFT JOIN snapshots ON run = number"
)

COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("number", "d", "crc", "round", "point", "attempt"), int),
    **dict.fromkeys(("id", "started", "version", "algorithm", "seed", "settings", "status"), str),
    **dict.fromkeys(("state", "reason", "stderr"), str),
    "seconds": (float, int),
    "arrays": bytes,
    "k": (int, NoneType),
    "function": (str, NoneType),
    "summary": (str, NoneType),  # None in a list, for a run that has no snapshot yet
}
"""What a column holds."""


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One line of a list of runs.

    ``function`` is None if points are evaluated elsewhere. ``status`` is the name of a `Status`,
    or of an open run that nobody is at work on: STOPPED, or WAITING for values from elsewhere.
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
        return self.status not in OPEN


class Store:
    """Runs in one SQLite file.

    Parameters
    ----------
    path : str or path
        The file. Beside it, SQLite keeps ``-wal`` and ``-shm``, and we keep ``-lock``. A file that
        may not be written can be read.
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
        self._connection, self._writable = connect(self.path, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def create(self, settings: Settings) -> Sitting:
        """Start a run and return the sitting at it."""
        self._check_writable()
        text, arrays = settings.encoded()
        row = (
            datetime.now(UTC).isoformat(timespec="seconds"),
            settings.version,
            settings.label,
            settings.algorithm,
            settings.x0.size,
            settings.k,
            str(settings.seed),
            text,
            arrays,
            zlib.crc32(arrays, zlib.crc32(text.encode())),
        )
        number = 0
        try:
            with transaction(self._connection, self.path):
                name, number = self._insert(row)
                self._acquire(name, number, wait=0.0)  # before another process can see the run
        except BaseException:
            locking.release(self.path, number)
            raise
        return Sitting(self._connection, self.path, number=number, name=name, settings=settings)

    def sit(self, run: str | None = None, *, wait: float = 0.0) -> Sitting:
        """Take a run for this process alone, after ``wait`` seconds at most.

        Without a name, the newest unfinished run, or the newest if all are finished.
        """
        self._check_writable()
        number, name = self._find(run)
        self._acquire(name, number, wait=wait)
        try:
            return self._at(name)
        except BaseException:
            locking.release(self.path, number)
            raise

    def look(self, run: str | None = None) -> Sitting:
        """Return a sitting that may read and not write: nobody else is kept from the run."""
        return self._at(self.find(run))

    def settings(self, run: str) -> Settings:
        """Return the parameters of a run."""
        return self._settings(self._row(run))

    def snapshot(self, run: str) -> Snapshot | None:
        """Return the newest snapshot of a run, if there is one."""
        return self._snapshot(*self._find(run))

    def faults(self, run: str) -> list[Fault]:
        """Return the evaluations of a run that failed, in the order of their coming."""
        number, name = self._find(run)
        rows = self._select(
            "SELECT point, attempt, reason, stderr FROM faults WHERE run = ? ORDER BY number",
            number,
        )
        return [Fault(*self._typed(row, f"a fault of run {name}")) for row in rows]

    def runs(self) -> list[RunSummary]:
        """Return a line for each run, the oldest first."""
        return [self._summary(row) for row in self._select(f"{SUMMARIES} ORDER BY number")]

    def summary(self, run: str) -> RunSummary:
        """Return the line of one run."""
        return self._summary(self._select(f"{SUMMARIES} WHERE number = ?", self._find(run)[0])[0])

    def find(self, run: str | None = None) -> str:
        """Return the name of a run: the newest unfinished one, or the newest, if None."""
        return self._find(run)[1]

    def _find(self, run: str | None) -> tuple[int, str]:
        """Return the number and the name of a run."""
        if run is not None:
            rows = self._select(f"{NUMBERS} WHERE id = ?", run)
        else:
            rows = self._select(f"{NUMBERS} WHERE status IN (?, ?, ?, ?) {NEWEST}", *STORED_OPEN)
            rows = rows or self._select(f"{NUMBERS} {NEWEST}")
        if rows:
            number, name = self._typed(rows[0], "the list of runs")
            return number, name
        known = ", ".join(str(row["id"]) for row in self._select("SELECT id FROM runs"))
        if run is None or not known:
            raise UnknownRunError(f"there is no run in {self.path} yet.")
        raise UnknownRunError(f"there is no run {run!r} in {self.path}; known: {known}.")

    def _insert(self, row: tuple[Any, ...]) -> tuple[str, int]:
        """Add a run under a name that is not taken."""
        while True:
            name = "".join(secrets.choice(LETTERS) for _ in range(ID_LENGTH))
            cursor = self._connection.execute(
                "INSERT OR IGNORE INTO runs VALUES "
                "(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'RUNNING', 0.0)",
                (name, *row),
            )
            if cursor.rowcount:
                return name, cast(int, cursor.lastrowid)

    def _acquire(self, name: str, number: int, *, wait: float) -> None:
        deadline = time.monotonic() + wait
        while not locking.acquire(self.path, number):
            if time.monotonic() >= deadline:
                owner = locking.owner(self.path, number) or "another process"
                raise RunBusyError(
                    f"run {name} of {self.path} belongs to {owner}, which is at work on it. Wait "
                    "for it, or end it."
                )
            time.sleep(RETRY_SECONDS)

    def _check_writable(self) -> None:
        if not self._writable:
            raise StoreWriteError(
                f"The run store {self.path} can be read and not written: the file or its folder "
                "is protected. Copy it to a folder that can be written to go on with its runs."
            )

    def _at(self, name: str) -> Sitting:
        row = self._row(name)
        return Sitting(
            self._connection,
            self.path,
            number=row["number"],
            name=row["id"],
            settings=self._settings(row),
            status=Status[row["status"]],
            seconds=row["seconds"],
            snapshot=self._snapshot(row["number"], row["id"]),
        )

    def _row(self, run: str) -> Any:
        rows = self._select("SELECT * FROM runs WHERE number = ?", self._find(run)[0])
        self._typed(rows[0], f"the entry of run {run}")
        return rows[0]

    def _settings(self, row: Any) -> Settings:
        if row["crc"] != zlib.crc32(row["arrays"], zlib.crc32(row["settings"].encode())):
            raise damaged(self.path, f"the settings of run {row['id']}")
        try:
            return Settings.decoded(Encoded(row["settings"], row["arrays"]))
        except EncodingError as error:
            raise RunMismatchError(
                f"run {row['id']}, made by szoht {row['version']}, cannot be read here: {error}. "
                f"Install szoht=={row['version']} to go on with it."
            ) from error

    def _snapshot(self, number: int, name: str) -> Snapshot | None:
        what = f"the snapshot of run {name}"
        rows = self._select(
            "SELECT round, summary, state, arrays, crc FROM snapshots WHERE run = ?", number
        )
        if not rows:
            return None
        *contents, crc = self._typed(rows[0], what)
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
        self._typed(row, what)
        try:
            shown = {} if row["summary"] is None else read_summary(row["summary"])
            seed = int(row["seed"])
            datetime.fromisoformat(row["started"])
        except (EncodingError, ValueError) as error:
            raise damaged(self.path, f"{what}: {error}") from error
        status = row["status"]
        owner = locking.owner(self.path, row["number"])
        if status == "RUNNING" and not (owner and owner.alive):
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
            seconds=row["seconds"],
            queries=shown.get("queries", 0),
            iteration=shown.get("iteration", 0),
            best=shown.get("best"),
        )

    def _typed(self, row: Any, what: str) -> tuple[Any, ...]:
        """Return a row, each of whose columns must be of its type: SQLite does not insist."""
        for name in row.keys():  # noqa: SIM118  (a row is no dict)
            if not isinstance(row[name], COLUMNS[name]):
                raise damaged(self.path, f"{what}: {name}")
            if name == "seconds" and not 0 <= row[name] < math.inf:
                raise damaged(self.path, f"{what}: {name}")
            if name == "status" and row[name] not in Status.__members__:
                raise damaged(self.path, f"{what}: {name}")
        return tuple(row)

    def _select(self, query: str, *values: Any) -> list[Any]:
        with reading(self.path):
            cursor = self._connection.execute(query, values)
            cursor.row_factory = sqlite3.Row
            return cursor.fetchall()


StoreLike: TypeAlias = str | os.PathLike[str] | Store


@contextmanager
def opened(store: StoreLike, *, create: bool) -> Iterator[Store]:
    """Yield the store itself, or open the one at a path for as long as the block lasts."""
    if isinstance(store, Store):
        yield store
        return
    if not isinstance(store, str | os.PathLike):
        raise ParameterTypeError(f"`store` must be a path or a Store; got store={store!r}.")
    with Store(store, create=create) as new:
        yield new
