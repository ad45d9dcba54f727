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
from szoht import remote
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
    found = read_as_another(path)
    assert_read(found | {"can write": False}, result)


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
def test_a_log_that_cannot_be_read_is_not_ignored(folder, result):
    path = folder / "runs.db"
    copy = folder / "copy"
    copy.mkdir()
    with szoht.Store(path), closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE runs SET algorithm = 'changed'")
        connection.commit()
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", copy)
    protect(copy)
    code = READER.partition("found = {}")[0] + (
        "try:\n    szoht.Store(path)\nexcept szoht.errors.StoreError as error:\n    print(error)"
    )
    output = run_as_another(code, copy / "runs.db")
    copy.chmod(0o755)
    assert "Copy both to a folder that can be written" in output
