"""What workers gain, as ratios to the bare calls of the function in one process.

The functions sleep, so that two processors are not needed twice. What is left is our overhead,
drawing directions and taking steps included; a machine that is busy otherwise shows up in it.
"""

import os
import time
from typing import Any

import numpy as np
from core import Row, alternately, report, seconds, sized

from szoht import minimize
from szoht.executors import Dask, Executor, Processes
from szoht.types import Vector

D = sized(1000, 20)


def slow(x: Vector) -> float:
    time.sleep(0.02)
    return float(x[0])


def chunk(points: Vector) -> Vector:
    time.sleep(0.001)
    return np.asarray(points[:, 0])


def run(function: Any, executor: Executor, q: int, iterations: int, **options: Any) -> float:
    """Return the seconds of some iterations, after one in which everybody started."""
    stamps: list[float] = []
    minimize(
        function,
        np.zeros(D),
        k=10,
        method="szoht",
        options={"q": q, "step_size": 1e-6, "iterate": "last"},
        max_iterations=iterations + 1,
        executor=executor,
        callback=lambda _: stamps.append(time.perf_counter()),
        rng=0,
        **options,
    )
    return stamps[iterations] - stamps[0]


def compare(
    what: str,
    executor: Executor,
    limit: float,
    function: Any,
    *,
    q: int,
    iterations: int,
    **more: Any,
) -> Row:
    """Return the speed-up over the bare calls, one after the other, with nothing around them."""
    q, iterations = sized((q, iterations), (3, 1))
    rows = more.get("chunk_size")
    argument = np.zeros(D) if rows is None else np.zeros((rows, D))
    calls = iterations * -(-(q + 1) // (rows or 1))

    def bare() -> float:
        return seconds(lambda: [function(argument) for _ in range(calls)])

    alone, together = alternately(bare, lambda: run(function, executor, q, iterations, **more), 3)
    load = f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors"
    detail = f"{together:.3f} s, {calls} bare calls {alone:.3f} s; {load}"
    return Row(what, alone / together, "x faster", limit, detail)


def on_dask() -> Row:
    from distributed import Client, LocalCluster  # noqa: PLC0415

    options = {
        "n_workers": sized(2, 1),
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    local = LocalCluster(host="127.0.0.1", **options)  # type: ignore[no-untyped-call]
    with local as cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        return compare(
            "20 ms function on 2 Dask workers", Dask(client), 1.6, slow, q=49, iterations=2
        )


def rows() -> list[Row]:
    """Measure the executors; a loss of 20 % on 2 processes is a speed-up of 1.6."""
    return [
        compare("20 ms function on 2 processes", Processes(2), 1.8, slow, q=49, iterations=2),
        compare(
            "1 ms vectorised chunks on 2 processes",
            Processes(2),
            1.6,
            chunk,
            vectorized=True,
            chunk_size=2,
            q=399,
            iterations=5,
        ),
        on_dask(),
    ]


if __name__ == "__main__":
    report(rows())
