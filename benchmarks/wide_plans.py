"""Rounds of plans of width 1 and 16, for 16 workers: a round evaluates at most 16 points.

    python benchmarks/wide_plans.py [--smoke] [--seeds 5] [--only text]

The ceiling is what 16 workers can gain at most: queries over rounds.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

import szoht
from szoht.types import Vector

sys.path.append(str(Path(__file__).parent / "peers"))
from problems import Problem, Unavailable, make

WORKERS = 16
NAMES = (
    "regression",
    "regression-ar",
    "logistic-ar",
    "coupled",
    "blocks-c100",
    "dense",
    "errors",
    "port1-k10",
    "port2-k10",
    "port3-k10",
)


def plan_sizes(problem: Problem, width: int, seed: int) -> Vector:
    """Minimize until the target, and return how many points each plan had."""
    run = szoht.AskTell(
        problem.x0,
        k=problem.k,
        max_queries=problem.budget,
        target=problem.target,
        rng=seed,
        plan_width=width,
    )
    sizes = []
    while not run.done:
        points = run.ask().points()
        sizes.append(float(len(points)))
        run.tell([problem.fun(x) for x in points])
    return np.array(sizes)


def row(problem: Problem, seeds: int) -> str:
    """Return medians over seeds: queries, rounds and ceilings of both widths."""
    queries, rounds = np.empty((2, seeds)), np.empty((2, seeds))
    for i, width in enumerate((1, WORKERS)):
        for seed in range(seeds):
            sizes = plan_sizes(problem, width, seed)
            queries[i, seed], rounds[i, seed] = sizes.sum(), np.ceil(sizes / WORKERS).sum()
    ceiling = np.median(queries / rounds, axis=1)
    asked, taken = np.median(queries, axis=1), np.median(rounds, axis=1)
    return (
        f"{problem.name:15s} queries {asked[0]:6.0f} {asked[1]:6.0f} ({asked[1] / asked[0]:.2f} x) "
        f"rounds {taken[0]:5.0f} {taken[1]:5.0f}  ceiling {ceiling[0]:4.1f} {ceiling[1]:4.1f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--smoke", action="store_true", help="one problem, one seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="problems whose name holds this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in NAMES if options.only in name]
    for name in names[:1] if options.smoke else names:
        try:
            print(row(make(name), 1 if options.smoke else options.seeds), flush=True)
        except (Unavailable, szoht.SzohtError):
            print(f"{name}: its data are not here", file=sys.stderr)


if __name__ == "__main__":
    main()
