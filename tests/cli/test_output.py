"""Where results go is checked before the first query; what was computed is never lost."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from szoht.cli import options
from szoht.cli.app import app
from szoht.core.csv_text import parse_csv
from szoht.errors import ParameterError

MODULE = """
from pathlib import Path
def fun(x):
    with Path("calls").open("a") as file:
        file.write("x")
    return float((x - 1.0) @ (x - 1.0))
def slow(x):
    import time
    print("called", flush=True)
    time.sleep(60)
"""
PROBLEM = ["--dim", "10", "-k", "2", "--budget", "20", "--seed", "0", "--quiet"]
SOLVE = ["solve", "module_for_output:fun", *PROBLEM]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "module_for_output.py").write_text(MODULE)
    (tmp_path / "a_folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(part) for part in arguments])


def text_of(outcome):
    return " ".join(outcome.output.replace("│", " ").split())


BAD = [
    ("nowhere/result.json", "`output` must be in an existing folder; nowhere does not exist."),
    ("a_folder", "`output` must be a file; a_folder is a folder."),
    (
        "module_for_output.py/result.json",
        "`output` must be in an existing folder; module_for_output.py is not a folder.",
    ),
]


@pytest.mark.parametrize(("output", "message"), BAD)
def test_solve_spends_nothing_on_a_bad_output(folder, output, message):
    outcome = run(*SOLVE, "--output", output)
    assert outcome.exit_code == 2
    assert message in text_of(outcome)
    assert not (folder / "calls").exists()


def test_resume_spends_nothing_on_a_bad_output(folder):
    assert run(*SOLVE, "--store", "runs.db").exit_code == 0
    before = (folder / "calls").read_text()
    (name,) = (
        json.loads(line)["name"]
        for line in run("runs", "runs.db", "--json").output.split("\n")
        if line
    )
    outcome = run("resume", "runs.db", name, "--budget", 60, "--quiet", "--output", "a_folder")
    assert outcome.exit_code == 2
    assert "a_folder is a folder" in text_of(outcome)
    assert (folder / "calls").read_text() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("theory", "--d", 100, "--k-star", 2, "--plot", "nowhere/figure.png"),
        ("theory", "--d", 100, "--k-star", 2, "--picture", "a_folder"),
        ("reproduce", "projection", "--quick", "--out", "module_for_output.py/out"),
    ],
)
def test_other_commands_check_first_too(folder, arguments):
    outcome = run(*arguments)
    assert outcome.exit_code == 2
    assert "must be" in text_of(outcome)
    assert "Remark 4" not in outcome.output


def test_a_file_or_folder_without_permission(folder, monkeypatch):
    (folder / "fixed.json").touch()
    denied = {folder / "fixed.json", folder / "a_folder"}
    monkeypatch.setattr(os, "access", lambda path, _: path not in denied)  # root may write anywhere
    for path in (folder / "fixed.json", folder / "a_folder" / "new.json"):
        with pytest.raises(ParameterError, match="`output` must be writable"):
            options.check_output("output", path)
    options.check_output("output", folder / "new.json")


def test_a_folder_that_will_be_made_needs_a_writable_parent(folder, monkeypatch):
    options.check_output("out", folder / "a" / "b" / "file", make_folder=True)
    monkeypatch.setattr(os, "access", lambda path, _: path != folder)
    with pytest.raises(ParameterError, match="must be writable"):
        options.check_output("out", folder / "a" / "b" / "file", make_folder=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_what_cannot_be_written_in_the_end_is_printed(folder):
    outcome = run(*SOLVE, "--output", "/dev/full")
    assert outcome.exit_code == 2
    assert "No space left on device" in text_of(outcome)
    start = outcome.stdout.index("{\n")
    assert json.loads(outcome.stdout[start:])["nfev"] == len((folder / "calls").read_text())


@pytest.mark.parametrize("command", ["solve", "ask"])
def test_a_dimension_beyond_all_memory(folder, command):
    first = ["module_for_output:fun"] if command == "solve" else ["runs.db", "--new"]
    outcome = run(command, *first, "--dim", 99_999_999_999_999, "-k", 1)
    assert outcome.exit_code == 2
    assert "`dim` must be an integer in [1, 1000000000]; got dim=99999999999999." in text_of(
        outcome
    )


def test_too_little_memory_is_told_without_a_traceback(folder, monkeypatch):
    def zeros(d):
        raise MemoryError(f"Unable to allocate an array of {d} numbers")

    monkeypatch.setattr(options.np, "zeros", zeros)
    outcome = run(*SOLVE)
    assert outcome.exit_code == 2
    assert "there is not enough memory. Unable to allocate" in text_of(outcome)


def test_ctrl_c_has_an_exit_code_of_its_own(folder):
    command = [sys.executable, "-m", "szoht", "solve", "module_for_output:slow", *PROBLEM]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "called\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "INTERRUPTED" in output


FORMULAS = ('=HYPERLINK("http://example.org","a")', "+1+cmd|' /C calc'!A0", "@SUM(A1)", "-a", "-3")


def test_no_spreadsheet_runs_the_names_in_files(folder):
    """Changes, residuals and weights: a name is text there, and ours again when read."""
    rows = [f"{name},1,0,5" for name in map(quoted, FORMULAS)]
    (folder / "knobs.csv").write_text("\n".join(["name,nominal,low,high", *rows]))
    knobs = ("--variables", "knobs.csv", "-k", 5, "--budget", 80, "--seed", 0, "--quiet")
    (folder / "far.py").write_text(
        f"NAMES = {FORMULAS!r}\n"
        "def fun(x):\n    return float((x - 4.0) @ (x - 4.0))\n"
        "def named(x):\n    return dict(zip(NAMES, x, strict=True))\n"
    )
    (folder / "data.csv").write_text("\n".join(f"{name},4" for name in map(quoted, FORMULAS)))
    prices = [[100 + (t * t * (i + 2)) % (11 + i) for i in range(5)] for t in range(1, 60)]
    lines = [",".join([f"day {t}", *map(str, row)]) for t, row in enumerate(prices)]
    (folder / "prices.csv").write_text(
        "\n".join([",".join(["date", *map(quoted, FORMULAS)]), *lines])
    )
    calibrate = ("calibrate", "far:named", *knobs, "--observed", "data.csv")
    portfolio = ("portfolio", "prices.csv", "-k", 5, "--budget", 3000, "--no-frontier")
    for command in (
        ("solve", "far:fun", *knobs, "--changes", "changes.csv"),
        (*calibrate, "--changes", "fit.csv", "--residuals", "residuals.csv"),
        (*portfolio, "--out", "."),
    ):
        outcome = run(*command)
        assert outcome.exit_code == 0, outcome.output
    for file, column in {
        "changes.csv": 1,
        "fit.csv": 1,
        "residuals.csv": 0,
        "weights.csv": 0,
    }.items():
        text = (folder / file).read_text()
        cells = [row[column] for row in csv.reader(text.splitlines())][1:]
        assert not [cell for cell in cells if cell[0] in "=+-@" and cell != "-3"]
        names = [row[column] for _, row in parse_csv(text, file).rows[1:]]
        assert names
        assert set(names) <= set(FORMULAS)
        assert file != "residuals.csv" or len(names) == len(FORMULAS)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'
