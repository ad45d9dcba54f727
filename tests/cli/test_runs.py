"""``szoht runs`` and its like show whatever a stored command or name contains."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app
from szoht.executors import Threads
from szoht.run import external

PLAIN = [sys.executable, "-c", "print(1.0)"]


@pytest.fixture
def listed(tmp_path, monkeypatch):
    """Return what ``szoht runs`` prints of one run of a command with these arguments."""

    def show(*arguments, width=400, more=()):
        monkeypatch.setenv("COLUMNS", str(width))
        program = szoht.Program(command=[*PLAIN, *arguments])
        store = tmp_path / "runs.db"
        szoht.minimize(program, np.zeros(3), k=1, max_queries=4, rng=0, store=store)
        outcome = CliRunner().invoke(app, ["runs", str(store), *more])
        assert outcome.exit_code == 0, outcome.output
        return outcome.output

    return show


def test_what_looks_like_markup_is_shown_as_it_is(listed):
    assert "'[/x]' '[bold]y[/]'" in listed("[/x]", "[bold]y[/]")


def test_control_characters_are_written_out(listed):
    text = listed("\x1b[31mred", "two\nlines", "\x07")
    assert r"'\x1b[31mred' 'two\nlines' '\x07'" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [80, 100])
def test_a_narrow_terminal_cuts_only_function_and_algorithm_short(listed, width):
    text = listed("a-long-argument" * 10, width=width)
    name = json.loads(listed(more=["--json"]).splitlines()[0])["name"]
    (row,) = [line for line in text.splitlines() if name in line]
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" in row
    assert row.rstrip().endswith(("CONVERGED", "QUERIES"))


def test_resume_and_report_write_control_characters_out(tmp_path):
    store = tmp_path / "runs.db"
    failing = "import sys; sys.stderr.write('\x1b[2Jgone'); sys.exit(1)"
    program = szoht.Program(command=[sys.executable, "-c", failing, "\x1b[31m"])
    szoht.minimize(
        program,
        np.zeros(3),
        k=1,
        max_queries=4,
        rng=0,
        store=store,
        executor=Threads(1),
        retries=0,
        on_error="stop",
    )
    with szoht.Store(store) as opened:
        (name,) = (run.name for run in opened.runs())
    for command, shown in (("resume", r"\x1b[31m"), ("report", r"\x1b[2Jgone")):
        outcome = CliRunner().invoke(app, [command, str(store), name])
        assert "\x1b" not in outcome.output
        assert shown in outcome.output


def test_tell_writes_control_characters_out(tmp_path):
    store, knobs = tmp_path / "runs.db", szoht.Variables({"\x1b[31mred": 1.0, "blue": 2.0})
    run = szoht.AskTell(knobs, k=1, max_queries=20, rng=0)
    with szoht.Store(store) as file:
        name = external.begin(file, run, knobs, limits={"max_queries": 20})
    told = ""
    while asked := CliRunner().invoke(app, ["ask", str(store), name]).stdout:
        points = map(json.loads, asked.splitlines())
        values = [{"id": point["id"], "value": (point["x"][0] - 3) ** 2} for point in points]
        lines = "\n".join(map(json.dumps, values))
        told += CliRunner().invoke(app, ["tell", str(store)], input=lines).output
    assert r"{\x1b[31mred: 1 -> " in told
    assert "\x1b" not in told
