"""``szoht solve``."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from outcomes import always, most_seeds
from szoht import algorithms, minimize
from szoht.cli.app import app
from szoht.errors import PACKAGE_FOLDER

MODULE = """
import numpy as np
TARGET = np.zeros(30)
TARGET[[3, 17]] = [1.0, -2.0]
def fun(x):
    return float(((x - TARGET) ** 2).sum())
def stack(points):
    return ((points - TARGET) ** 2).sum(axis=1)
def broken(x):
    raise RuntimeError("no licence")
def unreadable(x):
    return open("nosuch.txt")
number = 3
"""


@pytest.fixture
def szoht(tmp_path, monkeypatch):
    (tmp_path / "simulator_for_cli.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, ["solve", *map(str, arguments)])

    return run


@most_seeds
def test_the_same_numbers_as_in_python(seed, szoht, tmp_path):
    run = szoht(
        "simulator_for_cli:fun",
        "--dim",
        30,
        "-k",
        2,
        "--budget",
        600,
        "--seed",
        seed,
        "--method",
        "szoht",
        "--option",
        "q=20",
        "--quiet",
        "--output",
        "result.json",
    )
    always(run.exit_code == 0)
    always("2 non-zeros" in run.output)
    stored = json.loads((tmp_path / "result.json").read_text())
    fun = sys.modules["simulator_for_cli"].fun
    ours = minimize(
        fun, np.zeros(30), k=2, method="szoht", max_queries=600, rng=seed, options={"q": 20}
    )
    always(stored["support"] == ours.support.tolist())
    always(stored["values"] == ours.x[ours.support].tolist())
    always((stored["fun"], stored["nfev"], stored["seed"]) == (ours.fun, ours.nfev, seed))
    always(stored["history"]["queries"] == ours.history["queries"].tolist())
    assert stored["support"] == [3, 17]


@pytest.mark.parametrize("name", [n for n in algorithms.METHODS if n not in ("iht", "stoiht")])
def test_every_zeroth_order_method_can_be_named(szoht, name):
    finite_sums = ("vr_szht", "sarah_szht", "saga_szht")
    balls = ("zscg", "zo_projected_gradient")
    extra = ["--option", "radius=4.0"] if name in balls else []
    if name not in (*balls, "rspgf"):
        extra = ["-k", 2]
    if name in finite_sums:
        extra += ["--option", "step_size=0.1"]
    run = szoht(
        "simulator_for_cli:stack",
        "--vectorized",
        "--dim",
        30,
        "--method",
        name,
        "--budget",
        900,
        "--seed",
        0,
        "--quiet",
        *extra,
    )
    if name in ("corner_search", "sparse_rs"):  # they need bounds, and the message says so
        assert run.exit_code == 2
        assert "within bounds" in " ".join(run.output.replace("│", " ").split())
        return
    if name in finite_sums:  # a plain function is no finite sum, and the message says so
        assert run.exit_code == 2
        assert "n_samples" in run.output
    else:
        assert run.exit_code == 0, run.output


@most_seeds
def test_the_start_may_come_from_a_file(seed, szoht, tmp_path):
    np.save(tmp_path / "x0.npy", np.zeros(30))
    (tmp_path / "x0.json").write_text(json.dumps([0.0] * 30))
    for name in ("x0.npy", "x0.json"):
        run = szoht(
            "simulator_for_cli:fun",
            "--x0",
            name,
            "-k",
            2,
            "--target",
            "0.5",
            "--quiet",
            "--seconds",
            30,
            "--seed",
            seed,
        )
        always(run.exit_code == 0)
        assert "TARGET" in run.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulator_for_cli", "--dim", 3, "-k", 1], "must read"),
        (["../simulator_for_cli:fun", "--dim", 3, "-k", 1], "not a path; got '../simul"),
        ([".simulator_for_cli:fun", "--dim", 3, "-k", 1], "not a path; got '.simul"),
        (["nowhere:fun", "--dim", 3, "-k", 1], "cannot be"),
        (["simulator_for_cli:fin", "--dim", 3, "-k", 1], "which has no 'fin'."),
        (["simulator_for_cli:number", "--dim", 3, "-k", 1], "must be callable"),
        (["simulator_for_cli:fun", "-k", 1], "--dim and --x0"),
        (["simulator_for_cli:fun", "--dim", 0, "-k", 1], "`dim`"),
        (["simulator_for_cli:fun", "--dim", 30, "-k", 31], "k=31"),
        (["simulator_for_cli:fun", "--dim", 30, "-k", 2, "--method", "magic"], "'magic'"),
        (["simulator_for_cli:fun", "--dim", 30, "-k", 2, "--option", "q"], "name=value"),
        (
            [
                "simulator_for_cli:fun",
                "--dim",
                "30",
                "-k",
                "2",
                "--method",
                "szoht",
                "--option",
                "q=abc",
            ],
            "q='abc'",
        ),
        (["simulator_for_cli:fun", "--x0", "missing.npy", "-k", 2], "missing.npy"),
        (["simulator_for_cli:fun", "--x0", "simulator_for_cli.py", "-k", 2], "JSON list"),
    ],
)
def test_bad_input(szoht, arguments, message):
    run = szoht(*arguments, "--quiet")
    assert run.exit_code == 2
    assert message in " ".join(run.output.replace("│", " ").split())


def test_messages_name_options(szoht):
    solve = ("simulator_for_cli:fun", "--dim", 30, "-k", 2)
    assert "Raise --budget to go on." in szoht(*solve, "--budget", 40).output
    assert "--budget must be an integer" in szoht(*solve, "--budget", 0).output
    assert "--seconds must be" in szoht(*solve, "--seconds", -1).output


@pytest.mark.parametrize("what", [("--command", "echo 1"), ("simulator_for_cli:fun",)])
@pytest.mark.parametrize("workers", [0, -3])
def test_workers_are_named_as_they_are_stated(szoht, what, workers):
    run = szoht(*what, "--dim", 3, "-k", 1, "--budget", 2, "--quiet", "--workers", workers)
    assert run.exit_code == 2
    told = " ".join(run.output.replace("│", " ").split())
    assert "`workers` must be an integer >= 1, or -1 for one per processor" in told
    assert f"got workers={workers}." in told


def test_a_failing_program_is_no_usage_error(szoht):
    run = szoht("--command", "false", "--dim", 30, "-k", 2, "--budget", 9, "--quiet")
    assert run.exit_code == 1
    assert run.output.startswith("Error: the program ended with exit status 1")


@pytest.mark.parametrize(
    ("function", "last"),
    [
        ("simulator_for_cli:broken", "RuntimeError: no licence"),
        ("simulator_for_cli:unreadable", "No such file or directory: 'nosuch.txt'"),
        ("os:system", "raised TypeError('expected str, bytes or os.PathLike object, not ndarray')"),
        ("broken_module:fun", "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("command", ["solve", "calibrate"])
def test_the_users_own_errors_have_a_traceback_without_ours(
    szoht, tmp_path, command, function, last
):
    (tmp_path / "broken_module.py").write_text("ratio = 1 / 0\n")
    (tmp_path / "zeros.csv").write_text("0\n")
    problem = ("--dim", "30", "-k", "2", "--budget", "100", "--quiet")
    more = ("--observed", "zeros.csv") if command == "calibrate" else ()
    run = CliRunner().invoke(app, [command, function, *problem, *more])
    assert run.exit_code == 1
    assert run.output.startswith("Error: the ")
    assert run.output.splitlines()[-1].endswith(last)
    assert ("Traceback" in run.output) == (function != "os:system")
    assert PACKAGE_FOLDER not in run.output
