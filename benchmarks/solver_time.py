"""The default solver's own processor time per query over a whole run, without the function."""

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import time  # noqa: E402  (after the number of threads is set)

import numpy as np  # noqa: E402
from core import Row, report, sized  # noqa: E402

import szoht  # noqa: E402
from szoht.types import Vector  # noqa: E402

CASES = sized(
    (
        ("d=20 k=2", 20, 2, 120.0),
        ("d=1,000 k=10", 1_000, 10, 120.0),
        ("d=1,000 k=10, dense gradient", 1_000, -10, 120.0),
        ("d=10,000 k=50", 10_000, 50, 150.0),
        ("d=100,000 k=50", 100_000, 50, 1_000.0),
    ),
    (("d=20 k=2", 20, 2, 120.0),),
)
"""Name, dimension, non-zeros (negative: a regression), and microseconds per query allowed."""

REPEATS = sized(5, 1)


def rows() -> list[Row]:
    """Return one row per case: the median over seeds."""
    found = []
    for name, d, k, limit in CASES:
        times = [microseconds(d, k, seed) for seed in range(REPEATS)]
        detail = f"{min(times):.0f} to {max(times):.0f}"
        found.append(
            Row(f"own time per query, {name}", float(np.median(times)), "us", limit, detail)
        )
    return found


def microseconds(d: int, k: int, seed: int) -> float:
    """Return the time per query of a run to its end, less what the function took."""
    rng = np.random.default_rng(seed)
    target = np.zeros(d)
    target[rng.choice(d, abs(k), replace=False)] = rng.choice([-1.0, 1.0], abs(k))
    matrix = rng.standard_normal((100, d)) if k < 0 else None
    inside = 0.0

    def fun(x: Vector) -> float:
        nonlocal inside
        begun = time.process_time()
        miss = x - target
        value = float(miss @ miss) if matrix is None else float(((matrix @ miss) ** 2).mean())
        inside += time.process_time() - begun
        return value

    begun = time.process_time()
    result = szoht.minimize(fun, np.zeros(d), k=abs(k), max_queries=5_000, rng=seed)
    return 1e6 * (time.process_time() - begun - inside) / result.nfev


if __name__ == "__main__":
    report(rows())
