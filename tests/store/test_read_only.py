"""A store that may not be written can be listed and reported, and says so when it is to go on."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import szoht

D = 12
NOBODY = 65534

READER = """
import json, os, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[1])
import szoht
from szoht.run import external as remote
from szoht.cli.app import app
from typer.testing import CliRunner

path = Path(sys.argv[2])
runner = CliRunner()
runner.invoke(app, ["runs", "none.db"])  # imports what it needs while it may
if os.getuid() == 0:  # to whom modes mean nothing
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
found = {}
try:
    path.with_name("new").touch()
    found["can write"] = True
except PermissionError:
    found["can write"] = False
with szoht.Store(path, create=False) as store:
    (summary,) = store.runs()
    found["summary"] = [summary.status, summary.queries, summary.best]
    found["replayed"] = remote.replay(store, summary.name).result.nfev
    try:
        store.lock()
    except szoht.errors.StoreWriteError as error:
        found["lock"] = str(error)
try:
    szoht.resume(path, len)
except szoht.errors.StoreWriteError as error:
    found["resume"] = str(error)
for command in ("runs", "report"):
    result = runner.invoke(app, [command, str(path)])
    found[command] = [result.exit_code, result.output]
print(json.dumps(found))
"""


def fun(x):
    return float(((x - np.eye(D)[4]) ** 2).sum())


@pytest.fixture
def folder():
    """A folder that others may enter: those of pytest are its owner's alone."""
    with tempfile.TemporaryDirectory(prefix="szoht-") as name:
        outer = Path(name)
        outer.chmod(0o755)
        folder = outer / "shared"
        folder.mkdir()
        yield folder
        folder.chmod(0o755)


def protect(folder):
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


def run_as_another(code, path):
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(sys.path), path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_as_another(path):
    return json.loads(run_as_another(READER, path))


def assert_read(found, result):
    assert not found["can write"]
    assert found["summary"][1:] == [result.nfev, result.fun]
    assert found["replayed"] == result.nfev
    assert "can be read and not written" in found["lock"]
    assert "can be read and not written" in found["resume"]
    assert found["runs"][0] == 0
    assert found["report"][0] == 0
    assert f"{result.nfev} queries" in found["report"][1]


@pytest.fixture
def result(folder):
    return szoht.minimize(
        fun,
        np.zeros(D),
        k=2,
        method="szoht",
        options={"q": 4},
        max_queries=60,
        rng=0,
        store=folder / "runs.db",
    )


needs_modes = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")


@needs_modes
@pytest.mark.parametrize("with_lock", [True, False])
def test_a_protected_copy(folder, result, with_lock):
    path = folder / "runs.db"
    if not with_lock:
        (folder / "runs.db-lock").unlink()
    protect(folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert_read(read_as_another(path), result)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@needs_modes
def test_a_protected_file_in_an_open_folder(folder, result):
    path = folder / "runs.db"
    path.chmod(0o444)
    folder.chmod(0o777)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    found = read_as_another(path)
    assert found["can write"]
    assert_read(found | {"can write": False}, result)
    (folder / "new").unlink()
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


OWNER = """
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
import numpy as np
import szoht

szoht.minimize(abs, np.zeros(1), k=1, max_queries=5)  # imports what it needs while it may
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65533); os.setuid(65533)

def fun(x):
    return float(((x - np.eye(12)[4]) ** 2).sum())

result = szoht.minimize(
    fun, np.zeros(12), k=2, method="szoht", options={"q": 4}, max_queries=60, rng=0,
    store=sys.argv[2],
)
print(json.dumps([result.run, result.nfev, result.fun]))
"""


@needs_modes
@pytest.mark.parametrize("left", ["nothing", "log"])
def test_an_owner_is_not_locked_out_by_a_reader(folder, left):
    """Two users in a folder in which both may write; without the right to be two, one of them.

    Then it is the mode of the file that keeps the reader from writing it, and what a reader leaves
    behind would have that mode. A log is what a killed process leaves.
    """
    path = folder / "runs.db"
    folder.chmod(0o777)
    name, nfev, value = json.loads(run_as_another(OWNER, path))
    if left == "log":
        leave_a_log(path)
    path.chmod(0o444)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    found = read_as_another(path)
    (folder / "new").unlink()
    assert found["summary"][1:] == [nfev, value]
    assert "can be read and not written" in found["resume"]
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    for file in folder.glob("runs.db*"):
        file.chmod(0o644)
    again = json.loads(run_as_another(OWNER, path))
    assert again[1:] == [nfev, value]
    assert again[0] != name


def leave_a_log(path):
    """Leave a log beside a store, of the same owner, with what is not in the store itself."""
    kept = path.with_name("kept")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE runs SET algorithm = 'changed'")
        shutil.copy(f"{path}-wal", kept)
    owner = path.stat()
    log = kept.rename(f"{path}-wal")
    if os.getuid() == 0:
        os.chown(log, owner.st_uid, owner.st_gid)
    log.chmod(0o444)


@needs_modes
def test_while_its_owner_is_at_work(folder, result):
    """What is in the write-ahead log and nowhere else is read too."""
    path = folder / "runs.db"
    with szoht.Store(path) as store, store.lock(result.run):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE runs SET algorithm = 'changed'")
            connection.commit()
        folder.chmod(0o555)
        assert (folder / "runs.db-wal").stat().st_size > 0
        found = read_as_another(path)
        assert_read(found, result)
    assert "changed" in found["runs"][1]


@needs_modes
def test_a_file_that_may_not_be_read(folder, result):
    path = folder / "runs.db"
    code = READER.partition("found = {}")[0] + (
        "try:\n    szoht.Store(path)\nexcept szoht.errors.StoreError as error:\n    print(error)"
    )
    path.chmod(0o000)
    assert "cannot be read: Permission denied" in run_as_another(code, path)
    folder.chmod(0o000)
    assert "cannot be read: Permission denied" in run_as_another(code, path)


@needs_modes
def test_a_log_in_a_folder_that_is_protected(folder, result):
    """SQLite alone would have to write to read it."""
    path = folder / "runs.db"
    copy = folder / "copy"
    copy.mkdir()
    with szoht.Store(path), closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE runs SET algorithm = 'changed'")
        connection.commit()
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", copy)
    protect(copy)
    found = read_as_another(copy / "runs.db")
    copy.chmod(0o755)
    assert_read(found, result)
    assert "changed" in found["runs"][1]


@needs_modes
def test_a_log_that_may_not_be_read_is_not_ignored(folder, result):
    path = folder / "runs.db"
    path.chmod(0o444)
    log = folder / "runs.db-wal"
    log.touch()
    log.chmod(0o000)
    code = READER.partition("found = {}")[0] + (
        "try:\n    szoht.Store(path)\nexcept szoht.errors.StoreError as error:\n    print(error)"
    )
    assert "cannot be read: Permission denied" in run_as_another(code, path)
