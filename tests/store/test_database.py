"""A process that opens its own store again, while others come and go: no answer is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from store.opened_twice import STOPPED_AT, Q

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks, and locks of POSIX")


def left_after(path, other):
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("opened_twice.py"), path, other],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_another_process_lists_the_runs_and_the_run_is_killed(tmp_path):
    left = left_after(tmp_path / "runs.db", "killed")
    (kept,) = left["stored"]
    assert kept >= STOPPED_AT - 1 - (Q + 1)  # all but the plan that was being evaluated
    assert left["status"] == ["STOPPED"]
    assert left["missing"] == left["whole"] - kept
    assert left["same"]
    assert left["integrity"] == "ok"


def test_the_run_ends_while_another_process_stores_one(tmp_path):
    left = left_after(tmp_path / "runs.db", "ends")
    assert left["stored"] == left["evaluated"]
    assert left["status"] == ["QUERIES", "QUERIES"]
    assert left["missing"] == 0
    assert left["same"]
    assert left["integrity"] == "ok"


USES = """
import sys
opened = []
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        opened.append(str(arguments[0]))
sys.addaudithook(note)

import numpy as np
import szoht
from szoht.cli.app import app
from typer.testing import CliRunner

def fun(x):
    return float((x - 1) @ (x - 1))

path = sys.argv[1]
first = szoht.minimize(fun, np.zeros(5), k=2, max_queries=30, rng=0, store=path)
szoht.minimize(fun, np.zeros(5), k=2, max_queries=30, rng=1, store=path, known=path)
szoht.resume(path, fun, run=first.run, max_queries=40)
with szoht.Store(path) as store:
    store.runs()
for command in ("runs", "report", "ask"):
    CliRunner().invoke(app, [command, path])
assert sum(name.endswith("-lock") for name in opened) > 0
print([name for name in opened if name in (path, path + "-shm")])
"""


def test_only_sqlite_opens_a_store(tmp_path):
    """If anything else closes one of its descriptors, the locks of this process are gone."""
    done = subprocess.run(
        [sys.executable, "-c", USES, str(tmp_path / "runs.db")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "[]", done.stderr
