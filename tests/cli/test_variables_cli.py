"""Variables on the command line: ``szoht solve --variables`` and what is short for it."""

import csv
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht as library
from outcomes import always, most_seeds
from szoht.cli.app import app

TABLE = """name,nominal,low,high,unit,log,integer,values
speed,20,0,80,,,,
rate,1e-4,1e-6,1e-2,,yes,,
buffers,3,1,12,,,yes,
threads,4,,,,,,1|2|4|8
load,50,0,100,,,,
heat,7,0,10,,,,
"""

MODULE = """
import math
def profit(x):
    speed, rate, buffers, threads, load, heat = x
    return 9 - ((speed - 35) / 20) ** 2 - (buffers - 7) ** 2 - ((load - 50) / 50) ** 2
def cost(x):
    return -profit(x)
def named(x):
    return profit([x[n] for n in ("speed", "rate", "buffers", "threads", "load", "heat")])
def distance(x):
    return float(((x - 3.2) ** 2).sum())
"""

PROGRAM = """
import json, sys
from simulator_of_knobs import profit, named
x = json.load(sys.stdin)["x"]
print((named if isinstance(x, dict) else profit)(x))
"""


@pytest.fixture
def szoht(tmp_path, monkeypatch):
    (tmp_path / "simulator_of_knobs.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "knobs.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)

    def run(*arguments, **settings):
        return CliRunner().invoke(app, list(map(str, arguments)), **settings)

    return run


SOLVE = ("--variables", "knobs.csv", "-k", 2, "--budget", 150, "--seed", 0, "--quiet")


@most_seeds
def test_a_table_of_knobs(seed, szoht, tmp_path):
    run = szoht(
        "solve", "simulator_of_knobs:profit", *SOLVE, "--seed", seed, "--maximize",
        "--output", "result.json", "--changes", "changes.csv",
    )  # fmt: skip
    always(run.exit_code == 0)
    assert "speed: 20 -> 35" in run.output
    assert "effect when put back" in run.output
    stored = json.loads((tmp_path / "result.json").read_text())
    assert stored["fun"] == pytest.approx(9)
    assert stored["x"] == pytest.approx([35, 1e-4, 7, 4, 50, 7], abs=1e-3)
    assert [change["name"] for change in stored["changes"]] == ["buffers", "speed"]
    assert stored["changes"][0]["effect"] == pytest.approx(-16)
    assert max(stored["history"]["best"]) == stored["fun"]
    with (tmp_path / "changes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["name"], float(row["nominal"])) for row in rows] == [("buffers", 3), ("speed", 20)]
    result = library.maximize(
        sys.modules["simulator_of_knobs"].profit,
        library.Variables.from_csv("knobs.csv"),
        k=2,
        max_queries=150,
        rng=seed,
    )
    assert result.x.tolist() == stored["x"]


def test_maximizing_and_minimizing_agree(szoht):
    up = szoht("solve", "simulator_of_knobs:profit", *SOLVE, "--maximize")
    down = szoht("solve", "simulator_of_knobs:cost", *SOLVE)
    shown = [
        next(line for line in run.output.splitlines() if line.startswith("        x:"))
        for run in (up, down)
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("named", [(), ("--named",)])
def test_a_program_is_given_the_users_numbers(szoht, named):
    run = szoht(
        "solve", "--command", f"{sys.executable} program.py", *SOLVE, "--maximize", *named,
        "--budget", 40,
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    assert "buffers" in run.output


@most_seeds
def test_a_function_of_names(seed, szoht):
    given = (*SOLVE, "--seed", seed, "--maximize", "--named")
    run = szoht("solve", "simulator_of_knobs:named", *given)
    assert "speed: 20 -> 35" in run.output


@most_seeds
def test_short_options(seed, szoht, tmp_path):
    np.save(tmp_path / "nominal.npy", np.full(8, 2.0))
    base = (
        "solve",
        "simulator_of_knobs:distance",
        "-k",
        2,
        "--budget",
        200,
        "--seed",
        seed,
        "--quiet",
    )
    run = szoht(*base, "--reference", "nominal.npy", "--bounds", ":3", "--unit", 0.5)
    always(run.exit_code == 0)
    assert "2 -> 3" in run.output
    run = szoht(*base, "--reference", "nominal.npy", "--integer", "all", "--bounds", "0:9")
    assert run.output.count("2 -> 3") == 2
    (tmp_path / "bounds.json").write_text(json.dumps([[-1, 1]] * 7 + [[None, None]]))
    run = szoht(*base, "--dim", 8, "--bounds", "bounds.json")
    assert "x[7]: 0 -> 3.2" in run.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--variables", "knobs.csv", "--dim", 3), "`dim` is part of the file of --variables"),
        (("--variables", "missing.csv"), "No such file"),
        (("--dim", 3, "--bounds", "1"), "must read LOW:HIGH"),
        (("--dim", 3, "--bounds", "1:2"), "must include 0"),
        (("--dim", 3, "--integer", "7"), "numbers below 3"),
        ((), "exactly one of --variables, --dim and --x0"),
        (("--dim", 3, "--changes", "no/folder.csv"), "existing folder"),
    ],
)
def test_what_is_refused(szoht, arguments, message):
    run = szoht("solve", "simulator_of_knobs:distance", "-k", 1, "--quiet", *arguments)
    assert run.exit_code == 2
    assert message in " ".join(run.output.replace("│", " ").split())


def test_points_and_values_by_hand(szoht):
    new = ("--new", *SOLVE[:-1], "--maximize")
    run = szoht("ask", "runs.db", *new)
    sys.path.insert(0, ".")
    from simulator_of_knobs import profit  # noqa: PLC0415

    first = json.loads(run.output.splitlines()[0])
    assert first["x"] == [20, 1e-4, 3, 4, 50, 7]
    assert first["changes"] == {}
    while lines := [json.loads(line) for line in run.output.splitlines()]:
        replies = "\n".join(json.dumps({"id": p["id"], "value": profit(p["x"])}) for p in lines)
        told = szoht("tell", "runs.db", input=replies)
        assert told.exit_code == 0, told.output
        run = szoht("ask", "runs.db", lines[0]["run"])
    assert "speed: 20 -> 35" in told.output
    report = szoht("report", "runs.db", first["run"])
    assert "speed" in report.output
    assert "effect when put back" in report.output
    listed = json.loads(szoht("runs", "runs.db", "--json").output)
    assert listed["best"] == pytest.approx(9)


def test_variables_that_are_not_counted(szoht, tmp_path):
    by_name = szoht(
        "solve",
        "simulator_of_knobs:cost",
        "--variables",
        "knobs.csv",
        *("-k", 1, "--always", "load", "--budget", 20, "--seed", 0, "--quiet"),
    )
    assert by_name.exit_code != 0
    assert "`always` is not served where variables are integers" in " ".join(by_name.output.split())
    by_number = szoht(
        "solve",
        "simulator_of_knobs:distance",
        *("--dim", 6, "-k", 1, "--always", "0,5", "--budget", 300, "--seed", 0, "--quiet"),
        *("--output", "out.json"),
    )
    assert by_number.exit_code == 0, by_number.output
    found = json.loads((tmp_path / "out.json").read_text())
    assert {0, 5} < set(found["support"])
    assert len(found["support"]) == 3
