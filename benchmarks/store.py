"""What a run store costs: a stored run against one in memory, with a query of one millisecond.

And what a resumed run pays for its past: the time to have it again, against that of the queries
that are not asked. Both sides of a ratio are measured in the same run.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from core import Row, alternately, report, seconds

import szoht
from szoht.types import Vector

D, K, QUERY_SECONDS = 1000, 10, 1e-3
TARGET = np.zeros(D)
TARGET[:K] = np.linspace(1.0, 2.0, K)


def slow(x: Vector) -> float:
    """Take a millisecond of processor time, as a function would that computes something."""
    end = time.perf_counter() + QUERY_SECONDS
    value = float(((x - TARGET) ** 2).sum())
    while time.perf_counter() < end:
        pass
    return value


def rows(folder: Path) -> list[Row]:
    return [cost(folder, method, budget) for method, budget in (("szoht", 700), ("auto", 400))] + [
        replay(folder)
    ]


def cost(folder: Path, method: str, budget: int) -> Row:
    settings = {"k": K, "method": method, "max_queries": budget, "rng": 0}

    def memory() -> float:
        return seconds(lambda: szoht.minimize(slow, np.zeros(D), **settings))

    def stored() -> float:
        store = folder / f"{method}.db"
        return seconds(lambda: szoht.minimize(slow, np.zeros(D), store=store, **settings))

    ours, theirs = alternately(stored, memory, 5)
    detail = f"{ours:.3f} s with a store, {theirs:.3f} s in memory"
    return Row(f"store, {method}, 1 ms a query", ours / theirs, "x memory", 1.05, detail)


def replay(folder: Path) -> Row:
    def fast(x: Vector) -> float:
        return float(((x - TARGET) ** 2).sum())

    store = folder / "replay.db"
    first = szoht.minimize(
        fast, np.zeros(D), k=K, method="szoht", max_queries=20_000, rng=0, store=store
    )
    again, _ = alternately(lambda: seconds(lambda: szoht.resume(store, fast)), lambda: 0.0, 3)
    per_query = again / first.nfev
    detail = f"{1e6 * per_query:.0f} us per query of {first.nfev:,}"
    return Row("resume, d = 1000", per_query / QUERY_SECONDS, "x 1 ms", 0.1, detail)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="szoht-bench-", dir=".") as name:
        report(rows(Path(name)))
