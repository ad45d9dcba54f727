"""Time per plan of an algorithm written as a generator, early and late in a long run."""

import argparse
import time

import numpy as np

import szoht

LIMIT = 1.5
"""The time per plan at 100,000 plans stays within this factor of that at 1,000."""


def seconds_per_plan(run: szoht.AskTell, plans: int) -> float:
    """Drive a run for some plans and return the lower quartile of their times."""
    times = np.empty(plans)
    for i in range(plans):
        value = float(np.abs(run.ask().points()).sum())
        start = time.perf_counter()
        run.tell([value])
        run.ask()
        times[i] = time.perf_counter() - start
    return float(np.quantile(times, 0.25))  # of what other processes did least to


def main(*, early: int, late: int, window: int) -> float:
    """Print the two times and return their ratio."""
    run = szoht.AskTell(
        np.zeros(20),
        method="sparse_rs",
        constraint=szoht.SparseBox(3, -1.0, 1.0),
        max_queries=late + 2 * window,
        rng=0,
    )
    seconds_per_plan(run, early - window // 2)
    first = seconds_per_plan(run, window)
    seconds_per_plan(run, late - early - window)
    last = seconds_per_plan(run, window)
    print(f"sparse_rs, one query per plan: {1e6 * first:.1f} us per plan at {early:,} plans")
    print(f"                               {1e6 * last:.1f} us per plan at {late:,} plans")
    print(f"ratio {last / first:.2f} (limit {LIMIT})")
    return last / first


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, to see that it runs")
    smoke = parser.parse_args().smoke
    sizes = {"early": 50, "late": 200, "window": 20} if smoke else {}
    main(**{"early": 1_000, "late": 100_000, "window": 500} | sizes)
