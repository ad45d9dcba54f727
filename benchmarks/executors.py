"""What workers gain, as ratios to the same run without them.

The functions sleep, so that what is measured is our overhead and not how busy the machine is.
"""

import time
from typing import Any

import numpy as np
from core import Row, alternately, report

from szoht import minimize
from szoht.executors import Dask, Executor, Processes
from szoht.types import Vector

D, Q = 1000, 48


def slow(x: Vector) -> float:
    time.sleep(0.02)
    return float(x[0])


def chunk(points: Vector) -> Vector:
    time.sleep(0.001)
    return np.asarray(points[:, 0])


def run(function: Any, executor: Executor | None, **options: Any) -> float:
    """Return the seconds of some iterations once everybody has started."""
    stamps: list[float] = []
    minimize(
        function,
        np.zeros(D),
        k=10,
        method="szoht",
        options={"q": options.pop("q", Q), "step_size": 1e-6, "iterate": "last"},
        max_iterations=options.pop("iterations", 3),
        executor=executor,
        callback=lambda _: stamps.append(time.perf_counter()),
        rng=0,
        **options,
    )
    # the last stamp is that of the closing measurement, the first that of an iteration of starts
    return stamps[-2] - stamps[0]


def compare(what: str, executor: Executor, limit: float, function: Any, **options: Any) -> Row:
    """Return the speed-up over the same run without an executor."""
    alone, together = alternately(
        lambda: run(function, None, **options), lambda: run(function, executor, **options), 2
    )
    detail = f"{together:.3f} s, serial {alone:.3f} s"
    return Row(what, alone / together, "x faster", limit, detail)


def on_dask() -> Row:
    from distributed import Client, LocalCluster  # noqa: PLC0415

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    local = LocalCluster(host="127.0.0.1", **options)  # type: ignore[no-untyped-call]
    with local as cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        return compare("20 ms function on 2 Dask workers", Dask(client), 1.6, slow)


def rows() -> list[Row]:
    """Measure the executors; a loss of 20 % on 2 processes is a speed-up of 1.6."""
    return [
        compare("20 ms function on 2 processes", Processes(2), 1.8, slow),
        compare(
            "1 ms vectorised chunks on 2 processes",
            Processes(2),
            1.6,
            chunk,
            vectorized=True,
            chunk_size=2,
            q=399,
            iterations=6,
        ),
        on_dask(),
    ]


if __name__ == "__main__":
    report(rows())
