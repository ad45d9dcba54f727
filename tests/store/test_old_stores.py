"""Stores from before version 0.2.0 are listed, and neither resumed nor changed."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app
from szoht.errors import RunMismatchError, StoreWriteError

FIXTURES = Path(__file__).with_name("fixtures") / "0.1"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.db"))


@pytest.fixture(params=NAMES)
def old(request, tmp_path):
    return Path(shutil.copy(FIXTURES / f"{request.param}.db", tmp_path))


def test_there_are_some():
    assert len(NAMES) == 3


def test_they_are_listed(old):
    with szoht.Store(old, create=False) as store:
        (summary,) = store.runs()
    assert summary.d > 0
    result = CliRunner().invoke(app, ["runs", str(old)])
    assert result.exit_code == 0
    assert summary.name in result.output


@pytest.mark.parametrize("command", ["report", "resume", "ask"])
def test_they_are_not_resumed(old, command):
    before = old.read_bytes()
    with pytest.raises(RunMismatchError, match="listed and not resumed"):
        szoht.resume(old, lambda x: float(x @ x))
    result = CliRunner().invoke(app, [command, str(old)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "listed and not resumed" in re.sub(r"[│\s]+", " ", result.output)
    assert old.read_bytes() == before


def test_nothing_is_added_to_them(old):
    before = old.read_bytes()
    with pytest.raises(StoreWriteError, match="Choose another file"):
        szoht.minimize(lambda x: float(x @ x), np.eye(3)[0], k=1, max_queries=10, store=old)
    assert old.read_bytes() == before
