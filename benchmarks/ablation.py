"""What each number of the solver's policy is worth: it is halved and doubled, the rest unchanged.

    python benchmarks/ablation.py [--smoke] [--full] [--seeds 3] [--only text] [--cases text]

The cost of a run is the number of queries until the goal is reached; a run that ends before is
charged its whole budget, and as many more as decades are missing; of runs "to their end" all
queries count. Under noise, and for small budgets, the cost is the gap of the answer, which falls
like one over the number of queries. A row shows by which factor all cases together got dearer, and
which single case changed most; a case counts as changed if the mean over seeds moved by more than
the standard deviation between seeds, and by 5 %. Cases that never read a number are not run for it.
``--full`` takes twice the cases and five seeds.
"""

import argparse
import contextlib
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import noise
import numpy as np
import solver_cases

import szoht
from szoht.algorithms.auto import Policy
from szoht.types import Vector

sys.path.append(str(Path(__file__).parent / "peers"))
from problems import Unavailable, make

Function = Callable[[Vector], float]

SUITE = (
    "quad-d1000",
    "quad-k20",
    "axes-c100",
    "rotated-c10",
    "blocks-c100",
    "coupled",
    "valley",
    "regression",
    "logistic-ar",
    "port1-k10",
)
ROUGH = ("|x| quadratic", "half integer", "floor(4 q)", "products")
SEVERAL_MINIMA = ("ackley", "griewank rotated")
BOX = ("ackley5 box", "levy4 box")
UNITS = ("units 1e+-2",)
NOISE = ("quadratic fixed 0.0001", "quadratic fresh 0.1", "least squares fresh 0.1")

MORE_SUITE = ("quad-d50", "dense", "regression-ar", "regression-d5000", "poisson-ar", "port2-k5")
MORE_ROUGH = ("0-1 error", "(x^2-1)^2", "1 - exp(-q)")
MORE = ("rastrigin", "ackley rotated", "ellipsoid rotated", "units 1e-7", "f + 1e9")
MORE_NOISE = ("quadratic fresh 0.01", "least squares fixed 0.01", "hartmann6 fixed 0.0001")

SEEDS_OF_SPREAD = 3
"""Seeds that show how much a case changes by chance, at least."""

SMALLEST_CHANGE = math.log2(1.05)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A function to be minimized from ``x0`` until its gap is at most ``goal``.

    ``measured`` makes what the solver sees of ``f``, where values err or are those of a part of a
    sum; the answer's gap then counts. If ``whole``, queries count up to the end of the run.
    """

    name: str
    f: Function
    x0: Vector
    space: dict[str, Any]
    best: float
    goal: float
    budget: int
    measured: Callable[[], Callable[..., float]] | None = None
    whole: bool = False

    def cost(self, policy: Policy, seed: int) -> float:
        """Return the binary logarithm of what the answer has cost."""
        if self.measured is not None:
            x = self._minimize(self.measured(), policy, seed).x
            gap = (self.f(x) - self.best) / (self.f(self.x0) - self.best)
            return math.log2(max(gap, 1e-12))
        target = self.best + self.goal
        result = self._minimize(self.f, policy, seed, target=None if self.whole else target)
        if result.fun <= target:
            return math.log2(result.nfev)
        missing = math.log10(max((result.fun - self.best) / self.goal, 1.0))
        return math.log2(self.budget * (1 + missing))

    def _minimize(
        self, fun: Callable[..., float], policy: Policy, seed: int, target: float | None = None
    ) -> szoht.Result:
        return szoht.minimize(
            fun,
            self.x0,
            **self.space,
            options={"policy": policy},
            max_queries=self.budget,
            target=target,
            rng=seed,
            on_error="skip",
        )


def cases(seed: int, *, full: bool) -> Iterator[Case]:
    """Yield the cases: a third of the suite, rough ones, several minima, boxes, units, noise."""
    for name in SUITE + MORE_SUITE * full:
        with contextlib.suppress(Unavailable, szoht.SzohtError):  # its data may not be here
            yield of_suite(name)
    wanted = {*ROUGH, *SEVERAL_MINIMA, *BOX, *UNITS, *(MORE_ROUGH + MORE) * full}
    for other in solver_cases.development(seed):
        if other.name in wanted:
            yield of_solver_case(other)
    for noisy in noise.development():
        if noisy.name in NOISE + MORE_NOISE * full:
            problem_ = noisy.make(seed)
            size = noisy.size * abs(problem_.at_start)
            yield Case(
                name=noisy.name,
                f=problem_.f,
                x0=np.zeros(problem_.d),
                space=_space(problem_),
                best=problem_.best,
                goal=0.0,
                budget=1_000,
                measured=partial(noisy.error, problem_.f, size, seed),
            )
    yield from other_spaces(seed)
    yield from whole_runs(seed)


def of_suite(name: str) -> Case:
    """Return a problem of the suite as one of these."""
    problem = make(name)
    return Case(
        name=name,
        f=problem.fun,
        x0=problem.x0,
        space={"k": problem.k},
        best=problem.best,
        goal=problem.target - problem.best,
        budget=4_000,
    )


def of_solver_case(other: solver_cases.Case) -> Case:
    """Return a case of the solver's benchmark as one of these."""
    return Case(
        name=other.name,
        f=other.fun,
        x0=np.zeros(other.d),
        space={"constraint": other.constraint},
        best=other.best,
        goal=other.goal,
        budget=4_000,
    )


def whole_runs(seed: int) -> Iterator[Case]:
    """Yield runs that end by themselves, and one whose budget is small."""
    for name in ("quadratic", "ellipsoid rotated", "products", "|x| quadratic", "1 - exp(-q)"):
        (other,) = [case for case in solver_cases.development(seed) if case.name == name]
        yield replace(of_solver_case(other), name=f"{name}, to its end", budget=20_000, whole=True)
    for name in ("valley", "port1-k10"):
        with contextlib.suppress(Unavailable, szoht.SzohtError):
            other_ = of_suite(name)
            yield replace(other_, name=f"{name}, to its end", budget=20_000, whole=True)
    yield Case(
        name="slopes that mislead",
        f=misleading,
        x0=np.zeros(12),
        space={"k": 1},
        best=-3.59208,
        goal=0.1,
        budget=2_000,
    )
    small = noise.hartmann6(seed=seed)
    yield Case(
        name="Hartmann6, 45 queries",
        f=small.f,
        x0=np.zeros(small.d),
        space=_space(small),
        best=small.best,
        goal=0.0,
        budget=45,
        measured=lambda: small.f,
    )


def misleading(x: Vector) -> float:
    """Return a sum of wells, the deepest of which has the smallest slope at its edge."""
    deepest = -(0.05 * x[1] + x[1] ** 3) / (1 + (x[1] / 2) ** 4)
    return float((x[0] - 1) ** 2 + deepest + (x[2:] ** 2 - 0.5 * x[2:]).sum())


def other_spaces(seed: int) -> Iterator[Case]:
    """Yield a sum, integers, groups, weights and an unknown k, each a regression."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((2_000, 120))
    target = solver_cases.sparse_target(120, 5, seed)
    observed = data @ target + 0.3 * rng.standard_normal(2_000)

    def on_part(x: Vector, sample: Any) -> float:
        return float(((data[sample] @ x - observed[sample]) ** 2).mean())

    whole = partial(on_part, sample=slice(None))
    x0, support = np.zeros(120), np.flatnonzero(target)
    best = np.linalg.lstsq(data[:, support], observed)[1][0] / 2_000
    yield Case(
        name="sum",
        f=whole,
        x0=x0,
        space={"k": 5, "n_samples": 2_000},
        best=float(best) * (1 - 1e-6),
        goal=0.0,
        budget=60_000,
        measured=lambda: on_part,
    )
    wholes = np.rint(5 * target)
    groups = np.zeros(120)
    groups[[*range(20, 30), *range(70, 80)]] = rng.uniform(0.5, 1.5, 20)
    weights = np.abs(target) / np.abs(target).sum()
    spaces: dict[str, tuple[Vector, dict[str, Any], Vector]] = {
        "integers": (wholes, {"k": 5, "integer": np.arange(120) % 2 == 0}, x0),
        "groups": (groups, {"constraint": szoht.GroupSparse(k=2, size=10)}, x0),
        "weights": (weights, {"constraint": szoht.SparseSimplex(5)}, np.eye(120)[0]),
        "unknown k": (target, {}, x0),
    }
    for name, (answer, space, start) in spaces.items():
        yield Case(
            name=name,
            f=partial(_distance, data[:200], answer),
            x0=start,
            space=space,
            best=0.0,
            goal=1e-6,
            budget=4_000,
        )


def _distance(data: Vector, solution: Vector, x: Vector) -> float:
    return float(((data @ (x - solution)) ** 2).mean())


def _space(problem: noise.Problem) -> dict[str, Any]:
    if problem.bounds is None:
        return {"k": problem.k}
    low, high = (np.full(problem.d, bound) for bound in problem.bounds)
    return {"constraint": szoht.SparseBox(problem.k, low, high)}


# --- numbers -------------------------------------------------------------------------------------


def numbers(record: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the name of each number of a policy, as a path through its records, and its value."""
    for entry in fields(record):
        value, name = getattr(record, entry.name), (*path, entry.name)
        if is_dataclass(value):
            yield from numbers(value, name)
        else:
            yield name, value


def scaled(record: Any, path: tuple[str, ...], factor: float) -> Any:
    """Return a policy with one of its numbers multiplied; integers stay integers, at least 1."""
    value = getattr(record, path[0])
    if len(path) > 1:
        new = scaled(value, path[1:], factor)
    elif isinstance(value, tuple):
        new = tuple(factor * one for one in value)
    elif isinstance(value, int):
        new = max(1, round(factor * value))
    else:
        new = factor * value
    return replace(record, **{path[0]: new})


def watched(record: Any, seen: set[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    """Return an equal record that notes which of its numbers are read."""
    kind = type(record)
    names = {entry.name for entry in fields(record)}

    class Watched(kind):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            if name in names:
                seen.add((*path, name))
            return super().__getattribute__(name)

    inner = {
        entry.name: watched(value, seen, (*path, entry.name))
        for entry in fields(record)
        if is_dataclass(value := getattr(record, entry.name))
    }
    return Watched(**{entry.name: getattr(record, entry.name) for entry in fields(record)} | inner)


# --- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """The costs of a case with the policy as it is, one per seed, and the numbers it reads.

    ``rerun`` returns the costs with another policy, of the first seeds.
    """

    name: str
    costs: Vector
    read: frozenset[tuple[str, ...]]
    rerun: Callable[[Policy], Vector]


def measure(seeds: int, *, full: bool, only: str) -> list[Base]:
    """Run every case with the policy as it is."""
    by_name: dict[str, list[Case]] = {}
    for seed in range(max(seeds, SEEDS_OF_SPREAD)):
        for case in cases(seed, full=full):
            if only in case.name:
                by_name.setdefault(case.name, []).append(case)
    found = []
    for name, instances in by_name.items():
        seen: set[tuple[str, ...]] = set()
        costs = _costs(instances, watched(Policy(), seen))
        found.append(Base(name, costs, frozenset(seen), partial(_costs, instances[:seeds])))
        print(
            f"{name:28s} {np.exp2(costs.mean()):9.3g} +- {100 * _spread(costs):.0f} %", flush=True
        )
    return found


def _costs(instances: list[Case], policy: Policy) -> Vector:
    return np.array([case.cost(policy, seed) for seed, case in enumerate(instances)])


def _spread(costs: Vector) -> float:
    return float(np.exp2(costs.std(ddof=1)) - 1)


def row(path: tuple[str, ...], value: Any, bases: list[Base]) -> str:
    """Return a line of the table: a number, and what halving and doubling it costs."""
    cells, changed = [], set()
    for factor in (0.5, 2.0):
        policy, changes = scaled(Policy(), path, factor), {}
        for base in bases:
            changes[base.name] = 0.0
            if path in base.read:
                costs = base.rerun(policy)
                shift = float((costs - base.costs[: costs.size]).mean())
                spread = float(base.costs.std(ddof=1))
                changes[base.name] = shift
                if abs(shift) > max(spread, SMALLEST_CHANGE):
                    changed.add(base.name)
        worst = max(changes, key=lambda name: abs(changes[name]))
        cells.append(
            f"{2 ** np.mean(list(changes.values())):.2f} | {2 ** changes[worst]:.2f} {worst}"
            if changes[worst]
            else "1.00 | -"
        )
    shown = " ".join(f"{one:g}" for one in (value if isinstance(value, tuple) else (value,)))
    return f"| {'.'.join(path)} | {shown} | {cells[0]} | {cells[1]} | {len(changed)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--smoke", action="store_true", help="one number, one case, one seed")
    parser.add_argument("--full", action="store_true", help="twice the cases, five seeds")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--only", default="", help="numbers whose name holds this text")
    parser.add_argument("--cases", default="", help="cases whose name holds this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [entry for entry in numbers(Policy()) if options.only in ".".join(entry[0])]
    seeds = options.seeds or (5 if options.full else 3)
    if options.smoke:
        chosen, seeds, options.cases = chosen[:1], 1, "quad-d1000"
    bases = measure(seeds, full=options.full, only=options.cases)
    print(f"\n{len(list(numbers(Policy())))} numbers, {len(bases)} cases, {seeds} seeds\n")
    print("| number | value | halved | most | doubled | most | cases changed |")
    print("|---|---|---|---|---|---|---|")
    for path, value in chosen:
        print(row(path, value, bases), flush=True)
    print(f"\n{time.process_time() / 60:.0f} processor minutes")


if __name__ == "__main__":
    main()
