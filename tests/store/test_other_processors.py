"""Runs that were stored under the arithmetic of one processor go on under that of another."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from other_processor import CORE_TYPES, environment_of, rounding

SCRIPT = Path(__file__).with_name("elsewhere.py")


def on(core_type, action, store):
    """Store runs, or go on with them, in a process that computes as a core type does."""
    done = subprocess.run(
        [sys.executable, SCRIPT, action, store],
        env=os.environ | environment_of(core_type) | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def core_types():
    """Those that this processor can execute, each of which rounds in its own way."""
    by_rounding = {}
    for name in CORE_TYPES:
        found = rounding(name)
        if found is not None:
            by_rounding.setdefault(found, name)
    if len(by_rounding) < 2:
        pytest.skip("this processor executes one kind of arithmetic only")
    return list(by_rounding.values())


def check(made, resumed):
    assert made.keys() == resumed.keys()
    assert len(made) >= 19
    for name, run in resumed.items():
        method = made[name]["method"]
        # every answer is kept, and counted once; what was measured at an end is kept beside
        assert run["evaluations"] >= made[name]["calls"] + run["calls"] - 1, method
        assert run["evaluations"] <= made[name]["calls"] + run["calls"], method
        assert run["calls"] > 0, method
        assert run["status"] in ("QUERIES", "CONVERGED", "EXHAUSTED"), (method, run)
        if method == "auto":
            assert run["value"] == pytest.approx(run["fun"], rel=1e-12), method


def test_every_method_goes_on(core_types, tmp_path):
    first, second = core_types[:2]
    stores = tmp_path / "first.db", tmp_path / "second.db"
    made = on(first, "make", stores[0])
    shutil.copy(stores[0], stores[1])
    check(made, on(second, "resume", stores[1]))
    # what was finished there is finished here, without an evaluation
    again = on(first, "resume", stores[1])
    assert all(run["calls"] == 0 for run in again.values())


@pytest.mark.statistical
def test_every_method_goes_on_between_all_core_types(core_types, tmp_path):
    made = {name: on(name, "make", tmp_path / name) for name in core_types}
    for first, second in itertools.product(core_types, repeat=2):
        copy = shutil.copy(tmp_path / first, tmp_path / f"{first}-{second}")
        check(made[first], on(second, "resume", copy))
