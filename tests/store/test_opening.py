"""Opening a store: killed while it was new, full disks, locks, and what it costs."""

import errno
import math
import os
import shutil
import sqlite3
import struct
import threading
from contextlib import closing

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app
from szoht.errors import RunBusyError, StoreFileError, StoreWriteError
from szoht.result import Status
from szoht.run import external as remote
from szoht.store import database, files, locking, replay, stored_run

D = 12
SETTINGS = {"k": 2, "method": "szoht", "options": {"q": 4}, "max_queries": 30, "rng": 0}


def fun(x):
    return float(((x - np.eye(D)[4]) ** 2).sum())


def run(store, **more):
    return szoht.minimize(fun, np.zeros(D), store=store, **SETTINGS | more)


def copy(path, to):
    for end in ("", "-journal", "-wal"):
        if os.path.exists(f"{path}{end}"):  # noqa: PTH110
            shutil.copy(f"{path}{end}", f"{to}{end}")


def assert_usable(path):
    assert run(path).nfev > 0
    with szoht.Store(path) as store:
        assert len(store.runs()) == 1


def hot_journal(n_pages):
    """Return the journal of a transaction that began when the file had ``n_pages`` pages.

    As SQLite writes it: magic, number of records, nonce, pages at the start, sector and page size.
    """
    numbers = (0, 7, n_pages, 512, 4096)
    header = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + struct.pack(">5I", *numbers)
    return header.ljust(512, b"\0")


def test_killed_at_each_step_of_making_a_store(tmp_path, monkeypatch):
    """A kill leaves what is on the disk at a statement; inside a commit, a journal too."""
    path = tmp_path / "runs.db"
    copies = []
    connect = sqlite3.connect

    def copied(statement):
        copies.append(tmp_path / f"{len(copies)}.db")
        copy(path, copies[-1])

    def traced(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(copied)
        return connection

    monkeypatch.setattr("sqlite3.connect", traced)
    szoht.Store(path).close()
    monkeypatch.undo()
    written = [left for left in copies if left.stat().st_size > 0]
    assert len(copies) > len(written) > 1
    for left in written:
        for n_pages in (0, left.stat().st_size // 4096):
            hot = left.with_name(f"{n_pages}-{left.name}")
            shutil.copy(left, hot)
            hot.with_name(f"{hot.name}-journal").write_bytes(hot_journal(n_pages))
            with pytest.raises(sqlite3.OperationalError), closing(read_only(hot)) as connection:
                connection.execute("SELECT * FROM sqlite_master")
            assert_usable(hot)
    for left in copies:
        assert_usable(left)


@pytest.mark.parametrize("n_pages", [None, 0])
def test_killed_before_anything_was_stored(tmp_path, n_pages):
    """The file is empty, or has pages of a transaction that began when it was."""
    path = tmp_path / "runs.db"
    if n_pages is None:
        path.touch()
    else:
        szoht.Store(path).close()
        path.with_name("runs.db-journal").write_bytes(hot_journal(n_pages))
    with pytest.raises(StoreFileError, match="is empty, so it is not a run store yet"):
        szoht.Store(path, create=False)
    for command in ("runs", "report", "resume"):
        outcome = CliRunner().invoke(app, [command, str(path)])
        assert outcome.exit_code == 2
        assert "is empty" in " ".join(outcome.output.replace("│", " ").split())
    assert_usable(path)


def test_the_journal_of_a_link_is_rolled_back(tmp_path):
    path, link = tmp_path / "runs.db", tmp_path / "link.db"
    szoht.Store(path).close()
    link.symlink_to(path)
    path.with_name("runs.db-journal").write_bytes(hot_journal(0))
    assert_usable(link)


def read_only(path):
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)


def test_the_hot_journal_of_another_program_is_left_alone(tmp_path):
    path, left = tmp_path / "other.db", tmp_path / "left.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 0")
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
        copy(path, left)
    before = [left.read_bytes(), left.with_name("left.db-journal").read_bytes()]
    with pytest.raises(StoreFileError, match="is not a run store"):
        szoht.Store(left)
    assert before == [left.read_bytes(), left.with_name("left.db-journal").read_bytes()]


def test_two_make_the_same_store(tmp_path):
    path = tmp_path / "runs.db"
    barrier, errors = threading.Barrier(4), []

    def make():
        barrier.wait()
        try:
            run(path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    with szoht.Store(path) as store:
        assert len(store.runs()) == 4


def test_a_store_without_a_version(tmp_path):
    path = tmp_path / "runs.db"
    run(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")
    before = path.read_bytes()
    with pytest.raises(StoreFileError, match="has no version of the schema"):
        run(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("function", ["_write_holder", "_open"])
def test_no_room_for_the_lock(tmp_path, monkeypatch, function):
    path = tmp_path / "runs.db"
    first = run(path)

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(locking, function, full)
    for use in (lambda: run(path), lambda: szoht.resume(path, fun)):
        with pytest.raises(StoreWriteError, match=r"lock file .* No space left on device"):
            use()
    monkeypatch.undo()
    assert not locking._OPEN_FILES
    assert szoht.resume(path, fun, run=first.run).nfev == first.nfev
    with szoht.Store(path) as store:
        assert len(store.runs()) == 1


def test_no_room_while_a_lock_is_given_back(tmp_path, monkeypatch):
    path = tmp_path / "runs.db"
    first = run(path)
    with szoht.Store(path) as store:
        stored = store.lock(first.run)
        monkeypatch.setattr(locking.os, "write", lambda *a: (_ for _ in ()).throw(OSError(28, "")))
        stored.close()
        monkeypatch.undo()
        store.lock(first.run).close()


def test_a_log_that_another_user_left_is_named(tmp_path, monkeypatch):
    path = tmp_path / "runs.db"
    run(path)
    may, log = files._may, tmp_path / "runs.db-wal"
    monkeypatch.setattr(files, "_may", lambda file, mode: file != log and may(file, mode))
    log.touch()
    with pytest.raises(StoreWriteError, match=r"another user has made runs.db-wal beside it"):
        raise_in_transaction(path, sqlite3.SQLITE_READONLY)


def raise_in_transaction(path, code):
    error = sqlite3.OperationalError("attempt to write a readonly database")
    error.sqlite_errorcode = code
    with database.writing(path):
        raise error


def test_another_name_of_a_store_has_the_same_locks(tmp_path):
    path, link = tmp_path / "runs.db", tmp_path / "link.db"
    first = run(path)
    link.symlink_to(path)
    with (
        szoht.Store(path) as store,
        store.lock(first.run),
        szoht.Store(link) as other,
        pytest.raises(RunBusyError),
    ):
        other.lock(first.run)


def test_a_lock_file_that_is_a_link_is_not_written(tmp_path):
    path, precious = tmp_path / "runs.db", tmp_path / "precious"
    run(path)
    precious.write_bytes(b"precious")
    lock = tmp_path / "runs.db-lock"
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(StoreWriteError, match="lock file"):
        szoht.resume(path, fun)
    assert precious.read_bytes() == b"precious"


def test_a_write_lock_that_is_not_given_back(tmp_path, monkeypatch):
    """Waiting has an end, which is a status of the run, and the run can be resumed."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    path = tmp_path / "runs.db"
    run(path)
    whole = szoht.minimize(fun, np.zeros(D), **SETTINGS)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        calls = []

        def held(x):
            calls.append(1)
            if len(calls) == 8:
                other.execute("BEGIN IMMEDIATE")
            return fun(x)

        result = szoht.minimize(held, np.zeros(D), store=path, **SETTINGS)
        assert result.status is Status.STORE
        with pytest.raises(StoreWriteError, match="another process has kept its write lock for"):
            run(path)
        other.execute("ROLLBACK")
    again = szoht.resume(path, held, run=result.run)
    assert again.x.tobytes() == whole.x.tobytes()


def statements(path, action):
    """Return the SQL statements of an action, and the rows that they gave."""
    seen = []
    connect = sqlite3.connect

    class Counting(sqlite3.Cursor):
        def fetchall(self):
            rows = super().fetchall()
            seen.append(len(rows))
            return rows

    class Connection(sqlite3.Connection):
        def cursor(self, factory=Counting):
            return super().cursor(factory)

        def execute(self, *arguments):
            return self.cursor().execute(*arguments)

    def traced(*arguments, **options):
        connection = connect(*arguments, factory=Connection, **options)
        connection.set_trace_callback(seen.append)
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sqlite3.connect", traced)
        action()
    return [
        entry if isinstance(entry, int) else " ".join(entry.split()[:2])
        for entry in seen
        if isinstance(entry, int) or not entry.startswith("PRAGMA")
    ]


ACTIONS = {
    "create": lambda path, name: run(path),
    "resume": lambda path, name: szoht.resume(path, fun, run=name),
    "newest": lambda path, name: szoht.resume(path, fun),
    "replay": lambda path, name: opened(path, lambda store: remote.replay(store, name)),
    "summary": lambda path, name: opened(path, lambda store: store.summary(name)),
    "faults": lambda path, name: opened(path, lambda store: store.faults(name)),
}


def opened(path, action):
    with szoht.Store(path) as store:
        return action(store)


@pytest.mark.parametrize("kind", ACTIONS)
def test_the_work_does_not_depend_on_the_number_of_runs(tmp_path, kind, monkeypatch):
    # answers are also written when a clock says so: a slow machine would write more often
    monkeypatch.setattr(stored_run, "COMMIT_INTERVAL_SECONDS", math.inf)
    monkeypatch.setattr(replay, "SNAPSHOT_SECONDS", math.inf)
    path = tmp_path / "runs.db"
    first = run(path)
    few = statements(path, lambda: ACTIONS[kind](path, first.run))
    for _ in range(5):
        run(path)
    many = statements(path, lambda: ACTIONS[kind](path, first.run))
    assert sum(isinstance(entry, str) for entry in few) >= 3
    assert few == many
