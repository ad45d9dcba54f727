"""A billion coordinates: time per iteration, memory, and a solution recovered from values alone.

Run with ``make bench``. Each size is measured in a process of its own, so that its peak memory is
its own; the processes take turns, because machines are shared and noisy.
"""

import json
import pickle
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from core import SMOKE, Row, report, sized

from szoht import AskTell, SparseVector, minimize
from szoht.core.objective import as_objective
from szoht.evaluation.oracle import Oracle
from szoht.types import Indices, Vector

K, Q, SUPPORT_SIZE = 10, sized(500, 10), 50
SMALL, HUGE = 10**5, 10**9
ITERATIONS = sized(200, 3)
ROUNDS = sized(5, 1)
SEEDS = sized(20, 1)


class Problem:
    """0.5 sum over ten random coordinates of (x_i - wanted_i)^2."""

    def __init__(self, d: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.support = np.sort(generator.choice(d, K, replace=False))
        self.wanted = generator.choice([-1.0, 1.0], K) * generator.uniform(0.1, 2.0, K)

    def value(self, x: Vector) -> float:
        """Read ten entries."""
        return 0.5 * float(((x[self.support] - self.wanted) ** 2).sum())


def everywhere(x: SparseVector) -> float:
    """Return 0.5 |x|^2 - sum(x), to which every coordinate matters, so that none is dropped."""
    return float((0.5 * x.values**2 - x.values).sum())


def along(x: SparseVector, indices: Indices, offsets: Vector) -> Vector:
    """Return its values at x plus sparse offsets."""
    answer: Vector = everywhere(x) + ((x[indices] - 1) * offsets + 0.5 * offsets**2).sum(axis=1)
    return answer


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def iterations(d: int, q: int = Q) -> dict[str, float]:
    """Time SZOHT's iterations one by one, objective included, and weigh what would travel."""
    start = SparseVector(d, np.arange(K), np.full(K, 0.5))
    settings: dict[str, Any] = {"q": q, "support_size": SUPPORT_SIZE, "step_size": 0.1 / d}
    run = AskTell(start, k=K, method="szoht", options=settings, max_iterations=10**9, rng=0)
    oracle = Oracle(objective=as_objective(everywhere, along=along))
    times = []
    for _ in range(ITERATIONS):
        begin = time.perf_counter()
        run.receive(oracle(run.ask()))
        times.append(time.perf_counter() - begin)
    return {
        "seconds": float(np.median(times)),
        "megabytes": peak_megabytes(),
        "plan": len(pickle.dumps(run.ask())),
        "base": len(pickle.dumps(run.state.x)),
    }


def recovery(d: int, seed: int = 0) -> dict[str, float]:
    """Find ten coordinates of ``d`` and their values."""
    problem = Problem(d, seed)
    settings: dict[str, Any] = {"k": K, "method": "sketch_ht", "target": 1e-12, "rng": seed}
    result = minimize(problem.value, SparseVector(d), max_queries=10_000, **settings)
    found = result.x[problem.support]
    return {
        "right": float(np.count_nonzero(found)) if result.support.size == K else 0.0,
        "error": float(np.abs(found - problem.wanted).max()),
        "queries": result.nfev,
        "iterations": result.nit,
        "seconds": result.seconds,
        "megabytes": peak_megabytes(),
    }


def alone(what: str, *sizes: int) -> dict[str, float]:
    """Measure in a fresh process."""
    command = [sys.executable, __file__, what, *map(str, sizes)] + ["--smoke"] * SMOKE
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(run.stdout)
    return answer


def time_rows() -> list[Row]:
    pairs = [(alone("iterations", HUGE), alone("iterations", SMALL)) for _ in range(ROUNDS)]
    huge, small = (min(side, key=lambda one: one["seconds"]) for side in zip(*pairs, strict=True))
    times = f"{1e3 * huge['seconds']:.2f} ms, at 10^5 {1e3 * small['seconds']:.2f} ms"
    travels = f"base point {huge['base']:.0f} bytes, whole plan {huge['plan']:.0f} bytes"
    more = min(
        (alone("iterations", HUGE, 4 * Q) for _ in range(sized(3, 1))),
        key=lambda run: run["seconds"],
    )
    entry = (more["seconds"] - huge["seconds"]) / (3 * Q * SUPPORT_SIZE)
    grows = f"{1e9 * entry:.0f} ns more per entry of a direction"
    setting = f"k = {K}, q = {Q}, s2 = {SUPPORT_SIZE}"
    return [
        Row(
            "iteration of szoht, d = 10^9 against 10^5",
            huge["seconds"] / small["seconds"],
            "x time",
            1.5,
            f"{times}; {setting}; {grows}",
        ),
        Row(
            "its peak memory, d = 10^9", huge["megabytes"], "MB", 300, f"import included; {travels}"
        ),
    ]


def recovery_rows() -> list[Row]:
    one = alone("recovery", HUGE)
    larger = alone("recovery", 10**12)
    detail = f"{_spent(one)}; at 10^12 {_spent(larger)}"
    errors = [recovery(HUGE, seed) for seed in range(SEEDS)]
    missed = sum(run["right"] != K for run in errors)
    queries = [run["queries"] for run in errors]
    return [
        Row("10 of 10^9 recovered, largest error", 1e6 * one["error"], "x 1e-6", 10, detail),
        Row("memory of the recovery", one["megabytes"], "MB", 300, "import included"),
        Row(
            f"recoveries that missed, of {SEEDS} seeds",
            missed,
            "runs",
            0,
            f"queries {min(queries):.0f} to {max(queries):.0f}",
        ),
    ]


def _spent(run: dict[str, float]) -> str:
    return (
        f"{run['queries']:.0f} queries, {run['iterations']:.0f} iterations, "
        f"{run['seconds']:.2f} s, {run['megabytes']:.0f} MB"
    )


if __name__ == "__main__":
    what, *numbers = [word for word in sys.argv[1:] if word != "--smoke"] or ["all"]
    if what != "all":
        work = {"iterations": iterations, "recovery": recovery}[what]
        print(json.dumps(work(*map(int, numbers))))
    else:
        report([*time_rows(), *recovery_rows()])
