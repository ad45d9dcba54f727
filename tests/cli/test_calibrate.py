"""``szoht calibrate``, and what the other commands make of its runs."""

import csv
import json
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from outcomes import always, most_seeds
from szoht import Store, Variables, least_squares
from szoht.cli.app import app

D, M = 40, 12
SUPPORT = [7, 21]

MODULE = """
import time
from pathlib import Path

import numpy as np

JACOBIAN = np.random.default_rng(0).standard_normal((12, 40))
calls = 0

def plain(x):
    return 5 + np.tanh(JACOBIAN @ np.log(x) / 4)

def simulate(x):
    return {f"sensor {j}": float(value) for j, value in enumerate(plain(x))}

def named(x):
    return simulate(np.array([x[f"rate {i}"] for i in range(40)]))

def small(x):
    return JACOBIAN[:, :6] @ x

def constant(x):
    return np.ones(12)

def changing(x):
    global calls
    calls += 1
    return {**simulate(x), "more": 1.0} if calls == 6 else simulate(x)

def slow(x):
    Path("called").touch()
    time.sleep(0.03)
    return simulate(x)
"""

PROGRAM = """
import json
import sys
x = json.load(open(sys.argv[1]))["x"]
with open(sys.argv[2], "w") as file:
    file.write(f"name,value\\na,{2 * x[1] + x[4]!r}\\nb,{x[1] - x[4]!r}\\n")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a simulator of 40 rates and 12 sensors, and what was measured."""
    (tmp_path / "model.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM)
    rates = [f"rate {i},1,0.2,5,yes" for i in range(D)]
    (tmp_path / "knobs.csv").write_text("\n".join(["name,nominal,low,high,log", *rates]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "model", raising=False)
    sensors = [f"{name},{value!r},0.01" for name, value in measured().items()]
    (tmp_path / "data.csv").write_text("\n".join(["name,value,sigma", *sensors]))
    return tmp_path


def measured():
    names: dict = {}
    exec(MODULE, names)  # noqa: S102  (our own text)
    truth = np.ones(D)
    truth[SUPPORT] = 2.0, 0.6
    errors = 0.01 * np.random.default_rng(1).standard_normal(M)
    pairs = zip(names["simulate"](truth).items(), errors, strict=True)
    return {name: float(value + error) for (name, value), error in pairs}


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, [*map(str, arguments)], input=stdin)


CALIBRATE = ("calibrate", "model:simulate")
KNOBS = ("--variables", "knobs.csv", "-k", 2, "--seed", 0, "--quiet")
OPTIONS = (*KNOBS, "--observed", "data.csv")


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def only_run():
    with Store("runs.db") as store:
        (summary,) = store.runs()
    return summary.name


def words(outcome):
    return " ".join(outcome.output.replace("│", " ").split())


def test_the_same_answer_as_in_python_in_all_files(folder):
    files = ("--output", "r.json", "--changes", "c.csv", "--residuals", "e.csv")
    outcome = run(*CALIBRATE, *OPTIONS, *files, "--figure", "fit.png")
    assert outcome.exit_code == 0, outcome.output
    ours = least_squares(
        sys.modules["model"].simulate,
        Variables.from_csv("knobs.csv"),
        k=2,
        observed=measured(),
        sigma=0.01,
        rng=0,
    )
    on = ours.support.tolist()
    written = json.loads((folder / "r.json").read_text())
    assert (written["support"], written["nfev"], written["cost"]) == (on, ours.nfev, ours.cost)
    assert written["values"] == ours.x[on].tolist()
    changes = table(folder / "c.csv")
    intervals = {entry.name: entry for entry in ours.intervals}
    assert [row["name"] for row in changes] == [change.name for change in ours.changes]
    for row in changes:
        assert float(row["low"]) == intervals[row["name"]].low
        assert float(row["high"]) == intervals[row["name"]].high
    residuals = table(folder / "e.csv")
    np.testing.assert_array_equal([float(row["residual"]) for row in residuals], ours.fun)
    assert residuals[3]["name"] == "sensor 3"
    assert (folder / "fit.png").read_bytes().startswith(b"\x89PNG")
    assert ours.changes[0].name in outcome.output
    assert "95 % interval (linearized, at this support)" in outcome.output
    assert "largest residuals" in outcome.output


@most_seeds
def test_measurements_without_names_and_one_sigma(seed, folder):
    (folder / "plain.csv").write_text("\n".join(map(repr, measured().values())))
    problem = (*KNOBS, "--seed", seed, "--observed", "plain.csv", "--sigma", 0.01)
    outcome = run("calibrate", "model:plain", *problem)
    always(outcome.exit_code == 0)
    assert "CONVERGED" in outcome.output
    assert "output[3]" in outcome.output


def test_the_number_of_changes_is_found(folder):
    jacobian = np.random.default_rng(0).standard_normal((M, D))[:, :6]
    errors = np.random.default_rng(1).standard_normal(M)
    observed = jacobian @ [0.0, 2.0, 0.0, 0.0, -1.0, 0.0] + 0.01 * errors
    (folder / "small.csv").write_text("\n".join(map(repr, observed.tolist())))
    outcome = run(
        *("calibrate", "model:small", "--dim", 6, "-k", "chi2", "--seed", 0, "--quiet"),
        *("--observed", "small.csv", "--sigma", 0.01, "--output", "r.json", "--store", "runs.db"),
    )
    assert outcome.exit_code == 0, outcome.output
    written = json.loads((folder / "r.json").read_text())
    assert written["support"] == [1, 4]
    assert written["cost"] in [one["cost"] for one in written["path"]]
    assert "changed variables" in outcome.output
    assert run("report", "runs.db", only_run(), "--html", "run.html").exit_code == 0
    assert "The best answer for each number of changes." in (folder / "run.html").read_text()


@most_seeds
def test_x_by_name(seed, folder):
    given = (*OPTIONS, "--seed", seed, "--output", "r.json")
    outcome = run("calibrate", "model:named", "--named", *given)
    always(outcome.exit_code == 0)
    assert json.loads((folder / "r.json").read_text())["support"] == SUPPORT


def test_a_program_that_writes_csv_is_stopped_and_resumed(folder):
    command = f"{sys.executable} -I -S program.py {{input}} {{output}}"
    (folder / "two.csv").write_text("name,value\na,3\nb,-1\n")
    problem = ("--dim", 6, "-k", 2, "--observed", "two.csv", "--seed", 0, "--quiet")
    outcome = run(
        *("calibrate", "--command", command, "--output-format", "csv", *problem),
        *("--workers", 2, "--store", "runs.db", "--budget", 5),
    )
    assert outcome.exit_code == 0, outcome.output
    assert "QUERIES" in outcome.output
    name = only_run()
    outcome = run("resume", "runs.db", name, "--budget", 60, "--quiet", "--residuals", "e.csv")
    assert outcome.exit_code == 0, outcome.output
    rows = table(folder / "e.csv")
    assert [(row["name"], float(row["observed"])) for row in rows] == [("a", 3.0), ("b", -1.0)]
    assert all(abs(float(row["residual"])) < 1e-6 for row in rows)


def test_a_report_has_the_fit(folder):
    assert run(*CALIBRATE, *OPTIONS, "--store", "runs.db").exit_code == 0
    name = only_run()
    assert "Calibration" in run("runs", "runs.db", "--json").output
    outcome = run("report", "runs.db", name, "--html", "run.html", "--out", "files")
    assert outcome.exit_code == 0, outcome.output
    assert "95 % interval (linearized, at this support)" in outcome.output
    written = {path.name for path in (folder / "files").iterdir()}
    assert written >= {"history.csv", "changes.csv", "residuals.csv", "fit.png"}
    page = (folder / "run.html").read_text()
    for text in ("Predicted against observed", "Intervals of 95 %", "sensor 11", "rate 21"):
        assert text in page
    assert '<svg id="fit"' in page
    assert "Other variables that may explain the data" in page
    assert "Compared were the 40 variables whose columns were measured at the answer" in page
    assert "linearized at the answer, and hold at this support" in page


def test_a_report_on_an_unfinished_fit_does_not_speak_of_alternatives(folder):
    assert run(*CALIBRATE, *OPTIONS, "--budget", 20, "--store", "runs.db").exit_code == 0
    outcome = run("report", "runs.db", only_run(), "--html", "run.html")
    assert outcome.exit_code == 0, outcome.output
    page = (folder / "run.html").read_text()
    assert "Intervals of 95 %" in page
    assert "Other variables" not in page
    assert "explain it as well" not in outcome.output


def test_a_report_on_a_run_that_has_just_begun(folder):
    outcome = run("ask", "runs.db", "--new", *KNOBS[:-1], "--observed", "data.csv")
    name = json.loads(outcome.output.splitlines()[0])["run"]
    outcome = run("report", "runs.db", name, "--html", "run.html")
    assert outcome.exit_code == 0, outcome.output
    assert "has not been simulated yet" in (folder / "run.html").read_text()


def test_points_are_simulated_elsewhere(folder):
    (folder / "two.csv").write_text("name,value\na,3\nb,-1\n")
    problem = ("--dim", 6, "-k", 2, "--observed", "two.csv", "--seed", 0, "--budget", 8)

    def simulate(x):
        return {"b": x[1] - x[4], "a": 2 * x[1] + x[4]}

    asked = run("ask", "runs.db", "--new", *problem)
    assert asked.exit_code == 0, asked.output
    by_name = True
    while asked.output:
        points = [json.loads(line) for line in asked.output.splitlines()]
        rows = [simulate(point["x"]) for point in points]
        values = rows if by_name else [[row["a"], row["b"]] for row in rows]
        pairs = zip(points, values, strict=True)
        lines = [json.dumps({"id": point["id"], "value": value}) for point, value in pairs]
        told = run("tell", "runs.db", stdin="\n".join(lines))
        assert told.exit_code == 0, told.output
        asked, by_name = run("ask", "runs.db", points[0]["run"]), not by_name
    assert "residuals)" in told.output, "the fit is printed when the run has ended"
    ours = least_squares(
        simulate, np.zeros(6), k=2, observed={"a": 3, "b": -1}, rng=0, max_queries=8
    )
    with Store("runs.db") as store:
        assert store.summary(points[0]["run"]).best == ours.cost


def test_told_outputs_that_do_not_match_are_rejected_and_the_others_taken(folder):
    asked = run("ask", "runs.db", "--new", *KNOBS[:-1], "--observed", "data.csv")
    point = json.loads(asked.output.splitlines()[0])["id"]
    for wrong, why in (([1.0, 2.0], "12 outputs"), ({"sensor 0": 1.0}, "lacks 'sensor 1'")):
        told = run("tell", "runs.db", stdin=json.dumps({"id": point, "value": wrong}))
        assert told.exit_code == 1
        assert f"rejected: {point}" in told.output
        assert why in told.output
    right = {**dict.fromkeys(measured(), 5.0), "sensor 3": None}
    told = run("tell", "runs.db", stdin=json.dumps({"id": point, "value": right}))
    assert told.exit_code == 0, told.output
    assert "1 new" in told.output


def test_names_need_a_run_that_knows_them(folder):
    asked = run("ask", "runs.db", "--new", "--dim", 5, "-k", 1)
    point = json.loads(asked.output.splitlines()[0])["id"]
    told = run("tell", "runs.db", stdin=json.dumps({"id": point, "value": {"a": 1.0}}))
    assert told.exit_code == 1
    assert "outputs by name need" in told.output


def test_ctrl_c_says_how_to_resume(folder):
    arguments = ["calibrate", "model:slow", *map(str, OPTIONS), "--store", "runs.db"]
    process = subprocess.Popen(
        [sys.executable, "-m", "szoht", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (folder / "called").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, log = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "INTERRUPTED" in out
    command = log.splitlines()[-1].partition("to continue: ")[2]
    outcome = run(*shlex.split(command)[1:], "--quiet", "--output", "r.json")
    assert outcome.exit_code == 0, outcome.output
    assert json.loads((folder / "r.json").read_text())["support"] == SUPPORT


def test_outputs_that_change_their_names_are_failures_and_nothing_is_lost(folder):
    with pytest.warns(UserWarning, match="has 'more' besides"):
        outcome = run("calibrate", "model:changing", *OPTIONS, "--output", "r.json")
    assert outcome.exit_code == 0, outcome.output
    written = json.loads((folder / "r.json").read_text())
    assert (written["failures"], written["support"]) == (1, SUPPORT)


def test_outputs_that_nothing_changes(folder):
    outcome = run("calibrate", "model:constant", *OPTIONS, "--output", "r.json")
    assert outcome.exit_code == 1
    assert "none of the 12 outputs changed" in words(outcome)
    assert json.loads((folder / "r.json").read_text())["status"] == "FAILED"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("name,valeu\na,1\n", "has a column 'valeu'; columns are name, value, sigma"),
        ("name,value\n", "has a header and no numbers"),
        ("name,value\na,1\na,2\n", "two lines have the name 'a'"),
        ("name,value\na,one\n", "'one' in line 2 is not a number"),
        ("name,value,sigma\na,1,0\n", "`sigma` must be finite and > 0; got sigma['a']=0"),
        ("1\n2\n3\n", "`fun` must return 3 outputs at every point; got 12"),
        ("name,value\nsensor 0,1\n", "has 'sensor 1', 'sensor 2', 'sensor 3', ... besides"),
        ("name,value\nsensor x,1\n", "lacks 'sensor x'"),
    ],
)
def test_bad_measurements(folder, data, message):
    (folder / "bad.csv").write_text(data)
    outcome = run(*CALIBRATE, *KNOBS, "--observed", "bad.csv")
    assert outcome.exit_code == 2
    assert message in words(outcome)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--observed", "nosuch.csv"), "nosuch.csv: No such file or directory."),
        (("--observed", "data.csv", "--sigma", "0.1"), "`sigma` is a column of data.csv already"),
        ((), "`observed` must be given: the file of measurements"),
        (("--sigma", "1"), "`observed` must be given: the file of measurements"),
        (("--observed", "plain.csv", "--sigma", "-1"), "`sigma` must be finite and > 0"),
        (("--observed", "data.csv", "--loss", "square"), "`loss` must be one of 'linear'"),
        (("--observed", "data.csv", "-k", "few"), "`k` must be"),
        (("--observed", "data.csv", "--figure", "fit.pdf"), "must end in .png or .svg"),
        (("--observed", "data.csv", "--residuals", "no/e.csv"), "no does not exist"),
        (("--observed", "data.csv", "--command", "true"), "exactly one of package.module:fun"),
    ],
)
def test_bad_options(folder, arguments, message):
    (folder / "plain.csv").write_text("1\n2\n")
    outcome = run(*CALIBRATE, *KNOBS, *arguments)
    assert outcome.exit_code == 2
    assert message in words(outcome)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit('no licence')", "exit status 1 no licence"),
        ("print('hello')", "no outputs as JSON: it is not JSON: Expecting value: line 1"),
        ("print('[1, [2]]')", "[2] is not a number"),
    ],
)
def test_a_program_that_fails(folder, code, message):
    command = shlex.join([sys.executable, "-I", "-S", "-c", code])
    outcome = run("calibrate", "--command", command, *OPTIONS, "--retries", 0)
    assert outcome.exit_code == 1  # the function failed; 2 is for invalid arguments
    assert "Usage" not in words(outcome)
    assert message in words(outcome)


def test_options_that_calibrations_do_not_have(folder):
    new = ("ask", "runs.db", "--new", "--observed", "data.csv", "--dim", D)
    outcome = run(*new, "--maximize")
    assert outcome.exit_code == 2
    assert "`maximize` cannot be given beside --observed" in words(outcome)
    (folder / "nominal.json").write_text(json.dumps([1.0] * D))
    outcome = run(*new, "--reference", "nominal.json")
    assert outcome.exit_code == 2
    assert "`reference` cannot be given for a calibration" in words(outcome)


def test_residuals_are_of_calibrations(folder):
    (folder / "square.py").write_text("def fun(x):\n    return float(((x - 1) ** 2).sum())\n")
    solve = ("solve", "square:fun", "--dim", 5, "-k", 1, "--budget", 9, "--quiet")
    assert run(*solve, "--store", "runs.db").exit_code == 0
    name = only_run()
    outcome = run("resume", "runs.db", name, "--residuals", "e.csv")
    assert outcome.exit_code == 2
    assert "need a calibration" in words(outcome)
