"""The clock of a run: it stands while callbacks run, and after the end."""

import numpy as np

from szoht import AskTell
from szoht.core import clock


def quadratic(x):
    return float(((x - 1) ** 2).sum())


def test_time_stops_with_the_run_and_in_callbacks(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])

    def callback(progress):
        now[0] += 100.0

    def fun(x):
        now[0] += 1.0
        return quadratic(x)

    run = AskTell(
        np.zeros(5),
        k=2,
        options={"q": 3, "mu": 1e-6, "step_size": 0.01},
        max_iterations=2,
        callback=callback,
        rng=0,
        method="szoht",
    )
    while not run.done:
        run.tell([fun(point) for point in run.ask().points()])
    assert run.result.seconds == 9.0
    now[0] += 50
    assert run.result.seconds == 9.0
