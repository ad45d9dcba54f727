"""``szoht report`` of a run that has not ended."""

import time

import numpy as np
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app


def test_the_time_is_that_of_the_run_and_not_of_its_replay(tmp_path):
    calls = []

    def slow(x):
        calls.append(x)
        time.sleep(0.1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return float((x - 1) @ (x - 1))

    store = tmp_path / "runs.db"
    stopped = szoht.minimize(slow, np.zeros(5), k=2, method="szoht", rng=0, store=store)
    outcome = CliRunner().invoke(app, ["report", str(store), stopped.run])
    assert outcome.exit_code == 0, outcome.output
    (line,) = [row for row in outcome.output.splitlines() if row.strip().startswith("seconds:")]
    assert float(line.split(":")[1]) >= 0.3
