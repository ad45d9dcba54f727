"""A copy of a store that is being written is the store as it was at one moment."""

import contextlib
import os
import shutil
import signal
import sqlite3
from contextlib import ExitStack, closing

import numpy as np
import pytest

import szoht
from szoht.errors import StoreError
from szoht.store import copies, database, files

ROWS = 200  # four to a page


def connect(path):
    connection = sqlite3.connect(path, isolation_level=None, timeout=60, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


@pytest.fixture
def path(tmp_path):
    """A database in which rows are marked one after another, each in a transaction."""
    path = tmp_path / "marks.db"
    with closing(connect(path)) as connection:
        connection.execute("CREATE TABLE marks (row INTEGER PRIMARY KEY, mark INTEGER, pad BLOB)")
        rows = [(row, 0, bytes(900)) for row in range(ROWS)]
        connection.executemany("INSERT INTO marks VALUES (?, ?, ?)", rows)
    return path


@pytest.fixture
def opened():
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(closing(connect(path)))


def mark(connection, *rows):
    for row in rows:
        connection.execute(
            "UPDATE marks SET mark = 1 + (SELECT max(mark) FROM marks) WHERE row = ?", (row,)
        )


def marks(connection):
    """Return how many rows were marked: those marked first, if no transaction is missing."""
    (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    rows = connection.execute("SELECT mark FROM marks WHERE mark > 0 ORDER BY mark").fetchall()
    assert verdict == "ok"
    assert [number for (number,) in rows] == list(range(1, len(rows) + 1))
    return len(rows)


def marks_in_copy(path):
    copy = path.parent / "copy" / "copy.db"
    copy.parent.mkdir()
    copies.copy_store(path, copy)
    with closing(sqlite3.connect(copy)) as connection:
        found = marks(connection)
    shutil.rmtree(copy.parent)
    return found


def interfere(monkeypatch, *, before=lambda: None, after=lambda: None):
    """Do something before and after the pages are copied for the first time; count the copies."""
    copied = []
    copy_pages = copies._copy_pages

    def disturbed(*arguments):
        copied.append(arguments)
        if len(copied) == 1:
            before()
        copy_pages(*arguments)
        if len(copied) == 1:
            after()

    monkeypatch.setattr(copies, "_copy_pages", disturbed)
    return copied


def test_nothing_is_made_beside_the_file(path):
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    assert marks_in_copy(path) == 0
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_what_is_in_the_log_and_nowhere_else(path, opened):
    writer = opened(path)
    mark(writer, 1, 100)
    assert marks_in_copy(path) == 2


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_log_that_grows(path, opened, monkeypatch, checkpoint):
    """Also if the file then has pages of the log, before or after they are copied."""
    writer = opened(path)
    mark(writer, 1)

    def write():
        mark(writer, 100, 2)
        if checkpoint:
            writer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    for when in ("before", "after"):
        with monkeypatch.context() as patch:
            copied = interfere(patch, **{when: write})
            assert marks_in_copy(path) == 3
        assert len(copied) == 1
        writer.execute("UPDATE marks SET mark = 0 WHERE mark > 1")


def test_a_log_that_is_begun_anew(path, opened, monkeypatch):
    """The copied file lacks the first mark, and so would the copied log."""
    writer = opened(path)
    mark(writer, 1)

    def write():
        writer.execute("PRAGMA wal_checkpoint(RESTART)")
        mark(writer, 100)

    copied = interfere(monkeypatch, after=write)
    assert marks_in_copy(path) == 2
    assert len(copied) == 2


def test_an_empty_log_that_is_filled_and_emptied(path, opened, monkeypatch):
    writer = opened(path)
    path.with_name("marks.db-wal").touch()

    def write():
        mark(writer, 1)
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    os.utime(path, ns=(0, 0))
    copied = interfere(monkeypatch, after=write)
    assert path.with_name("marks.db-wal").stat().st_size == 0
    assert marks_in_copy(path) == 1
    assert len(copied) == 2


@pytest.mark.parametrize("stays", [True, False])
def test_a_log_that_is_deleted_and_another_one(path, opened, monkeypatch, stays):
    """The copied file has three marks; the log of before has a page with the first alone."""
    writer = opened(path)
    mark(writer, 1)

    def write():
        writer.close()
        other = opened(path)
        mark(other, 2, 100)
        other.execute("PRAGMA wal_checkpoint(PASSIVE)")
        if not stays:
            other.close()

    copied = interfere(monkeypatch, before=write)
    assert marks_in_copy(path) == 3
    assert len(copied) == 2


@pytest.mark.parametrize("stays", [True, False])
def test_a_writer_comes_where_there_was_no_log(path, opened, monkeypatch, stays):
    def write():
        writer = opened(path)
        mark(writer, 1)
        if not stays:
            writer.close()

    # a file that changes twice within a tick of the system's clock looks the same
    os.utime(path, ns=(0, 0))
    copied = interfere(monkeypatch, after=write)
    assert marks_in_copy(path) == 1
    assert len(copied) == 2


def test_a_file_that_never_stays_the_same(path, opened, monkeypatch):
    monkeypatch.setattr(copies, "COPY_SECONDS", 0.0)
    monkeypatch.setattr(copies, "_copied", lambda *arguments: False)
    with pytest.raises(StoreError, match="it was written anew during each copy"):
        marks_in_copy(path)


def test_a_log_that_is_made_a_moment_too_late(path, opened, monkeypatch):
    open_beside, looked = copies.open_beside, []

    def too_early(*arguments):
        looked.append(arguments)
        if len(looked) == 1:
            raise FileNotFoundError
        return open_beside(*arguments)

    monkeypatch.setattr(copies, "open_beside", too_early)
    mark(opened(path), 1)
    assert marks_in_copy(path) == 1


@pytest.mark.parametrize("seed", range(10))
def test_whatever_happens_in_between(path, opened, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    rows, writers = rng.permutation(ROWS).tolist(), [opened(path)]

    def another():
        writers.pop().close()
        writers.append(opened(path))

    actions = (
        lambda: mark(writers[0], rows.pop()),
        lambda: writers[0].execute("PRAGMA wal_checkpoint(PASSIVE)"),
        lambda: writers[0].execute("PRAGMA wal_checkpoint(RESTART)"),
        another,
    )

    def act():
        for choice in rng.choice(len(actions), size=6, p=(0.6, 0.1, 0.1, 0.2)):
            actions[choice]()

    act()
    interfere(monkeypatch, before=act, after=act)
    marks_in_copy(path)


D = 8


def fun(x):
    return float(((x - 1) ** 2).sum())


def run(store, seed=0):
    return szoht.minimize(
        fun, np.zeros(D), k=2, method="szoht", max_queries=40, rng=seed, store=store
    )


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "runs.db"
    run(path)
    return path


def protect(monkeypatch, is_protected=lambda path: True):
    """Let stores be protected whoever runs the test, without any change of their modes."""
    for module in (database, files):
        monkeypatch.setattr(module, "is_writable", lambda path: not is_protected(path))


def test_a_store_that_is_read_sees_later_runs(store, monkeypatch):
    monkeypatch.setattr(copies, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(copies, "REFRESH_RATIO", 0.0)
    protect(monkeypatch, lambda path: path == store)
    link = store.with_name("link.db")
    link.symlink_to(store)
    with szoht.Store(store, create=False) as reader:
        first = reader.open_readonly()
        for count in (2, 3):
            name = run(link, seed=count).run
            assert [one.name for one in reader.runs()][-1] == name
            assert len(reader.runs()) == count
        assert first.snapshot is not None
        store.write_bytes(b"text" * 100)
        with pytest.raises(StoreError):
            reader.runs()


def test_a_journal_beside_a_protected_store(store, monkeypatch):
    protect(monkeypatch)
    store.with_name("runs.db-journal").write_bytes(b"journal")
    with pytest.raises(StoreError, match="its creation was cut short"):
        szoht.Store(store)


@pytest.fixture
def alarm():
    """Raise if the test waits for something that never comes."""

    def ring(*arguments):
        raise AssertionError("waited for a pipe")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal", "-lock"])
def test_a_pipe_is_not_waited_for(store, monkeypatch, end, protected):
    protect(monkeypatch, lambda path: protected)
    pipe = store.with_name(store.name + end)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with contextlib.suppress(StoreError), szoht.Store(store) as opened:
        assert len(opened.runs()) == 1
