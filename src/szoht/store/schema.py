"""The tables of a store, by the version of the schema."""

from collections.abc import Mapping

__all__ = ["APPLICATION_ID", "FIRST_RESUMABLE", "SCHEMAS", "VERSION"]

APPLICATION_ID = 0x737A6F68
"""The letters "szoh", at byte 68 of the file: SQLite's field for a file's application."""

VERSION = 2
"""Of the schema, at byte 60 of the file (``PRAGMA user_version``)."""

FIRST_RESUMABLE = 2
"""The first version whose runs can be continued, that of szoht 0.2.0; earlier ones are listed."""

RUNS_TABLE = """CREATE TABLE runs (
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
    )"""

ROUNDS_TABLE_1 = """CREATE TABLE rounds (
        run INTEGER NOT NULL REFERENCES runs,
        round INTEGER NOT NULL,
        points INTEGER NOT NULL,
        seconds REAL,
        PRIMARY KEY (run, round)
    ) WITHOUT ROWID"""

ROUNDS_TABLE = """CREATE TABLE rounds (
        run INTEGER NOT NULL REFERENCES runs,
        round INTEGER NOT NULL,
        digest INTEGER NOT NULL,
        points BLOB NOT NULL,
        crc INTEGER NOT NULL,
        seconds REAL,
        PRIMARY KEY (run, round)
    ) WITHOUT ROWID"""
"""A plan: a checksum of its points to the last bit, and the points. The time is NULL until all of
them are answered. Rounds below zero measured the end of a run that then went on."""

PARTS_TABLE = """CREATE TABLE parts (
        run INTEGER NOT NULL REFERENCES runs,
        part INTEGER NOT NULL,
        round INTEGER NOT NULL,
        state TEXT NOT NULL,
        arrays BLOB NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (run, part)
    ) WITHOUT ROWID"""
"""From ``round`` on a run goes on from another state than the rounds before it lead to."""

ANSWERS_TABLE = """CREATE TABLE answers (
        run INTEGER NOT NULL REFERENCES runs,
        round INTEGER NOT NULL,
        query INTEGER NOT NULL,
        start INTEGER NOT NULL,
        stop INTEGER NOT NULL,
        "values" BLOB NOT NULL,
        gradient BLOB,
        crc INTEGER NOT NULL,
        PRIMARY KEY (run, round, query, start)
    ) WITHOUT ROWID"""

SNAPSHOTS_TABLE = """CREATE TABLE snapshots (
        run INTEGER PRIMARY KEY REFERENCES runs,
        round INTEGER NOT NULL,
        summary TEXT NOT NULL,
        state TEXT NOT NULL,
        arrays BLOB NOT NULL,
        crc INTEGER NOT NULL
    )"""

FAULTS_TABLE = """CREATE TABLE faults (
        number INTEGER PRIMARY KEY,
        run INTEGER NOT NULL REFERENCES runs,
        round INTEGER NOT NULL,
        point INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        reason TEXT NOT NULL,
        stderr TEXT NOT NULL,
        at TEXT NOT NULL
    )"""

SCHEMAS: Mapping[int, tuple[str, ...]] = {
    1: (RUNS_TABLE, ROUNDS_TABLE_1, ANSWERS_TABLE, SNAPSHOTS_TABLE, FAULTS_TABLE),
    2: (RUNS_TABLE, ROUNDS_TABLE, PARTS_TABLE, ANSWERS_TABLE, SNAPSHOTS_TABLE, FAULTS_TABLE),
}
