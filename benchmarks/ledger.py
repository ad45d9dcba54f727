"""What the ledger of a run costs at a million evaluations: time and memory.

Time is that of recording, against the time that a trivial function of the same points takes in the
same run. Memory is what a process holds more than before, read from the system, in a process of its
own for each case.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from core import SMOKE, Row, report, sized

from szoht.core.directions import SampledDirections
from szoht.core.distributions import SphereDistribution
from szoht.core.ledger import Ledger
from szoht.core.query import Plan, Query, one_point
from szoht.core.random import Key
from szoht.types import Vector

EVALUATIONS = sized(10**6, 2_000)
D, K, Q = 1_000, 10, 100

LIMITS = {"single": (8.0, 400.0), "directions": (1.0, 40.0)}
"""Of the time of the function, and of the bytes of an evaluation."""


def single() -> dict[str, float]:
    """Record single points of ten non-zeros, as the default method asks them."""
    ledger = Ledger(np.zeros(D), allowed=lambda x: int(np.count_nonzero(x)) <= K)
    pool = _points()
    return _measured(
        ledger, lambda i: one_point(pool[i % len(pool)] * (1.0 + i), None), EVALUATIONS
    )


def directions() -> dict[str, float]:
    """Record the plans of SZOHT: a base, and a hundred random directions."""
    pool = _points()

    def plan(i: int) -> Plan:
        sampled = SampledDirections(
            distribution=SphereDistribution(support_size=D),
            key=Key(seed=0, iteration=i),
            d=D,
            count=Q,
        )
        query = Query(base=pool[i % len(pool)] * (1.0 + i), directions=sampled, radius=1e-6)
        return Plan(queries=(query,))

    return _measured(Ledger(np.zeros(D)), plan, EVALUATIONS // (Q + 1))


def _points() -> Vector:
    """Return points of ten non-zeros each."""
    rng, pool = np.random.default_rng(0), np.zeros((500, D))
    for row in pool:
        row[rng.choice(D, K, replace=False)] = rng.standard_normal(K)
    return pool


def _measured(ledger: Ledger, plan_of: Callable[[int], Plan], count: int) -> dict[str, float]:
    own = theirs = 0.0
    values = np.random.default_rng(1).standard_normal(10_000)
    before = _resident()
    for i in range(count):
        plan = plan_of(i)
        begun = time.perf_counter()
        for query in plan.queries:
            _trivial(query.base)
        between = time.perf_counter()
        chosen = np.take(values, np.arange(i, i + plan.n_points) % values.size)
        answers = plan.answered(chosen)
        recording = time.perf_counter()
        ledger.record(plan, answers)
        own += time.perf_counter() - recording
        theirs += (between - begun) * plan.n_points
    n = len(ledger)
    return {
        "ratio": own / theirs,
        "microseconds": 1e6 * own / n,
        "bytes": (_resident() - before) / n,
        "megabytes": (_resident() - before) / 1e6,
        "evaluations": n,
        "dropped": ledger.n_dropped,
    }


def _trivial(x: Vector) -> float:
    return float(x @ x)


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()


def rows() -> list[Row]:
    """Return a row for time and one for memory, for each kind of plan."""
    found = []
    for name, (most_time, most_bytes) in LIMITS.items():
        command = [sys.executable, __file__, name, *(["--smoke"] if SMOKE else [])]
        cost = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        what = f"ledger, {cost['evaluations']:,} evaluations, {name}"
        detail = f"{cost['microseconds']:.2f} us each; {cost['dropped']:,} known by value only"
        found.append(Row(f"{what}: time", cost["ratio"], "x f", most_time, detail))
        detail = f"{cost['megabytes']:.0f} MB in all"
        found.append(Row(f"{what}: memory", cost["bytes"], "bytes each", most_bytes, detail))
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in LIMITS:
        sys.stdout.write(json.dumps({"single": single, "directions": directions}[sys.argv[1]]()))
    else:
        report(rows())
