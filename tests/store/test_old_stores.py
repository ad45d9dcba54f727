"""Stores that version 0.1 wrote are listed, reported and resumed to the same end."""

import json
import re
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from szoht.algorithms.registry import REVISIONS, revision
from szoht.cli.app import app
from szoht.errors import RunMismatchError
from szoht.run import external as remote
from szoht.store.names import PATHS_0_1

FIXTURES = Path(__file__).with_name("fixtures")
EXPECTED = json.loads((FIXTURES / "0.1" / "expected.json").read_text())
METHODS = [name for name in EXPECTED if name != "ask-tell"]


@pytest.fixture
def functions(monkeypatch):
    monkeypatch.syspath_prepend(str(FIXTURES))
    yield
    sys.modules.pop("functions", None)


@pytest.fixture
def stored(tmp_path):
    def copy(name):
        return Path(shutil.copy(FIXTURES / "0.1" / f"{name}.db", tmp_path))

    return copy


def report(path):
    result = CliRunner().invoke(app, ["report", str(path)])
    assert result.exit_code == 0, result.output
    return result.output


def has_first_revisions(path):
    """Tell whether nothing in the stored run has been changed so that it asks other points."""
    with closing(sqlite3.connect(path)) as connection:
        (text,) = connection.execute("SELECT settings FROM runs").fetchone()
    return all(revision(name) == 1 for path, name in PATHS_0_1.items() if f'"{path}"' in text)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_resumed(functions, stored, method, state):
    path = stored(f"{method}-{state}")
    expected = EXPECTED[method]
    if not has_first_revisions(path):
        with pytest.raises(RunMismatchError, match="the run was made with revision 1 of"):
            szoht.resume(path)
        return
    result = szoht.resume(path)
    assert result.x.tolist() == expected["x"]
    assert (result.fun, result.nfev, result.nit, result.status.name) == (
        expected["fun"],
        expected["nfev"],
        expected["nit"],
        expected["status"],
    )
    # and what has been written since then can be read as well
    assert np.array_equal(szoht.resume(path).x, result.x)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_listed_and_reported(stored, method, state):
    path = stored(f"{method}-{state}")
    with szoht.Store(path, create=False) as store:
        (summary,) = store.runs()
    output = report(path)
    assert f"run {summary.name}" in output
    if not has_first_revisions(path):
        assert "the run was made with revision 1 of" in output
    elif state == "finished":
        assert summary.status == EXPECTED[method]["status"]
        assert summary.best == EXPECTED[method]["fun"]
        assert f"{EXPECTED[method]['nfev']} queries" in output
    else:
        assert summary.status == "STOPPED"
        assert 0 < int(re.search(r"(\d+) queries", output)[1]) < EXPECTED[method]["nfev"]


def test_points_that_waited_still_wait(stored):
    path = stored("ask-tell")
    expected = EXPECTED["ask-tell"]
    with szoht.Store(path, create=False) as store:
        points = remote.waiting(store, expected["run"])
        assert [str(point.id) for point in points] == expected["waiting"]
        replies = [remote.Reply(point.id, float(i)) for i, point in enumerate(points)]
        told = remote.answer(store, expected["run"], replies)
        assert (told.new, told.unknown) == (len(points), [])
    assert "WAITING" in report(path)


@pytest.mark.parametrize(("method", "name"), [("auto", "auto"), ("zoro", "sparse_recovery")])
def test_files_without_a_revision_have_the_first(functions, stored, monkeypatch, method, name):
    path = stored(f"{method}-finished")
    monkeypatch.setitem(REVISIONS, name, 99)
    with pytest.raises(RunMismatchError, match=f"revision 1 of '{name}', and this is revision 99"):
        szoht.resume(path)
    output = report(path)
    assert f"best value {EXPECTED[method]['fun']:.10g}" in output
    assert f"revision 1 of '{name}'" in output
