"""The file of a store: its schema, and how it is opened without harming what is not one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from szoht.errors import StoreError, StoreFileError, StoreWriteError

__all__ = ["APPLICATION_ID", "VERSION", "connect", "damaged", "reading", "writing"]

APPLICATION_ID = 0x737A6F68
"""The letters "szoh", at byte 68 of the file: SQLite's own place for who a file belongs to."""

VERSION = 1
"""Of the schema, at byte 60 of the file (``PRAGMA user_version``)."""

SCHEMA = (
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        started TEXT NOT NULL,
        version TEXT NOT NULL,
        function TEXT,
        algorithm TEXT NOT NULL,
        d INTEGER NOT NULL,
        k INTEGER,
        seed TEXT NOT NULL,
        settings TEXT NOT NULL,
        arrays BLOB NOT NULL,
        crc INTEGER NOT NULL,
        status TEXT NOT NULL,
        seconds REAL NOT NULL
    )""",
    """CREATE TABLE rounds (
        run INTEGER NOT NULL REFERENCES runs,
        round INTEGER NOT NULL,
        points INTEGER NOT NULL,
        seconds REAL,
        PRIMARY KEY (run, round)
    ) WITHOUT ROWID""",
    """CREATE TABLE answers (
        run INTEGER NOT NULL REFERENCES runs,
        round INTEGER NOT NULL,
        query INTEGER NOT NULL,
        start INTEGER NOT NULL,
        stop INTEGER NOT NULL,
        "values" BLOB NOT NULL,
        gradient BLOB,
        crc INTEGER NOT NULL,
        PRIMARY KEY (run, round, query, start)
    ) WITHOUT ROWID""",
    """CREATE TABLE snapshots (
        run INTEGER PRIMARY KEY REFERENCES runs,
        round INTEGER NOT NULL,
        summary TEXT NOT NULL,
        state TEXT NOT NULL,
        arrays BLOB NOT NULL,
        crc INTEGER NOT NULL
    )""",
    """CREATE TABLE faults (
        number INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs,
        round INTEGER NOT NULL,
        point INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        reason TEXT NOT NULL,
        stderr TEXT NOT NULL,
        at TEXT NOT NULL
    )""",
)

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
BUSY_SECONDS = 30.0


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """Open a store for reading and writing; only with ``create`` may it be a new one.

    A file that is not a store, or a damaged one, is found out by reading alone.
    """
    known = path.exists() and (path.stat().st_size > 0 or not create)
    if known:
        check(path)
    elif not create:
        raise StoreError(f"There is no run store at {path}.")
    elif not path.parent.is_dir():
        raise StoreError(f"`store` must be in a folder that exists; got {path}.")
    with writing(path):
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            if not known:
                _create(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # FULL: a commit returns once the system says that it is on the disk
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
    return connection


def check(path: Path) -> None:
    """Raise unless ``path`` is a whole store of a version that is known here; read only."""
    if not path.is_file():
        raise StoreFileError(f"{path} is not a file.")
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if not header.startswith(MAGIC) or _number(header, 68) != APPLICATION_ID:
        raise StoreFileError(
            f"{path} is not a run store; it was left as it is. Choose another name for the store."
        )
    with reading(path), closing(sqlite3.connect(_read_only(path), uri=True)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise StoreFileError(
                f"{path} was written by a newer version of the library (schema {version}; this one "
                f"knows {VERSION}); it was left as it is. Upgrade szoht to read it."
            )
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise damaged(path, verdict)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours while reading."""
    try:
        yield
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
        raise StoreWriteError(
            f"The run store {path} cannot be written: {error}. What was stored before is kept."
        ) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, str(error)) from error


def _create(connection: sqlite3.Connection) -> None:
    """Write the schema in one transaction, so that a store is whole or not there."""
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone() == (0,):
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def damaged(path: Path, why: str) -> StoreFileError:
    """Return the error for a store in which something is not as it was written."""
    return StoreFileError(
        f"The run store {path} is damaged ({why}); it was left as it is. Restore it from a copy."
    )


def _number(header: bytes, offset: int) -> int:
    return int.from_bytes(header[offset : offset + 4], "big")


def _read_only(path: Path) -> str:
    return f"{path.resolve().as_uri()}?mode=ro"
