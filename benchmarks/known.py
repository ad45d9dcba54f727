"""What evaluations from before a run save: mean queries to the target, by what is known.

Run a part of it: ``python benchmarks/known.py --seeds 2 --only quadratic``. "earlier" are the first
evaluations of a run with another seed, "scan" all variables one at a time by 0.01, "uniform" and
"sparse" points of the box [-2, 2]^d, the latter with k non-zeros.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import szoht
from szoht.problems import recovery
from szoht.types import Vector

ROWS, HALF_BOX, BUDGET = 200, 2.0, 8_000
OTHER_SEED = 50


@dataclass(frozen=True, kw_only=True)
class Case:
    """A function, where to begin, when to stop, and how much of an earlier run is known."""

    name: str
    fun: Callable[[Vector], float]
    d: int
    k: int
    target: float
    earlier: int


def of_model(name: str, n: int, d: int, k: int, *, tau: float, earlier: int, **model: Any) -> Case:
    """Return the recovery of a sparse model from data."""
    source = recovery(n, d, k, **model)
    fun = source.objective.value
    best = fun(source.reference)
    target = best + tau * (fun(source.x0) - best)
    return Case(name=name, fun=fun, d=d, k=k, target=target, earlier=earlier)


def quadratic(d: int, k: int, seed: int) -> Case:
    """Return a quadratic with unequal curvatures, whose gradient at zero is sparse."""
    rng = np.random.default_rng(seed)
    peak, weights = np.zeros(d), rng.uniform(0.5, 2.0, d)
    peak[rng.choice(d, k, replace=False)] = rng.uniform(0.2, 1.0, k)

    def fun(x: Vector) -> float:
        return 0.5 * float((weights * (x - peak) ** 2).sum())

    return Case(name=f"quadratic, d = {d}", fun=fun, d=d, k=k, target=1e-6, earlier=15)


def cases() -> list[Case]:
    """Return all of them; the first is the regression of `peers`."""
    plain: dict[str, Any] = {"tau": 1e-3, "earlier": 500, "noise": 0.01}
    correlated: dict[str, Any] = {"tau": 1e-3, "correlation": 0.5, "noise": 0.1, "earlier": 300}
    logistic: dict[str, Any] = {"tau": 1e-2, "correlation": 0.5, "noise": 0.0, "earlier": 150}
    return [
        of_model("regression", 200, 1000, 10, rng=21, **plain),
        of_model("regression, other data", 200, 1000, 10, rng=77, **plain),
        of_model("regression, correlated", 300, 500, 8, rng=7, **correlated),
        of_model("logistic", 400, 300, 6, loss="logistic", rng=9, **logistic),
        quadratic(1000, 5, 3),
        quadratic(50, 5, 3),
    ]


def known_points(case: Case, kind: str, seed: int) -> Vector:
    """Return the points that are known."""
    rng = np.random.default_rng([seed, 1])
    if kind == "signs":
        return 1e-3 * rng.choice([-1.0, 1.0], (ROWS, case.d))
    if kind == "scan":
        return 0.01 * np.eye(case.d)
    if kind == "earlier":
        seen: list[Vector] = []
        solve(case, seed + OTHER_SEED, record=seen)
        return np.array(seen[: case.earlier])
    points: Vector = rng.uniform(-HALF_BOX, HALF_BOX, (ROWS, case.d))
    if kind == "sparse":
        for point in points:
            point[rng.permutation(case.d)[case.k :]] = 0.0
    return points


def solve(
    case: Case, seed: int, points: Vector | None = None, record: list[Vector] | None = None
) -> int:
    """Return the queries to the target, or raise if it was not reached."""

    def fun(x: Vector) -> float:
        if record is not None:
            record.append(x.copy())
        return case.fun(x)

    known = None if points is None else (points, [case.fun(x) for x in points])
    result = szoht.minimize(
        fun,
        np.zeros(case.d),
        k=case.k,
        target=case.target,
        max_queries=BUDGET,
        rng=seed,
        known=known,
    )
    if result.status is not szoht.Status.TARGET:
        raise SystemExit(f"{case.name}, seed {seed}: {result.message}")
    return result.nfev


def main() -> None:
    """Print one row for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--only", default="", help="problems whose names contain this")
    parser.add_argument("--smoke", action="store_true", help="one seed, one small problem")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.seeds, arguments.only = 1, "quadratic, d = 50"
    kinds = ("signs", "earlier", "scan", "uniform", "sparse")
    print(f"{'problem':26}{'nothing':>9}", *(f"{kind:>8}" for kind in kinds))
    for case in cases():
        if arguments.only not in case.name:
            continue
        seeds = range(arguments.seeds)
        means = [np.mean([solve(case, seed) for seed in seeds])]
        for kind in kinds:
            queries = [solve(case, seed, known_points(case, kind, seed)) for seed in seeds]
            means.append(np.mean(queries))
        print(f"{case.name:26}", *(f"{mean:8.0f}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
