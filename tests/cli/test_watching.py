"""What one sees of a long run: lines in a redirected log, and what Ctrl-C says."""

import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

MODULE = """
import time
from pathlib import Path

def fast(x):
    return float(((x - 1) ** 2).sum())

def slow(x):
    Path("called").touch()
    time.sleep(0.02)
    return fast(x)
"""


@pytest.fixture
def start(tmp_path):
    """Return a function that starts the command line in a folder with a module."""
    (tmp_path / "model.py").write_text(MODULE)

    def begin(*arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "szoht", *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"TERM": "xterm"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return begin


def interrupt(process, folder):
    deadline = time.monotonic() + 60
    while not (folder / "called").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


SOLVE = ("--dim", 30, "-k", 2, "--seed", 0)


def test_a_redirected_log_has_lines(start):
    out, log = start("solve", "model:fast", *SOLVE).communicate(timeout=60)
    assert "CONVERGED" in out
    assert "best 30 after 1 query, 0 non-zeros" in log
    assert "best 28 after" in log
    assert "nothing left to improve" in log.splitlines()[-1]


def test_a_quiet_run_has_none(start):
    out, log = start("solve", "model:fast", *SOLVE, "--quiet").communicate(timeout=60)
    assert "CONVERGED" in out
    assert log == ""


def test_ctrl_c_says_how_to_resume(start, tmp_path):
    process = start("solve", "model:slow", *SOLVE, "--store", "my runs.db")
    out, log = interrupt(process, tmp_path)
    assert process.returncode == 130
    assert "INTERRUPTED" in out
    command = log.splitlines()[-1].partition("to continue: ")[2]
    assert command.startswith("szoht resume 'my runs.db' ")
    (tmp_path / "called").unlink()
    again = start(*shlex.split(command)[1:])
    _, log = interrupt(again, tmp_path)
    assert again.returncode == 130
    assert log.splitlines()[-1].endswith(command)


def test_ctrl_c_without_a_store_says_what_is_lost(start, tmp_path):
    process = start("solve", "model:slow", *SOLVE)
    _, log = interrupt(process, tmp_path)
    assert process.returncode == 130
    assert "Nothing was stored" in log.splitlines()[-1]
    assert "--store FILE" in log.splitlines()[-1]
