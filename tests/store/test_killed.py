"""Killed at any moment, resumed: the same end to the last bit, and nothing evaluated twice."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

METHODS = ("szoht", "ada_zoro", "vr_szht", "auto")
KILLS = 26  # for each method, so more than a hundred together
LONGEST = 0.12


class Zygote:
    """Runs orders in children that can be killed."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("killed.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
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
