"""Real simulators through `szoht.minimize`: methane burning, and a production line with integers.

Each row compares the median over hidden truths, or lines, with that of others at as many
simulations. Cantera and SimPy are part of the extra ``bench``; ``--smoke`` uses small models of
our own instead, and leaves out what is not installed.
"""

import math
import statistics
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from calibration_methods import PACKAGES, run, thresholded
from calibration_problems import combustion_problem, ode
from core import SMOKE, Row, report, sized

import szoht
from szoht.types import Vector

Fun: TypeAlias = Callable[[Vector], float]

TRUTHS, SIMULATIONS = sized((range(5), 400), (range(1), 20))
LINES, LINE_SIMULATIONS = sized((range(5), 500), (range(1), 20))
MACHINES, JOBS = sized((30, 150), (4, 20))
CHANGES = sized(4, 2)
HOLDING_COST = 0.02  # per job and unit of time in the line
SPEED_COST = 0.1  # of a machine, times the square of its speed


def rows() -> list[Row]:
    warnings.simplefilter("ignore")
    return [*combustion(), *production_lines()]


def available(package: str | None) -> bool:
    if package is None or find_spec(package) is not None:
        return True
    print(f"not measured for want of {package}: install szoht[bench]", file=sys.stderr)
    return False


def compared(what: str, found: dict[str, list[float]]) -> list[Row]:
    """Return a row for each other method: our median over its median."""
    medians = {name: statistics.median(values) for name, values in found.items()}
    ours = medians.pop("minimize")
    return [
        Row(f"{what}, against {name}", ours / other, "x", 1.0, f"{ours:.4g}, it has {other:.4g}")
        for name, other in medians.items()
    ]


# combustion


def combustion() -> list[Row]:
    """Compare the misfit after 400 simulations, 325 reactions, 5 of them changed."""
    if not SMOKE and not available("cantera"):
        return []
    problem = combustion_problem if not SMOKE else lambda seed: replace(ode(seed, 12), k=3)
    found: dict[str, list[float]] = {}
    for name in ("minimize", "sensitivities", "pycma", "nevergrad"):
        if available(PACKAGES.get(name)):
            records = [run(name, problem(seed), SIMULATIONS, seed) for seed in TRUTHS]
            found[name] = [record.misfits[-1] for record in records]
    return compared("combustion, misfit", found)


# the production line


@dataclass(frozen=True)
class Line:
    """Machines in series, each behind a buffer; a machine waits while the next buffer is full.

    x holds the speeds and then the buffer sizes. ``arrivals`` and ``work`` are the common random
    numbers: every point is simulated with the same ones.
    """

    arrivals: Vector  # of each job
    work: Vector  # of each job on each machine

    @classmethod
    def random(cls, seed: int, machines: int, jobs: int) -> "Line":
        """Return a line with a few slow machines and many erratic ones."""
        rng = np.random.default_rng((seed, 8))
        mean = rng.uniform(0.6, 1.0, machines)
        slow = rng.choice(machines, max(machines // 6, 1), replace=False)
        mean[slow] = rng.uniform(1.1, 1.4, slow.size)
        shape = rng.choice([0.3, 4.0], machines)  # half of them are erratic
        work = rng.gamma(shape, mean / shape, (jobs, machines))
        return cls(np.cumsum(rng.exponential(1.0, jobs)), work)

    @property
    def knobs(self) -> szoht.Variables:
        """Speeds from a half to one and a half, and 1 to 12 places in a buffer, of nominally 1."""
        n = self.work.shape[1]
        speeds, buffers = np.ones(n), np.ones(n)
        return szoht.Variables(
            np.concatenate([speeds, buffers]),
            low=np.concatenate([0.5 * speeds, np.ones(n)]),
            high=np.concatenate([1.5 * speeds, np.full(n, 12)]),
            integer=np.arange(2 * n) >= n,
            names=[f"{kind} {i}" for kind in ("speed", "buffer") for i in range(n)],
        )

    def cost(self, x: Vector) -> float:
        """Return the time per job, what holding a job costs on average, and the cost of speed."""
        speeds, sizes = x[: self.work.shape[1]], x[self.work.shape[1] :].astype(int)
        ends = np.array(simulate(self.arrivals, self.work / speeds, sizes))
        holding = HOLDING_COST * float((ends - self.arrivals).mean())
        return float(ends[-1]) / ends.size + holding + SPEED_COST * float((speeds**2 - 1).sum())


def events(arrivals: Vector, times: Vector, sizes: Vector) -> list[float]:
    """Return when each job leaves the line, as SimPy simulates it."""
    import simpy  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    world: Any = simpy.Environment()
    buffers = [*(simpy.Store(world, int(size)) for size in sizes), simpy.Store(world)]
    ends = []

    def source() -> Any:
        for job, arrival in enumerate(arrivals):
            yield world.timeout(max(arrival - world.now, 0.0))
            yield buffers[0].put(job)

    def machine(i: int) -> Any:
        while True:
            job = yield buffers[i].get()
            yield world.timeout(times[job, i])
            yield buffers[i + 1].put(job)
            if i == len(sizes) - 1:
                ends.append(float(world.now))

    world.process(source())
    for i in range(len(sizes)):
        world.process(machine(i))
    world.run()
    return ends


def recursion(arrivals: Vector, times: Vector, sizes: Vector) -> list[float]:
    """Return the same from the equations of a line: a job leaves when the next buffer has room."""
    jobs, machines = times.shape
    starts = np.zeros((jobs, machines))
    leaves = np.zeros((jobs, machines + 1))  # column 0: when the job enters the first buffer
    for j in range(jobs):
        for i in range(machines + 1):
            end = arrivals[j] if i == 0 else starts[j, i - 1] + times[j, i - 1]
            if i == 0 and j > 0:
                end = max(end, leaves[j - 1, 0])
            if i < machines and j >= sizes[i]:
                end = max(end, starts[j - sizes[i], i])
            leaves[j, i] = end
            if i < machines:
                starts[j, i] = max(end, leaves[j - 1, i + 1] if j > 0 else 0.0)
    return [float(end) for end in leaves[:, -1]]


simulate = events if find_spec("simpy") else recursion


def production_lines() -> list[Row]:
    """Compare the cost after 500 simulations, 30 speeds and 30 buffer sizes, 4 of them changed."""
    if not SMOKE and not available("simpy"):
        return []
    found: dict[str, list[float]] = {}
    for name, solve in (("minimize", ours), ("pycma", pycma), ("nevergrad", nevergrad)):
        if available(PACKAGES.get(name)):
            lines = [Line.random(seed, MACHINES, JOBS) for seed in LINES]
            found[name] = [solve(line, seed) for seed, line in enumerate(lines)]
    return compared("production line, cost", found)


def ours(line: Line, seed: int) -> float:
    result = szoht.minimize(
        line.cost, line.knobs, k=CHANGES, max_queries=LINE_SIMULATIONS, rng=seed
    )
    return result.fun


def feasible(knobs: szoht.Variables, z: Vector) -> Vector:
    """Return the point of the CHANGES largest entries of z, in units of the width of the box."""
    width = knobs.high - knobs.low
    x = np.clip(knobs.nominal + width * thresholded(z, CHANGES), knobs.low, knobs.high)
    return np.where(knobs.integer, np.rint(x), x)


def pycma(line: Line, seed: int) -> float:
    import cma  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    knobs, best = line.knobs, math.inf
    options = {"CMA_diagonal": True, "seed": seed + 1, "verbose": -9, "bounds": [-1, 1]}
    strategy = cma.CMAEvolutionStrategy(np.zeros(knobs.nominal.size), 0.2, options)
    left = LINE_SIMULATIONS
    while left > 0:
        points = strategy.ask()
        values = [line.cost(feasible(knobs, np.array(z))) for z in points]
        best = min(best, *values[:left])
        left -= len(points)
        strategy.tell(points, values)
    return best


def nevergrad(line: Line, seed: int) -> float:
    import nevergrad as ng  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    knobs, values = line.knobs, []
    space: Any = ng.p.Array(init=np.zeros(knobs.nominal.size))
    space.set_bounds(-1, 1)
    space.set_mutation(sigma=0.2)
    space.random_state.seed(seed)

    def cost(z: Vector) -> float:
        values.append(line.cost(feasible(knobs, z)))
        return values[-1]

    ng.optimizers.NGOpt(parametrization=space, budget=LINE_SIMULATIONS).minimize(cost)
    return min(values)


if __name__ == "__main__":
    report(rows())
