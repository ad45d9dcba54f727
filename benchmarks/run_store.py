"""What a run store costs: a stored run against one in memory, with a query of one millisecond.

The queries of a few seconds, so that opening a store, some 40 ms, does not count for much.

What a resumed run pays for its past: the time to have it again, against that of the queries that
are not asked. And what a run pays for the others of its file: the time of a short one in a store of
200 runs, against that in a new store. Both sides of a ratio are measured in the same run.
"""

import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np
from core import Row, alternately, report, seconds, sized

import szoht
from szoht.types import Vector

D, K, QUERY_SECONDS = 1000, 10, 1e-3
TARGET = np.zeros(D)
TARGET[:K] = np.linspace(1.0, 2.0, K)
DESIGN = np.random.default_rng(0).standard_normal((200, D))


def slow(x: Vector) -> float:
    """Wait a millisecond, as for a program, so that what others do on the machine matters less."""
    time.sleep(QUERY_SECONDS)
    return float(((DESIGN @ (x - TARGET)) ** 2).mean())


def rows(folder: Path) -> list[Row]:
    costs = [cost(folder, method, sized(2_500, 200)) for method in ("szoht", "auto")]
    return [*costs, replay(folder), crowd(folder)]


def cost(folder: Path, method: str, budget: int) -> Row:
    store = folder / f"{method}.db"

    def run(**more: Path) -> float:
        return seconds(
            lambda: szoht.minimize(
                slow,
                np.zeros(D),
                k=K,
                method=method,
                max_queries=budget,
                rng=0,
                store=more.get("store"),
            )
        )

    ours, theirs = alternately(lambda: run(store=store), run, 3)
    detail = (
        f"{ours:.3f} s with a store, {theirs:.3f} s in memory; a commit {commit(folder):.1f} ms"
    )
    return Row(f"store, {method}, 1 ms a query", ours / theirs, "x memory", 1.05, detail)


def commit(folder: Path) -> float:
    """Return the milliseconds that a durable commit of one row takes here, the median of 50."""
    with closing(sqlite3.connect(folder / "commit.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
        times = [seconds(lambda: connection.execute("INSERT INTO t VALUES (1)")) for _ in range(50)]
    return 1e3 * float(np.median(times))


def replay(folder: Path) -> Row:
    def fast(x: Vector) -> float:
        return float(((x - TARGET) ** 2).sum())

    store = folder / "replay.db"
    first = szoht.minimize(
        fast, np.zeros(D), k=K, method="szoht", max_queries=sized(20_000, 300), rng=0, store=store
    )
    again, _ = alternately(lambda: seconds(lambda: szoht.resume(store, fast)), lambda: 0.0, 3)
    per_query = again / first.nfev
    detail = f"{1e6 * per_query:.0f} us per query of {first.nfev:,}"
    return Row("resume, d = 1000", per_query / QUERY_SECONDS, "x 1 ms", 0.1, detail)


def crowd(folder: Path) -> Row:
    def short(store: szoht.Store) -> None:
        szoht.minimize(
            lambda x: float(((x - 1) ** 2).sum()),
            np.zeros(20),
            k=2,
            method="szoht",
            options={"q": 4},
            max_iterations=1,
            rng=0,
            store=store,
        )

    count = sized(200, 20)
    with szoht.Store(folder / "many.db") as many, szoht.Store(folder / "few.db") as few:
        for _ in range(count):
            short(many)
        ours, theirs = alternately(
            lambda: seconds(lambda: short(many)), lambda: seconds(lambda: short(few)), 15
        )
    detail = f"{1e3 * ours:.1f} ms with {count} other runs, {1e3 * theirs:.1f} ms with few"
    return Row(f"one iteration, {count} runs", ours / theirs, "x new store", 1.5, detail)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="szoht-bench-", dir=".") as name:
        report(rows(Path(name)))
