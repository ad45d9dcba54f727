"""The file of a store and those beside it: what they are, and who may write them.

Only SQLite may open the file: if we closed a descriptor of our own, the system would release the
locks that SQLite holds for a run of this process (sqlite.org/howtocorrupt.html, section 2.2).
"""

import errno
import os
import sqlite3
import stat
from contextlib import closing, suppress
from io import FileIO
from pathlib import Path

from szoht.errors import StoreFileError
from szoht.store.schema import APPLICATION_ID

__all__ = [
    "beside",
    "error_code",
    "foreign_files",
    "holds_store",
    "is_writable",
    "open_beside",
    "pages_of",
    "roll_back",
]

JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"


def holds_store(path: Path) -> bool:
    """Tell whether a file is a store: False if it is empty or not there, an error otherwise."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(status.st_mode):
        raise StoreFileError(f"{path} is not a file.")
    if not _may(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if status.st_size > 0 and _application_id(path) != APPLICATION_ID:
        raise StoreFileError(
            f"{path} is not a run store; it was left as it is. Choose another name for the store."
        )
    return status.st_size > 0


def _application_id(path: Path) -> int:
    """Return the number by which SQLite knows a file's application, 0 if it is no database."""
    with closing(pages_of(path)) as connection:
        try:
            (number,) = connection.execute("PRAGMA application_id").fetchone()
        except sqlite3.DatabaseError as error:
            if error_code(error) != sqlite3.SQLITE_NOTADB:
                raise
            return 0
    return int(number)


def roll_back(path: Path, *, timeout: float) -> None:
    """Roll back what a process left behind that was killed while it created the store.

    Later a store has no rollback journal: SQLite's write-ahead log takes its place.
    """
    if beside(path, "-journal").exists() and is_writable(path):
        _check_journal(path)
        with closing(sqlite3.connect(path, timeout=timeout)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _check_journal(path: Path) -> None:
    """Raise if a journal names another file: SQLite would delete that one after rolling back.

    The journal of a transaction over several files ends with the name of the file that holds them
    together, a checksum, and the magic of journals. A store has no such transactions.
    """
    with suppress(FileNotFoundError), open_beside(path, "-journal") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(JOURNAL_MAGIC)))
        if file.read() == JOURNAL_MAGIC:
            raise StoreFileError(
                f"The journal of {path} is not one of a run store, because it names another file; "
                "both were left as they are. Do not use a store from a source you do not trust."
            )


def pages_of(path: Path) -> sqlite3.Connection:
    """Open a file as it stands: without locks, log and journal, and nothing is made beside it."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    # a header that counts pages which are still in the log, or are to be rolled back, is no error
    connection.execute("PRAGMA writable_schema = ON")
    return connection


def beside(path: Path, end: str) -> Path:
    """Return where SQLite has the file of a store that ends like this."""
    real = path.resolve()
    return real.with_name(real.name + end)


def open_beside(path: Path, end: str) -> FileIO:
    """Open the log or the journal of a store to read it: they have no locks that could be lost."""
    # links are not followed, and a pipe that a stranger made is not waited for
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(beside(path, end), flags | getattr(os, "O_BINARY", 0))
    return os.fdopen(descriptor, "rb", buffering=0)  # what was read before may have changed


def is_writable(path: Path) -> bool:
    """Tell whether this process may write a store, and SQLite's files beside it."""
    real = path.resolve()
    return _may(real, os.W_OK) and _may(real.parent, os.W_OK)


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def foreign_files(path: Path) -> str | None:
    """Say which of SQLite's own files another user has left behind, if there are such."""
    log = beside(path, "-wal")
    foreign = [
        file.name
        for file in (log, beside(path, "-shm"))
        if file.exists() and not _may(file, os.W_OK)
    ]
    if not foreign:
        return None
    return (
        f"another user has made {' and '.join(foreign)} beside it. When no process has the store "
        f"open, delete them if {log.name} is empty; if not, that user has to open the store"
    )


def error_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary code of an error, without the extended one."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
