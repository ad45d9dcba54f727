"""Functions of few inputs hidden in a box of many, by `auto` and by what serves boxes otherwise.

    python benchmarks/box_peers.py [--smoke] [--only text] [--methods ...] [--out out/box_peers]

Five functions of 2 to 6 relevant inputs, at random places of the box [0, 1]^d, from random starts.
`auto` is told how many inputs are relevant and changes no more of them; GP-HeSBO is told too. The
others search the whole box and do not know that few inputs matter. All are judged by their lowest
value after so many evaluations, `auto` by its answer. Methods that plan by their budget (`auto`,
NGOpt) are run once for each budget, the others once. Runs are kept in ``--out``: what is there is
not run again. A run ends after ``--seconds`` of processor time; budgets that it did not reach stay
empty. Needs ``nlopt``, ``cma``, ``nevergrad`` and ``botorch``; a method whose package is missing is
left out.
"""

import argparse
import contextlib
import csv
import itertools
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from solver_cases import ackley, branin, hartmann, levy, rosenbrock

import szoht
from szoht.types import Vector

Function = Callable[[Vector], float]

BUDGETS = (50, 100, 200, 500)


class Core(NamedTuple):
    """A function of few inputs, and the interval that is mapped to [0, 1]."""

    fun: Function
    relevant: int
    span: tuple[float, float]


CORES = {
    "Hartmann6": Core(hartmann, 6, (0, 1)),
    "Branin": Core(branin, 2, (0, 1)),
    "Levy4": Core(levy, 4, (-10, 10)),
    "Ackley5": Core(ackley, 5, (-5, 10)),
    "Rosenbrock4": Core(rosenbrock, 4, (-5, 10)),
}


class Stop(BaseException):
    """The run is over; not an Exception, so that no method takes it for a failed evaluation."""


@dataclass
class Oracle:
    """Answers and counts, and notes the lowest value and the time spent at each budget."""

    fun: Function
    budget: int
    limit: float
    queries: int = 0
    lowest: float = math.inf
    noted: dict[int, tuple[float, float]] = field(default_factory=dict)
    begun: float = field(default_factory=time.process_time)

    def __call__(self, x: Vector) -> float:
        """Answer, or end the run."""
        if self.queries == self.budget or self.spent > self.limit:
            raise Stop
        if not ((x >= 0) & (x <= 1)).all():
            raise ValueError("outside the box")
        self.queries += 1
        value = self.fun(x)
        self.lowest = min(self.lowest, value)
        if self.queries in BUDGETS:
            self.noted[self.queries] = self.lowest, self.spent
        return value

    @property
    def spent(self) -> float:
        """Seconds of processor time since the start."""
        return time.process_time() - self.begun


class Case(NamedTuple):
    """A function of d inputs, where to begin, and how many inputs are relevant."""

    fun: Function
    x0: Vector
    relevant: int


def hide(core: Core, d: int, seed: int) -> Case:
    """Hide a function at random places."""
    rng = np.random.default_rng([seed, d, 31])
    places, (low, high) = rng.choice(d, core.relevant, replace=False), core.span
    x0 = rng.uniform(size=d)
    return Case(lambda x: core.fun(low + (high - low) * np.asarray(x)[places]), x0, core.relevant)


# --- methods -----------------------------------------------------------------------------------


def auto(oracle: Oracle, case: Case, seed: int) -> None:
    result = szoht.minimize(
        oracle,
        case.x0,
        reference=case.x0,
        bounds=(0.0, 1.0),
        k=case.relevant,
        max_queries=oracle.budget,
        rng=seed,
    )
    oracle.lowest = result.fun


def random_search(oracle: Oracle, case: Case, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    oracle(case.x0)
    while True:
        oracle(rng.uniform(size=case.x0.size))


def bobyqa(oracle: Oracle, case: Case, seed: int) -> None:
    import nlopt  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    del seed
    solver: Any = nlopt.opt(nlopt.LN_BOBYQA, case.x0.size)
    solver.set_lower_bounds(0.0)
    solver.set_upper_bounds(1.0)
    solver.set_initial_step(0.25)
    solver.set_maxeval(oracle.budget)
    solver.set_min_objective(lambda x, _: oracle(np.clip(x, 0, 1)))
    with contextlib.suppress(nlopt.RoundoffLimited):
        solver.optimize(case.x0)


def pycma(oracle: Oracle, case: Case, seed: int) -> None:
    import cma  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    options = {"bounds": [0, 1], "seed": seed + 1, "verbose": -9}
    es: Any = cma.CMAEvolutionStrategy(case.x0, 0.25, options)
    while True:
        points = es.ask()
        es.tell(points, [oracle(np.clip(point, 0, 1)) for point in points])


def ngopt(oracle: Oracle, case: Case, seed: int) -> None:
    import nevergrad  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415

    space: Any = nevergrad.p.Array(init=case.x0, lower=0.0, upper=1.0)
    space.random_state.seed(seed)
    solver: Any = nevergrad.optimizers.NGOpt(parametrization=space, budget=oracle.budget)
    solver.minimize(oracle)


def gp_ei(oracle: Oracle, case: Case, seed: int) -> None:
    import box_bayesian  # noqa: PLC0415

    box_bayesian.expected_improvement(oracle, case.x0, seed)


def gp_hesbo(oracle: Oracle, case: Case, seed: int) -> None:
    import box_bayesian  # noqa: PLC0415

    box_bayesian.embedded_ei(oracle, case.x0, seed, relevant=case.relevant)


def turbo(oracle: Oracle, case: Case, seed: int) -> None:
    import box_bayesian  # noqa: PLC0415

    box_bayesian.turbo(oracle, case.x0, seed)


class Method(NamedTuple):
    """How to run it, what it needs, and whether it plans by its budget."""

    run: Callable[[Oracle, Case, int], None]
    package: str | None = None
    by_budget: bool = False
    seeds: int = 5
    largest: int = 10**9


METHODS = {
    "auto": Method(auto, by_budget=True),
    "random": Method(random_search),
    "BOBYQA": Method(bobyqa, "nlopt"),
    "CMA-ES": Method(pycma, "cma"),
    "NGOpt": Method(ngopt, "nevergrad", by_budget=True),
    "TuRBO-1": Method(turbo, "botorch", seeds=3),
    "GP-EI": Method(gp_ei, "botorch", seeds=3, largest=100),
    "GP-HeSBO": Method(gp_hesbo, "botorch", seeds=3),
}


# --- runs --------------------------------------------------------------------------------------


class Row(NamedTuple):
    """What one run has reached at one budget; ``used`` is less where it ended by itself."""

    function: str
    d: int
    method: str
    seed: int
    budget: int
    value: float
    seconds: float
    used: int


def run(name: str, d: int, method: str, seed: int, limit: float) -> Iterator[Row]:
    """Run a method; one that ends by itself keeps its value at the budgets that are left."""
    case, how = hide(CORES[name], d, seed), METHODS[method]
    if how.package is not None:
        import_module(how.package)  # before the clock starts
    for budget in BUDGETS if how.by_budget else BUDGETS[-1:]:
        oracle = Oracle(case.fun, budget, limit)
        cut = False
        try:
            how.run(oracle, case, seed)
        except Stop:
            cut = oracle.queries < budget
        if how.by_budget and not cut:
            oracle.noted = {budget: (oracle.lowest, oracle.spent)}
        last = oracle.lowest, oracle.spent
        for at in (budget,) if how.by_budget else BUDGETS:
            if at in oracle.noted or not cut:
                value, seconds = oracle.noted.get(at, last)
                yield Row(name, d, method, seed, at, value, seconds, min(at, oracle.queries))


class Runs:
    """Finished runs, in a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "runs.csv"
        self.rows = list(self._read()) if self.path.exists() else []

    def _read(self) -> Iterator[Row]:
        with self.path.open(newline="") as file:
            for a, d, method, seed, budget, value, seconds, used in csv.reader(file):
                yield Row(
                    a,
                    int(d),
                    method,
                    int(seed),
                    int(budget),
                    float(value),
                    float(seconds),
                    int(used),
                )

    def has(self, name: str, d: int, method: str, seed: int) -> bool:
        """Say whether the run is there."""
        return any(row[:4] == (name, d, method, seed) for row in self.rows)

    def add(self, rows: list[Row]) -> None:
        """Keep the rows of a run."""
        self.rows += rows
        with self.path.open("a", newline="") as file:
            csv.writer(file).writerows(rows)


def table(rows: list[Row], d: int) -> str:
    """Return medians over seeds as Markdown: values, then processor seconds over all functions."""
    here = [row for row in rows if row.d == d]
    shown = [m for m in METHODS if any(row.method == m for row in here)]
    lines = [
        f"| d = {d:,} | evaluations | " + " | ".join(shown) + " |",
        "|---|---:|" + "---:|" * len(shown),
    ]
    for name in dict.fromkeys(row.function for row in here):
        those = [row for row in here if row.function == name]
        for budget in BUDGETS:
            values = [_median(those, method, budget, "value") for method in shown]
            best = f"{min(values):.3g}"
            texts = [f"**{v:.3g}**" if f"{v:.3g}" == best else f"{v:.3g}" for v in values]
            lines.append(_line(name, budget, texts))
    for budget in BUDGETS:
        times = [_median(here, method, budget, "seconds") for method in shown]
        lines.append(_line("processor seconds", budget, [f"{v:.2g}" for v in times]))
    return "\n".join(lines)


def _median(rows: list[Row], method: str, budget: int, what: str) -> float:
    """Return the median over runs, infinite unless all of them came to the budget."""
    first = [row for row in rows if row.method == method and row.budget == BUDGETS[0]]
    found = [row for row in rows if row.method == method and row.budget == budget]
    if not found or len(found) < len(first):
        return math.inf
    return float(statistics.median(getattr(row, what) for row in found))


def _line(name: str, budget: int, cells: list[str]) -> str:
    return f"| {name} | {budget} | " + " | ".join(c.replace("inf", "-") for c in cells) + " |"


def notes(rows: list[Row], d: int) -> str:
    """Return how many seeds stand behind the medians, and who ended before the last budget."""
    last = [row for row in rows if row.d == d and row.budget == BUDGETS[-1]]
    parts = []
    for method in METHODS:
        seeds = {row.seed for row in rows if row.d == d and row.method == method}
        used = [row.used for row in last if row.method == method]
        early = [count for count in used if count < BUDGETS[-1]]
        if seeds:
            ended = f", {len(early)} of {len(used)} runs ended by themselves" if early else ""
            parts.append(f"{method} {len(seeds)}{ended}")
    return "Seeds: " + "; ".join(parts) + "."


def main() -> None:
    """Run what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--smoke", action="store_true", help="one function, one seed, NumPy only")
    parser.add_argument("--only", default="", help="functions whose names contain this")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[100, 1_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time per run")
    parser.add_argument("--out", type=Path, default=Path("out/box_peers"))
    given = parser.parse_args()
    if given.smoke:
        given.only, given.methods, given.dimensions = "Branin", ["auto", "random"], [30]
        given.seeds = 1
    warnings.simplefilter("ignore")
    methods = [m for m in given.methods if (p := METHODS[m].package) is None or find_spec(p)]
    names = [name for name in CORES if given.only in name]
    runs = Runs(given.out)
    for job in itertools.product(range(given.seeds), given.dimensions, names, methods):
        seed, d, name, method = job
        served = seed < METHODS[method].seeds and d <= METHODS[method].largest
        if served and not runs.has(name, d, method, seed):
            runs.add(list(run(name, d, method, seed, given.seconds)))
    for d in given.dimensions:
        print(table(runs.rows, d), notes(runs.rows, d), sep="\n\n", end="\n\n")


if __name__ == "__main__":
    main()
