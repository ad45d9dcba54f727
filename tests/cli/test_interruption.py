"""Ctrl-C and its relatives on the command line: one signal ends a command, with its exit status."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from szoht.applications.portfolio import frontier
from szoht.cli.app import app
from szoht.paper import recording

PLANT = """
import time

def slow(x):
    time.sleep(0.02)
    return float(((x - 0.3) ** 2).sum())
"""

HEEDING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from szoht.cli import main
main()
"""
"""As in a terminal: in a job in the background some signals are switched off."""

SECONDS = 60
"""For a command to begin and to end; a machine may be slow."""


class Command:
    """A command in a process of its own, in a folder with a module `plant`."""

    def __init__(self, folder, *arguments):
        (folder / "plant.py").write_text(PLANT)
        self.log = folder / "log.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", HEEDING, *arguments],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"COLUMNS": "200"},
            )

    def wait_for(self, condition):
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)

    def stop(self, number):
        os.killpg(self.process.pid, number)
        return self.process.wait(timeout=SECONDS)


@pytest.fixture
def command(tmp_path):
    started = []

    def start(*arguments):
        started.append(Command(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


SOLVE = ("solve", "plant:slow", "--dim", "20", "-k", "2", "--budget", "3000", "--seed", "0")


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name
)
def test_a_signal_keeps_what_was_found(command, tmp_path, number):
    run = command(*SOLVE, "--store", "runs.db", "--output", "found.json")
    run.wait_for(lambda: "best" in run.log.read_text())
    assert run.stop(number) == 128 + number
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["status"] == "INTERRUPTED"
    assert found["nfev"] > 0
    assert f"szoht resume runs.db {found['run']}" in run.log.read_text()
    again = command("resume", "runs.db", "--budget", str(found["nfev"] + 10))
    assert again.process.wait(timeout=SECONDS) == 0, again.log.read_text()


def interrupted_at(call, function):
    """Return a function that is interrupted in one of its calls, and a list of what it returned."""
    returned = []

    def counted(*arguments, **options):
        if len(returned) + 1 == call:
            raise KeyboardInterrupt
        returned.append(function(*arguments, **options))
        return returned[-1]

    return counted, returned


def test_a_frontier_ends_with_one_ctrl_c(tmp_path, monkeypatch):
    solve, returned = interrupted_at(3, frontier.minimize)
    monkeypatch.setattr(frontier, "minimize", solve)
    arguments = ["portfolio", "port1", "-k", "5", "--budget", "4000", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 130
    assert len(returned) == 2
    assert not list(tmp_path.glob("weights*"))


def test_no_cut_curve_is_kept(tmp_path, monkeypatch):
    solve, returned = interrupted_at(4, recording.minimize)
    monkeypatch.setattr(recording, "minimize", solve)
    arguments = ["reproduce", "assets", "--quick", "--workers", "1", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 130, outcome.output
    assert "repeat the command to continue" in " ".join(outcome.output.split())
    assert len(list((tmp_path / "cache").rglob("*.npz"))) == len(returned) == 3
