"""Files that are no stores, damaged ones, stores of the future: an error, and no byte changed."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

import szoht
from szoht.errors import RunBusyError, StoreFileError
from szoht.store import database

D = 30


def fun(x):
    return float(((x - np.eye(D)[4]) ** 2).sum())


def run(store, **more):
    settings = {"k": 2, "method": "szoht", "options": {"q": 10}, "max_queries": 400, "rng": 0}
    return szoht.minimize(fun, np.zeros(D), store=store, **settings | more)


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "runs.db"
    run(path)
    return path


def refused(path, match):
    before = path.read_bytes()
    for use in (lambda: run(path), lambda: szoht.resume(path, fun), lambda: szoht.Store(path)):
        with pytest.raises(StoreFileError, match=match):
            use()
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"text\n" * 100, b"\0" * 5000, b"SQLite format 3\0"])
def test_a_foreign_file(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    refused(path, "is not a run store; it was left as it is")


def test_the_database_of_another_program(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE runs (id TEXT)")
        connection.commit()
    refused(path, "is not a run store")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_nothing_is_made_beside_the_database_of_another_program(tmp_path, mode):
    path, copy = tmp_path / "other.db", tmp_path / "copy" / "other.db"
    copy.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE runs (id TEXT)")
        for file in tmp_path.glob("other.db*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, copy.parent)
    before = {file.name: file.read_bytes() for file in copy.parent.iterdir()}
    refused(copy, "is not a run store")
    assert {file.name: file.read_bytes() for file in copy.parent.iterdir()} == before


def test_a_store_of_the_future(store):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(f"PRAGMA user_version = {database.VERSION + 1}")
    refused(store, "was written by a newer version")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_truncated_store(store, share):
    content = store.read_bytes()
    store.write_bytes(content[: int(len(content) * share)])
    refused(store, "is damaged|is not a run store")


def test_damage_at_random_places_is_found_or_does_no_harm(store):
    """Whatever byte is changed: an error of ours, or the very same result."""
    rng = np.random.default_rng(0)
    content = store.read_bytes()
    whole = szoht.resume(store, fun)
    found = 0
    for _ in range(60):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
        store.write_bytes(bytes(damaged))
        try:
            result = szoht.resume(store, fun)
        except szoht.SzohtError:
            found += 1
            assert store.read_bytes() == bytes(damaged)
        else:
            assert result.x.tobytes() == whole.x.tobytes()
            assert result.nfev == whole.nfev
    assert found > 0


def test_an_answer_that_was_changed(store):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(
            'UPDATE answers SET "values" = zeroblob(8) WHERE round = 1 AND query = 2'
        )
        connection.commit()
    before = store.read_bytes()
    with pytest.raises(StoreFileError, match="an answer of round 1"):
        szoht.resume(store, fun)
    assert store.read_bytes() == before


def test_settings_that_were_changed(store):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE runs SET settings = replace(settings, '400', '500')")
        connection.commit()
    with pytest.raises(StoreFileError, match="the settings of run"):
        szoht.resume(store, fun)


def test_a_folder_and_an_empty_file(tmp_path):
    with pytest.raises(StoreFileError, match="is not a file"):
        szoht.Store(tmp_path)
    empty = tmp_path / "empty.db"
    empty.touch()
    with pytest.raises(StoreFileError, match="is empty, so it is not a run store yet"):
        szoht.resume(empty, fun)
    assert run(empty).run is not None


OWNER = """
import sys, time
from szoht import Store
with Store(sys.argv[1]) as store, store.lock() as run:
    print(run.name, flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_and_a_dead_owner_is_not_waited_for(store):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, store], stdout=subprocess.PIPE, text=True
    )
    try:
        assert owner.stdout.readline().strip()
        with pytest.raises(RunBusyError, match=f"locked by process {owner.pid} on "):
            szoht.resume(store, fun)
        other = run(store)  # another run of the same store is nobody's business
        assert other.nfev > 0
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    with szoht.Store(store) as file:
        first = file.runs()[0].name
    assert szoht.resume(store, fun, run=first).nfev > 0
