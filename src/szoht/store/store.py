"""`Store`: runs in one file."""

import json
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
from typing import Any, Self, TypeAlias

from szoht.errors import (
    EncodingError,
    ParameterTypeError,
    RunBusyError,
    RunMismatchError,
    UnknownRunError,
)
from szoht.result import Status
from szoht.store import locking
from szoht.store.codec import Encoded
from szoht.store.database import connect, damaged, reading, writing
from szoht.store.settings import Settings
from szoht.store.sitting import Fault, Sitting
from szoht.store.snapshots import Snapshot

__all__ = ["RunSummary", "Store", "StoreLike", "opened"]

LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
ID_LENGTH = 6
OPEN = ("RUNNING", "STOPPED", "WAITING", "INTERRUPTED", "FAILED", "STORE")
RETRY_SECONDS = 0.02


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
        The file. Beside it, SQLite keeps ``-wal`` and ``-shm``, and we keep ``-lock``.
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
        self._connection = connect(self.path, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def create(self, settings: Settings) -> Sitting:
        """Start a run and return the sitting at it."""
        text, arrays = settings.encoded()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        crc = zlib.crc32(arrays, zlib.crc32(text.encode()))
        row = (
            now,
            settings.version,
            settings.label,
            settings.algorithm,
            settings.x0.size,
            settings.k,
            str(settings.seed),
            text,
            arrays,
            crc,
        )
        written = 0
        while not written:  # until a name is found that is not taken
            name = "".join(secrets.choice(LETTERS) for _ in range(ID_LENGTH))
            with writing(self.path):
                written = self._connection.execute(
                    "INSERT OR IGNORE INTO runs VALUES "
                    "(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'RUNNING', 0.0)",
                    (name, *row),
                ).rowcount
        return self.sit(name)

    def sit(self, run: str | None = None, *, wait: float = 0.0) -> Sitting:
        """Take a run for this process alone, after ``wait`` seconds at most.

        Without a name, the newest unfinished run, or the newest if all are finished.
        """
        name = self.find(run)
        number, deadline = self._number(name), time.monotonic() + wait
        while not locking.acquire(self.path, number):
            if time.monotonic() >= deadline:
                owner = locking.owner(self.path, number) or "another process"
                raise RunBusyError(
                    f"run {name} of {self.path} belongs to {owner}, which is at work on it. Wait "
                    "for it, or end it."
                )
            time.sleep(RETRY_SECONDS)
        try:
            return self.look(name)
        except BaseException:
            locking.release(self.path, number)
            raise

    def look(self, run: str | None = None) -> Sitting:
        """Return a sitting that may read and not write: nobody else is kept from the run."""
        row = self._row(self.find(run))
        return Sitting(
            self._connection,
            self.path,
            number=row["number"],
            name=row["id"],
            settings=self.settings(row["id"]),
            status=self._status(row),
            seconds=row["seconds"],
            snapshot=self.snapshot(row["id"]),
        )

    def settings(self, run: str) -> Settings:
        """Return the parameters of a run."""
        row = self._row(run)
        if row["crc"] != zlib.crc32(row["arrays"], zlib.crc32(row["settings"].encode())):
            raise damaged(self.path, f"the settings of run {run}")
        try:
            return Settings.decoded(Encoded(row["settings"], row["arrays"]))
        except (EncodingError, TypeError, ValueError) as error:
            raise RunMismatchError(
                f"run {run}, made by szoht {row['version']}, cannot be read here: {error}. "
                f"Install szoht=={row['version']} to go on with it."
            ) from error

    def snapshot(self, run: str) -> Snapshot | None:
        """Return the newest snapshot of a run, if there is one."""
        rows = self._select(
            "SELECT round, summary, state, arrays, crc FROM snapshots WHERE run = ?",
            self._number(run),
        )
        if not rows:
            return None
        *fields, crc = rows[0]
        snapshot = Snapshot(*fields)
        if snapshot.crc != crc:
            raise damaged(self.path, f"the snapshot of run {run}")
        return snapshot

    def faults(self, run: str) -> list[Fault]:
        """Return the evaluations of a run that failed, in the order of their coming."""
        rows = self._select(
            "SELECT point, attempt, reason, stderr FROM faults WHERE run = ? ORDER BY number",
            self._number(run),
        )
        return [Fault(*row) for row in rows]

    def runs(self) -> list[RunSummary]:
        """Return a line for each run, the oldest first."""
        rows = self._select(
            "SELECT runs.*, summary FROM runs LEFT JOIN snapshots ON run = number ORDER BY number"
        )
        try:
            return [_summary(row, self.path) for row in rows]
        except (ValueError, TypeError) as error:
            raise damaged(self.path, "the list of runs") from error

    def find(self, run: str | None = None) -> str:
        """Return the full name of a run: the newest unfinished one, or the newest, if None."""
        known = self.runs()
        if run is not None:
            if run not in (summary.name for summary in known):
                listed = ", ".join(summary.name for summary in known) or "none"
                raise UnknownRunError(f"there is no run {run!r} in {self.path}; known: {listed}.")
            return run
        if not known:
            raise UnknownRunError(f"there is no run in {self.path} yet.")
        unfinished = [summary for summary in known if not summary.finished]
        return (unfinished or known)[-1].name

    def _row(self, run: str) -> Any:
        return self._select("SELECT * FROM runs WHERE id = ?", self.find(run))[0]

    def _status(self, row: Any) -> Status:
        try:
            return Status[row["status"]]
        except KeyError as error:
            raise damaged(self.path, f"the status of run {row['id']}") from error

    def _number(self, run: str) -> int:
        return int(self._row(run)["number"])

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


def _summary(row: sqlite3.Row, path: Path) -> RunSummary:
    shown = json.loads(row["summary"]) if row["summary"] else {}
    status = row["status"]
    owner = locking.owner(path, row["number"])
    if status == "RUNNING" and not (owner and owner.alive):
        status = "WAITING" if row["function"] is None else "STOPPED"
    return RunSummary(
        name=row["id"],
        started=row["started"],
        function=row["function"],
        algorithm=row["algorithm"],
        d=row["d"],
        k=row["k"],
        seed=int(row["seed"]),
        status=status,
        seconds=row["seconds"],
        queries=shown.get("queries", 0),
        iteration=shown.get("iteration", 0),
        best=shown.get("best"),
    )
