"""Speed and memory of the core, each as a ratio to something measured in the same run.

Run with ``make bench``. Times are the best of several repetitions, taken alternately with those
of what they are compared to, because machines are shared and noisy.

``--smoke`` runs this and every other benchmark at tiny sizes, to see that it still works: its
figures mean nothing, and no limit counts. The tests do that.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from szoht import AskTell, Objective, minimize, szoht
from szoht.core.random import draw_supports
from szoht.evaluation.oracle import Oracle
from szoht.types import Indices, Sample, Vector

SMOKE = "--smoke" in sys.argv
T = TypeVar("T")


def sized(full: T, tiny: T) -> T:
    """Return the size to run at."""
    return tiny if SMOKE else full


D_DENSE, Q_DENSE = sized((5000, 2000), (50, 20))
D_SPARSE, Q_SPARSE, SIZE = sized((10**6, 2000, 50), (1000, 20, 5))
D_PLAIN, QUERIES = sized((1000, 5000), (20, 200))


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, against what, and the limit."""

    what: str
    figure: float
    unit: str
    limit: float
    detail: str

    @property
    def met(self) -> bool:
        """Whether the figure keeps the limit; ``x faster`` counts upwards."""
        return self.figure >= self.limit if self.unit == "x faster" else self.figure <= self.limit


class Timed:
    """A function that keeps account of the time spent inside it."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self.seconds = 0.0

    def __call__(self, *arguments: object) -> object:
        """Call the function on the clock."""
        start = time.perf_counter()
        answer = self.function(*arguments)
        self.seconds += time.perf_counter() - start
        return answer


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def alternately(
    first: Callable[[], float], second: Callable[[], float], n: int
) -> tuple[float, float]:
    """Return the best of ``n`` of each, taken in turns."""
    pairs = [(first(), second()) for _ in range(sized(n, 1))]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def iteration(
    objective: Objective, timers: list[Timed], d: int, **options: float
) -> Callable[[], float]:
    """Return a function that runs one SZOHT iteration and gives its time beyond the objective."""
    method = szoht(k=10, mu=1e-6, step_size=1e-6, **options)  # type: ignore[arg-type]
    run = AskTell(np.zeros(d), method=method, max_iterations=10**9, rng=0)
    oracle = Oracle(objective=objective)

    def one() -> float:
        for timer in timers:
            timer.seconds = 0.0
        return seconds(lambda: run.receive(oracle(run.ask()))) - sum(t.seconds for t in timers)

    return one


def dense_supports() -> Row:
    d, q = D_DENSE, Q_DENSE
    y = np.zeros(d)
    y[-5:] = 1.0
    values = Timed(lambda points, _: 0.5 * ((points - y) ** 2).sum(axis=1))
    objective = Objective(value=lambda x, _: 0.5 * float(((x - y) ** 2).sum()), values=values)
    generator = np.random.Generator(np.random.SFC64(0))
    out = np.empty((q, d))
    ours, floor = alternately(
        iteration(objective, [values], d, q=q),
        lambda: seconds(lambda: generator.standard_normal(out=out)),
        7,
    )
    detail = f"{1e3 * ours:.1f} ms, drawing {q} x {d} normals {1e3 * floor:.1f} ms"
    return Row(f"iteration overhead, s2 = d = {d}, q = {q}", ours / floor, "x drawing", 1.5, detail)


def sparse_supports() -> Row:
    d, q, size = D_SPARSE, Q_SPARSE, SIZE
    y = np.zeros(d)
    y[-5:] = 1.0

    def value(x: Vector, sample: Sample) -> float:
        del sample
        return 0.5 * float(((x - y) ** 2).sum())

    def along(x: Vector, indices: Indices, offsets: Vector, sample: Sample) -> Vector:
        slope = x[indices] - y[indices]
        answer: Vector = value(x, sample) + (slope * offsets + 0.5 * offsets**2).sum(axis=1)
        return answer

    timers = [Timed(value), Timed(along)]
    objective = Objective(value=timers[0], along=timers[1])
    generator = np.random.Generator(np.random.SFC64(0))
    vector = generator.standard_normal(d)

    def floor_work() -> None:
        generator.standard_normal((q, size))
        generator.integers(d, size=(q, size))
        np.argpartition(np.abs(vector), d - 10)

    ours, floor = alternately(
        iteration(objective, timers, d, q=q, support_size=size),
        lambda: seconds(floor_work),
        15,
    )
    detail = f"{1e3 * ours:.1f} ms, drawing and one argpartition {1e3 * floor:.1f} ms"
    what = f"iteration overhead, d = {d}, s2 = {size}, q = {q}"
    return Row(what, ours / floor, "x drawing", 5, detail)


def supports() -> Row:
    d, q, size = D_SPARSE, Q_SPARSE, SIZE
    generator = np.random.Generator(np.random.SFC64(0))

    def loop() -> None:
        for _ in range(q):
            generator.choice(d, size=size, replace=False)

    ours, theirs = alternately(
        lambda: seconds(lambda: draw_supports(generator, d=d, size=size, count=q)),
        lambda: seconds(loop),
        5,
    )
    detail = f"{1e3 * ours:.2f} ms, Generator.choice loop {1e3 * theirs:.1f} ms"
    return Row(f"{q} supports of {size} in {d}", theirs / ours, "x faster", 10, detail)


MEMORY = """
import json, pathlib
import numpy as np
from szoht import minimize, szoht
def peak():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
d, q = {d}, {q}
before = peak()
def value(x):
    return 0.5 * float(x @ x)
def along(x, indices, offsets):
    return value(x) + (x[indices] * offsets + 0.5 * offsets**2).sum(axis=1)
method = szoht(k=10, q=q, support_size=q, mu=1e-6, step_size=0.1)
minimize(value, np.zeros(d), along=along, method=method, max_iterations=3, rng=0)
print(json.dumps(peak() - before))
"""


def memory() -> Row:
    q = Q_SPARSE // 2
    extra = json.loads(_python(MEMORY.format(d=D_SPARSE, q=q)))
    what = f"peak memory, d = {D_SPARSE}, q = s2 = {q}"
    return Row(what, extra, "MB", 150, "three iterations, above import")


def plain_function(support_size: int | None) -> Row:
    d = D_PLAIN
    y = np.zeros(d)
    y[-5:] = 1.0
    options = {} if support_size is None else {"support_size": support_size}
    point = np.ones(d)
    queries = QUERIES

    def fun(x: Vector) -> float:
        return 0.5 * float(((x - y) ** 2).sum())

    def run() -> None:
        start = np.zeros(d)
        minimize(fun, start, k=10, method="szoht", options=options, max_queries=queries, rng=0)

    def bare() -> None:
        for _ in range(queries):
            fun(point)

    ours, floor = alternately(lambda: seconds(run), lambda: seconds(bare), 7)
    generator = np.random.Generator(np.random.SFC64(0))
    drawing = min(seconds(lambda: generator.standard_normal((65, d))) for _ in range(50)) / 65
    ours = 1e6 * (ours - floor) / queries
    detail = (
        f"fun itself {1e6 * floor / queries:.1f} us; "
        f"drawing one dense direction of {d} normals {1e6 * drawing:.1f} us"
    )
    size = "d" if support_size is None else support_size
    return Row(f"plain fun(x), d = {d}, s2 = {size}", ours, "us/query", 15, detail)


def imports() -> Row:
    def fresh(statement: str) -> Callable[[], float]:
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        return lambda: float(_python(code))

    ours, theirs = alternately(fresh("import szoht"), fresh("import numpy, scipy.optimize"), 7)
    detail = f"{1e3 * ours:.0f} ms, numpy and scipy.optimize {1e3 * theirs:.0f} ms"
    return Row("import szoht", ours / theirs, "x import", 1.3, detail)


def _python(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout


def rows() -> list[Row]:
    """Measure the core."""
    return [
        dense_supports(),
        sparse_supports(),
        supports(),
        memory(),
        plain_function(None),
        plain_function(SIZE),
        imports(),
    ]


def report(table: list[Row]) -> None:
    """Print the table; exit with 1 if a limit is not kept, unless the sizes are tiny."""
    for row in table:
        verdict = "tiny" if SMOKE else "met" if row.met else "NOT MET"
        print(
            f"{row.what:<48}{row.figure:8.2f} {row.unit:<10} limit {row.limit:<6g}"
            f"{verdict:<9}{row.detail}",
            flush=True,
        )
    if not SMOKE and not all(row.met for row in table):
        sys.exit(1)


if __name__ == "__main__":
    report(rows())
