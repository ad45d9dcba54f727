"""The database of a store: its schema, how it is opened and checked, and its transactions."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from szoht.errors import StoreError, StoreFileError, StoreWriteError
from szoht.store.copies import ReadCopy
from szoht.store.files import (
    error_code,
    foreign_files,
    holds_store,
    is_writable,
    roll_back,
)
from szoht.store.schema import APPLICATION_ID, SCHEMAS, VERSION

__all__ = ["connect", "damaged", "reading", "transaction", "writing"]

BUSY_SECONDS = 30.0
BUSY_RETRY_SECONDS = 0.01
"""How long a statement waits while another process writes."""


def connect(path: Path, *, create: bool) -> tuple[sqlite3.Connection, ReadCopy | None]:
    """Open a store; only with ``create`` may it be a new one.

    A file that is not a store, or a damaged one, is found out by reading alone. A store that may
    not be written, or that lies in a folder where SQLite may not put its own files, is read from
    a copy, which is then returned too.
    """
    with reading(path):
        if holds_store(path):
            roll_back(path, timeout=BUSY_SECONDS)
        known = holds_store(path)
    if not known:
        _check_new(path, create=create)
    elif not is_writable(path):
        with reading(path):
            copy = ReadCopy(path, lambda connection: check(connection, path))
        return copy.connection, copy
    else:
        with reading(path), closing(_read_only(path)) as connection:
            check(connection, path)
    return _open_to_write(path, is_new=not known), None


def _open_to_write(path: Path, *, is_new: bool) -> sqlite3.Connection:
    with writing(path):
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            if is_new:
                _patiently(lambda: _create(connection))
            _patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"))
            # FULL: a commit returns once the system says that it is on the disk
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
    return connection


def _patiently(step: Callable[[], object]) -> None:
    """Take a step again while another process holds the file: here SQLite does not always wait."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            step()
        except sqlite3.OperationalError as error:
            if error_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(BUSY_RETRY_SECONDS)
        else:
            return


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise unless a file is a whole store of a version that is known here, and nothing else."""
    with reading(path):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise StoreFileError(
                f"{path} was written by a newer version of the library (schema {version}; this one "
                f"knows {VERSION}); it was left as it is. Upgrade szoht to read it."
            )
        if version < 1:
            raise StoreFileError(
                f"{path} has no version of the schema, so it is not a run store as szoht makes "
                "them; it was left as it is."
            )
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        ).fetchall()
    if verdict != "ok":
        raise damaged(path, verdict)
    # views, triggers and computed columns would be code in the file
    if sorted(_words(sql) for (sql,) in rows) != sorted(map(_words, SCHEMAS[version])):
        raise StoreFileError(
            f"{path} has other tables than a run store of version {version}; it was left as it is."
        )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system into ours while reading."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        why = error.strerror or error
        raise StoreError(f"The run store {path} cannot be read: {why}.") from error
    except sqlite3.OperationalError as error:
        raise StoreError(f"The run store {path} cannot be read: {error}.") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours while writing."""
    try:
        yield
    except sqlite3.OperationalError as error:
        why = str(error)
        if error_code(error) == sqlite3.SQLITE_BUSY:
            why = f"another process has kept its write lock for {BUSY_SECONDS:g} seconds"
        if error_code(error) == sqlite3.SQLITE_READONLY:
            why = foreign_files(path) or why
        raise StoreWriteError(
            f"The run store {path} cannot be written: {why}. What was stored before is kept."
        ) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, str(error)) from error


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Write all that happens inside, or nothing."""
    with writing(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _create(connection: sqlite3.Connection) -> None:
    """Write the schema in one transaction, so that a store is whole or not there."""
    if connection.in_transaction:  # of an attempt before
        connection.execute("ROLLBACK")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone() == (0,):
        # first, so that what a killed process leaves is known to be ours and can be rolled back
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        for statement in SCHEMAS[VERSION]:
            connection.execute(statement)
    connection.execute("COMMIT")


def damaged(path: Path, why: str) -> StoreFileError:
    """Return the error for a store in which something is not as it was written."""
    return StoreFileError(
        f"The run store {path} is damaged ({why}); it was left as it is. Restore it from a copy."
    )


def _check_new(path: Path, *, create: bool) -> None:
    if not create and path.exists():
        raise StoreFileError(
            f"{path} is empty, so it is not a run store yet: no run was stored in it. Start a run "
            "with it, or delete it."
        )
    if not create:
        raise StoreError(f"There is no run store at {path}.")
    if not path.parent.is_dir():
        raise StoreError(f"`store` must be in a folder that exists; got {path}.")


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)


def _words(sql: str | None) -> str:
    return " ".join((sql or "").split())
