"""A copy of a store that may not be written, so that reading leaves nothing beside the file.

Even to read a file in WAL mode, SQLite makes ``-wal`` and ``-shm`` beside it, and a reader who may
not write the file leaves them behind as its own: the owner could no longer write. Here SQLite gets
to see the pages of the file only, without locks, and they are copied together with the log.

A log is begun anew, with another header, once all of it is in the file. As long as its header is
the same, every page of the file that changed in the meantime is in the log too. So a copy of the
file and a later copy of the log are together the store as it was at one moment.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from szoht.errors import StoreError
from szoht.store.files import beside, open_beside, pages_of

__all__ = ["ReadCopy", "copy_store"]

LOG_HEADER_BYTES = 32

COPY_SECONDS = 30.0
"""How long copies are tried while the file changes under them: one takes milliseconds."""

REFRESH_SECONDS, REFRESH_RATIO = 1.0, 1.0
"""The time between two copies of a store that somebody writes, at least, in seconds and copies."""

_Stat: TypeAlias = tuple[int, int, int] | None


class ReadCopy:
    """A store as it was at one moment, copied again when it has changed.

    Parameters
    ----------
    path : Path
        The store.
    check : callable
        Raises unless the copy is whole.

    Attributes
    ----------
    connection : sqlite3.Connection
        To the copy, a temporary file that SQLite removes.
    """

    def __init__(self, path: Path, check: Callable[[sqlite3.Connection], None]) -> None:
        self._path = path.resolve()
        self._check = check
        self.connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            self._copy()
        except BaseException:
            self.connection.close()
            raise

    def refresh(self) -> None:
        """Copy the store again if it has changed since the last copy, which is not a recent one."""
        if time.monotonic() >= self._recent_until and _stats(self._path) != self._stats:
            self._copy()

    def _copy(self) -> None:
        start = time.monotonic()
        self._stats = _stats(self._path)
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            copy = Path(folder, "copy.db")
            copy_store(self._path, copy)
            with closing(sqlite3.connect(copy)) as source:
                self._check(source)
                source.backup(self.connection)
        end = time.monotonic()
        self._recent_until = end + max(REFRESH_SECONDS, REFRESH_RATIO * (end - start))


def copy_store(path: Path, copy: Path) -> None:
    """Copy a store and its log as they were at one moment, also while they are being written."""
    if beside(path, "-journal").exists():
        raise StoreError(
            f"The run store {path} is being created, or its creation was cut short: there is a "
            "journal beside it. Try again, or let somebody open it who may write it."
        )
    deadline = time.monotonic() + COPY_SECONDS
    while not _copied(path, copy):
        if time.monotonic() > deadline:
            raise StoreError(
                f"The run store {path} cannot be read: it was written anew during each copy for "
                f"{COPY_SECONDS:g} seconds. Try again."
            )


def _copied(path: Path, copy: Path) -> bool:
    """Copy the file, then the log; False if another log was begun in the meantime."""
    copied_log = beside(copy, "-wal")
    for old in (copy, copied_log):
        old.unlink(missing_ok=True)
    before = _stats(path)
    try:
        log = open_beside(path, "-wal")
    except FileNotFoundError:
        _copy_pages(path, copy)
        return before[1] is None and _stats(path) == before
    with log:
        header = log.read(LOG_HEADER_BYTES)
        _copy_pages(path, copy)
        log.seek(0)
        with copied_log.open("wb") as target:
            shutil.copyfileobj(log, target)
        if not header:  # nothing was written yet
            return _stats(path) == before
        log.seek(0)
        now = _stat(beside(path, "-wal"))
        still_there = now is not None and now[0] == os.fstat(log.fileno()).st_ino
        return still_there and log.read(LOG_HEADER_BYTES) == header


def _copy_pages(path: Path, copy: Path) -> None:
    with closing(pages_of(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def _stats(path: Path) -> tuple[_Stat, _Stat]:
    """Return what tells two states of the file apart, and of its log."""
    return _stat(path), _stat(beside(path, "-wal"))


def _stat(path: Path) -> _Stat:
    with suppress(FileNotFoundError):
        status = path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None
