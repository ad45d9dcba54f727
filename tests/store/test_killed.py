"""Killed at any moment, resumed: the same end to the last bit, and nothing evaluated twice."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import numpy as np
import pytest

from other_processor import CORE_TYPES, environment_of, rounding

METHODS = ("szoht", "ada_zoro", "vr_szht", "auto")
KILLS = 26  # for each method, so more than a hundred together
LONGEST = 0.12


class Zygote:
    """Runs orders in children that can be killed."""

    def __init__(self, arithmetic=None):
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("killed.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            | (arithmetic or {}),
        )

    def run(self, order, kill_after=None):
        """Return the exit status of a child, killed after some seconds or left to end."""
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            # the zygote may have reaped it already; the number is not given again that soon
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def zygote():
    process = Zygote()
    yield process
    process.close()


def durable_points(path):
    """Return how many points have a durable answer, read by nothing but SQLite."""
    if not path.exists() or path.stat().st_size == 0:
        return 0
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'answers'").fetchall():
            return 0
        return connection.execute("SELECT coalesce(sum(stop - start), 0) FROM answers").fetchone()[
            0
        ]


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("method", METHODS)
def test_killed_at_random_moments(zygote, tmp_path, method):
    moments = np.random.default_rng(METHODS.index(method))
    kills = 0
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        reference = folder / "reference"
        order = {"method": method, "seed": seed}
        whole = order | {"store": None, "log": f"{reference}.log", "result": f"{reference}.json"}
        assert zygote.run(whole) == 0
        asked = lines(folder / "reference.log")

        store, attempts = folder / "runs.db", 0
        while True:
            before = durable_points(store)
            log, result = folder / f"{attempts}.log", folder / f"{attempts}.json"
            attempt = order | {"store": str(store), "log": str(log), "result": str(result)}
            kill_after = moments.uniform(0, LONGEST) if kills < KILLS else None
            status = zygote.run(attempt, kill_after)
            attempts += 1
            # exactly what follows the durable answers, in the order of an undisturbed run
            new = lines(log)
            assert new == asked[before : before + len(new)]
            assert before + len(new) >= durable_points(store) >= before
            if status == 0:
                break
            assert status == -signal.SIGKILL
            kills += 1
        assert durable_points(store) == len(asked)
        assert json.loads(result.read_text()) == json.loads((folder / "reference.json").read_text())
        if kills >= KILLS:
            break
    assert kills >= KILLS


@pytest.fixture(scope="module")
def zygotes():
    """One process for each core type that this processor can execute."""
    names = [name for name in CORE_TYPES if rounding(name) is not None]
    if len(names) < 2:
        pytest.skip("this processor executes one core type only")
    with ExitStack() as stack:
        yield [stack.enter_context(closing(Zygote(environment_of(name)))) for name in names]


@pytest.mark.parametrize("kills", [5, pytest.param(80, marks=pytest.mark.statistical)])
@pytest.mark.parametrize("method", METHODS)
def test_killed_and_resumed_on_other_processors(zygotes, tmp_path, method, kills):
    moments = np.random.default_rng(METHODS.index(method))
    killed = seed = 0
    while killed < kills:
        seed += 1
        store, log, result = (tmp_path / f"{seed}.{end}" for end in ("db", "log", "json"))
        order = {"method": method, "seed": seed, "log": str(log), "result": str(result)}
        lost, status = 0, -signal.SIGKILL
        while status != 0:
            zygote = zygotes[moments.integers(len(zygotes))]
            before, asked = durable_points(store), len(lines(log))
            kill_after = moments.uniform(0, LONGEST) if killed < kills else None
            status = zygote.run(order | {"store": str(store)}, kill_after)
            assert status in (0, -signal.SIGKILL)
            killed += status != 0
            # what was evaluated is durable, but for what a kill has cut off
            cut = before + len(lines(log)) - asked - durable_points(store)
            assert cut >= 0
            assert cut == 0 or status != 0
            lost += cut
        assert len(lines(log)) == durable_points(store) + lost
        ended = json.loads(result.read_text())
        assert ended["status"] in ("QUERIES", "CONVERGED", "EXHAUSTED")
