"""Every benchmark runs, at sizes so small that its figures mean nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = re.search(r"^BENCHMARKS := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()


def run(folder, script, *arguments):
    command = [sys.executable, str(ROOT / "benchmarks" / script), "--smoke", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def test_make_runs_every_script_that_has_limits():
    scripts = (ROOT / "benchmarks").glob("*.py")
    limited = {path.stem for path in scripts if "    report(" in path.read_text()}
    assert limited == set(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_runs(name, tmp_path):
    done = run(tmp_path, f"{name}.py")
    rows = [line for line in done.stdout.splitlines() if " limit " in line]
    unmeasured = done.stderr.count("not measured")  # for want of data
    assert len(rows) + unmeasured >= 1, done.stdout
    assert all(" tiny " in row for row in rows)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ablation.py", "| axis_step | 1e-06 |"),
        ("wide_plans.py", "ceiling"),
        ("known.py", "quadratic, d = 50"),
        ("scales.py", "log-cosh     plain box"),
        ("control.py --only pendulum", "| pendulum (56) |"),
        ("finite_sums.py", "0-1 error"),
        ("gradients.py", "poisson"),
        ("noise.py", "units: gap"),
        ("box_peers.py", "| Branin | 50 |"),
        ("variance_reduced.py --gaps", "| squares, n = 8, d = 10, k = 2, noise 0.1 | 100 |"),
        ("variance_reduced.py --batches", "| 2 |"),
        ("regularizing.py", "| 0.1 | 5.5 |"),
        ("worker_bytes.py", "| indices and values, 12 s2, s2 = 100 | 1200 |"),
    ],
)
def test_what_weighs_the_default_solver_runs(command, shown, tmp_path):
    assert shown in run(tmp_path, *command.split()).stdout


def test_every_peer_that_is_installed_runs(tmp_path):
    done = run(tmp_path, "peers/run.py", "--out", str(tmp_path))
    assert "Queries to target" in done.stdout
    runs = (tmp_path / "runs.csv").read_text()
    for solver in ("auto", "szoht-tuned", "scipy-lbfgsb"):
        assert f"quad-d50,{solver},0," in runs
    assert "port1-k5,auto,0," in runs
