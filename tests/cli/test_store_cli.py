"""`solve --store`, `resume`, `runs`, `report`, `ask`, `tell`: the same numbers as in Python."""

import csv
import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app

MODULE = """
import numpy as np
TARGET = np.zeros(30)
TARGET[[3, 17]] = [1.0, -2.0]
def fun(x):
    return float(((x - TARGET) ** 2).sum())
"""

PROGRAM = """
import json, sys
point = json.load(open(sys.argv[1]))
x = dict(zip(point["indices"], point["values"]))
target = {3: 1.0, 17: -2.0}
if "--fail" in sys.argv and len(x) > 5 and int(abs(x[0]) * 1e9) % 3 == 0:
    print("the licence server is down", file=sys.stderr)
    sys.exit(4)
print("a log line")
print(sum((x.get(i, 0.0) - target.get(i, 0.0)) ** 2 for i in range(point["dim"])))
"""

TARGET = np.zeros(30)
TARGET[[3, 17]] = [1.0, -2.0]
OPTIONS = ["--dim", "30", "-k", "2", "--method", "szoht", "--option", "q=8", "--seed", "0"]


@pytest.fixture
def cli(tmp_path, monkeypatch):
    (tmp_path / "simulator_for_store.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments, text=None, code=0):
        result = CliRunner().invoke(app, [str(part) for part in arguments], input=text)
        assert result.exit_code == code, result.output
        return result

    return run


def in_python(max_queries, **more):
    def fun(x):
        return float(((x - TARGET) ** 2).sum())

    settings = {"k": 2, "method": "szoht", "options": {"q": 8}, "rng": 0}
    return szoht.minimize(fun, np.zeros(30), max_queries=max_queries, **settings | more)


def result_of(path):
    return json.loads(path.read_text())


def test_a_function_by_its_name(cli, tmp_path):
    solve = ["solve", "simulator_for_store:fun", *OPTIONS, "--quiet", "--store", "runs.db"]
    cli(*solve, "--budget", 60, "--output", "first.json")
    name = result_of(tmp_path / "first.json")["run"]
    cli("resume", "runs.db", name, "--quiet", "--budget", 200, "--output", "second.json")
    whole = in_python(200)
    second = result_of(tmp_path / "second.json")
    assert (second["fun"], second["nfev"], second["run"]) == (whole.fun, whole.nfev, name)
    listed = cli("runs", "runs.db").output
    assert name in listed
    assert "QUERIES" in listed
    (row,) = map(json.loads, cli("runs", "runs.db", "--json").output.splitlines())
    assert (row["queries"], row["best"], row["d"], row["k"]) == (whole.nfev, whole.fun, 30, 2)
    assert row["function"] == "simulator_for_store:fun"


def test_report(cli, tmp_path):
    cli("solve", "simulator_for_store:fun", *OPTIONS, "--quiet", "--store", "r.db", "--budget", 90)
    output = cli("report", "r.db", "--out", "report").output
    whole = in_python(90)
    assert f"{whole.nfev} queries" in output
    with (tmp_path / "report" / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["best"]) for row in rows] == whole.history["best"].tolist()
    assert (tmp_path / "report" / "history.png").read_bytes().startswith(b"\x89PNG")


def test_a_program_on_several_workers_with_faults(cli, tmp_path):
    command = f"'{sys.executable}' program.py {{input}} --fail"
    cli(
        "solve",
        "--command",
        command,
        "--sparse",
        *OPTIONS,
        *["--workers", 2, "--retries", 1, "--on-error", "skip", "--budget", 40, "--quiet"],
        *["--store", "runs.db", "--output", "result.json"],
    )
    result = result_of(tmp_path / "result.json")
    assert result["history"]["failures"][-1] > 0
    with szoht.Store("runs.db") as store:
        faults = store.faults(result["run"])
    # each point was tried twice, and then skipped
    assert sorted({fault.attempt for fault in faults}) == [0, 1, 2]
    assert len(faults) == 3 * result["history"]["failures"][-1]
    assert all("the licence server is down" in fault.stderr for fault in faults)
    assert "exit status 4" in cli("report", "runs.db").output
    again = cli("resume", "runs.db", "--quiet", "--output", "again.json")
    assert "program.py" in again.output
    assert result_of(tmp_path / "again.json") == result


def test_a_program_gives_the_numbers_of_a_function(cli, tmp_path):
    command = f"'{sys.executable}' program.py {{input}}"
    cli(
        "solve",
        "--command",
        command,
        "--sparse",
        *OPTIONS,
        "--budget",
        30,
        "--quiet",
        "--output",
        "r",
    )
    whole = in_python(30)
    assert result_of(tmp_path / "r")["nfev"] == whole.nfev
    assert result_of(tmp_path / "r")["support"] == whole.support.tolist()


def answered(lines, function):
    for line in lines:
        point = json.loads(line)
        x = np.zeros(point["dim"])
        x[point["indices"]] = point["values"]
        yield {"id": point["id"], "value": function(x)}


def as_lines(answers):
    return "\n".join(map(json.dumps, answers))


def test_ask_and_tell_in_any_order_and_twice(cli):
    rng = np.random.default_rng(0)

    def fun(x):
        return float(((x - TARGET) ** 2).sum())

    lines = cli("ask", "a.db", "--new", *OPTIONS, "--budget", 60, "--sparse").output.splitlines()
    earlier, output = [], ""
    for _ in range(40):
        if not lines:
            break
        assert cli("ask", "a.db", "--sparse", "--limit", 1).output.splitlines() == lines[:1]
        answers = list(answered(lines, fun))
        rng.shuffle(answers)
        half = len(answers) // 2
        cli("tell", "a.db", text=as_lines(answers[:half]))
        waiting = cli("ask", "a.db", "--sparse").output.splitlines()
        assert len(waiting) == len(lines) - half
        # the rest, some of this plan again, and some of plans long gone
        output = cli("tell", "a.db", text=as_lines(answers[::-1] + earlier[-5:])).output
        assert f"{len(answers) - half} new" in output
        earlier += answers
        lines = cli("ask", "a.db", "--sparse").output.splitlines()
    whole = in_python(60)
    assert f"{whole.nfev} queries" in output
    assert f"fun: {whole.fun:.10g}" in output
    with szoht.Store("a.db") as store:
        (summary,) = store.runs()
    assert (summary.queries, summary.best, summary.status) == (whole.nfev, whole.fun, "QUERIES")
    assert summary.function is None


def test_contradictions_failures_and_nonsense(cli):
    lines = cli("ask", "a.db", "--new", *OPTIONS, "--budget", 60).output.splitlines()
    points = [json.loads(line) for line in lines]
    first, second = points[0]["id"], points[1]["id"]
    assert len(points[0]["x"]) == 30
    run, _, _ = first.partition(":")
    text = as_lines(
        [
            {"id": first, "value": 5.0},
            {"id": first, "value": 6.0},
            {"id": second, "value": None},
            {"id": points[2]["id"], "error": "out of memory"},
            {"id": f"{run}:7:0", "value": 1.0},
            {"id": f"{run}:0:999", "value": 1.0},
            {"id": "what", "value": 1.0},
            {"id": points[3]["id"], "value": "seven"},
        ]
    )
    output = cli("tell", "a.db", text=text + "\nnot json\n[1]\n", code=1).output
    assert "1 new, 0 known already, 2 failed" in output
    assert f"contradiction: {first} is 5.0 already; 6.0 is ignored" in output
    assert f"unknown point: {run}:7:0" in output
    assert f"unknown point: {run}:0:999" in output
    assert output.count("is ignored:") == 4
    # failed points wait again
    waiting = [json.loads(line)["id"] for line in cli("ask", "a.db").output.splitlines()]
    assert waiting == [point["id"] for point in points[1:]]
    assert "WAITING" in cli("runs", "a.db").output
    assert "out of memory" in cli("report", "a.db").output
    cli("tell", "a.db", text=as_lines([{"id": "zzzzzz:0:0", "value": 1.0}]), code=2)


def test_failed_points_are_skipped_if_the_run_says_so(cli):
    new = ["ask", "a.db", "--new", *OPTIONS, "--budget", "60", "--on-error", "skip"]
    points = [json.loads(line) for line in cli(*new).output.splitlines()]
    answers = [{"id": point["id"], "value": 3.0 + i} for i, point in enumerate(points)]
    answers[4] = {"id": points[4]["id"], "error": "no convergence"}
    cli("tell", "a.db", text=as_lines(answers))
    (line, *_) = cli("ask", "a.db").output.splitlines()
    assert json.loads(line)["id"].split(":")[1] == "1"


def test_errors(cli):
    assert "There is no run store" in cli("runs", "none.db", code=2).output
    assert "There is no run store" in cli("resume", "none.db", code=2).output
    assert "There is no run store" in cli("report", "none.db", code=2).output
    assert "There is no run store" in cli("tell", "none.db", text="", code=2).output
    assert "exactly one of" in cli("solve", *OPTIONS, code=2).output
    both = ["solve", "simulator_for_store:fun", "--command", "x", *OPTIONS]
    assert "exactly one of" in cli(*both, code=2).output
    with szoht.Store("empty.db"):
        pass
    assert "there is no run in" in cli("ask", "empty.db", code=2).output
    assert "run" in cli("runs", "empty.db").output


def test_a_run_that_cannot_be_had_again_is_still_shown(cli):
    class Mine(szoht.Sparse):
        pass

    method = szoht.szoht(constraint=Mine(2), q=8)
    result = in_python(60, method=method, k=None, options=None, store="mine.db")
    output = cli("report", "mine.db").output
    assert f"best value {result.fun:.10g} with 2 non-zeros" in output
    assert "`method` must be given again" in output
