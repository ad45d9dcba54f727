"""Time per plan of an algorithm written as a generator, early and late in a long run."""

import time

import numpy as np
from core import Row, report, sized

import szoht

EARLY, LATE, WINDOW = sized((1_000, 100_000, 500), (50, 200, 20))
"""After how many plans the time is taken, and over how many."""


def rows() -> list[Row]:
    run = szoht.AskTell(
        np.zeros(20),
        method="sparse_rs",
        constraint=szoht.SparseBox(3, -1.0, 1.0),
        max_queries=LATE + 2 * WINDOW,
        rng=0,
    )
    seconds_per_plan(run, EARLY - WINDOW // 2)
    first = seconds_per_plan(run, WINDOW)
    seconds_per_plan(run, LATE - EARLY - WINDOW)
    last = seconds_per_plan(run, WINDOW)
    what = f"one query per plan, {LATE:,} plans"
    detail = f"{1e6 * first:.0f} us per plan at {EARLY:,}, {1e6 * last:.0f} us at {LATE:,}"
    return [Row(what, last / first, f"x at {EARLY:,}", 1.5, detail)]


def seconds_per_plan(run: szoht.AskTell, plans: int) -> float:
    """Drive a run for some plans; return the lower quartile of their times (others load us)."""
    times = np.empty(plans)
    for i in range(plans):
        value = float(np.abs(run.ask().points()).sum())
        start = time.perf_counter()
        run.tell([value])
        run.ask()
        times[i] = time.perf_counter() - start
    return float(np.quantile(times, 0.25))


if __name__ == "__main__":
    report(rows())
