"""The best k-sparse portfolios, with a certificate: run it to fill ``portfolio_optima.json``.

With w = x / sum(x) the objective is convex in w, so the best portfolio of k assets is a convex
quadratic program with one binary variable per asset. Small cases are enumerated. Otherwise greedy
growth and swaps give a portfolio, and SCIP (package ``pyscipopt``) a lower bound within a limit of
time. Two facts make its program tight:

- f(w) >= w'Cw / 2, so every w that is at least as good as the portfolio found lies in an
  ellipsoid; on the plane sum w = 1 this gives a proven interval for each weight, which is all
  that the indicators need. No bound is assumed.
- With D diagonal and C - D positive semidefinite, w_i^2 may be replaced by s_i with
  w_i^2 <= s_i z_i in the part that belongs to D (the perspective reformulation).
"""

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from portfolio_search import search
from problems.portfolios import NAMES, OPTIMA, SIZES, load

from szoht.problems import Portfolio
from szoht.problems.exact_weights import optimal_weights
from szoht.types import Indices, Vector

ENUMERATED = 2_000_000
BATCH = 20_000


class Found(NamedTuple):
    """A portfolio, the lower bound on all of its size, and how that was proven."""

    value: float
    support: Indices
    bound: float
    certificate: str


def enumerated(problem: Portfolio, k: int) -> Found:
    """Try every support."""
    best, support = math.inf, np.empty(0, dtype=np.intp)
    count = 0
    for batch in _batches(problem.dimension, k):
        values = optimal_weights(problem.criterion, batch)[0]
        count += len(values)
        place = int(np.argmin(values))
        if values[place] < best:
            best, support = float(values[place]), batch[place]
    return Found(best, support, best, f"optimal: all {count} supports enumerated")


def _batches(d: int, k: int) -> Iterator[Indices]:
    supports = itertools.combinations(range(d), k)
    while batch := list(itertools.islice(supports, BATCH)):
        yield np.array(batch, dtype=np.intp)


def intervals(problem: Portfolio, value: float) -> tuple[Vector, Vector]:
    """Return between which numbers each weight lies if the objective is at most ``value``."""
    inverse = np.linalg.inv(problem.assets.covariance)
    total = inverse.sum()
    centre = inverse.sum(axis=1) / total
    left = max(0.0, value - 0.5 / float(total))
    across = np.maximum(np.diag(inverse) - inverse.sum(axis=1) ** 2 / total, 0.0)
    reach = np.sqrt(2.0 * left * across) * (1.0 + 1e-6)
    return np.minimum(centre - reach, 0.0), np.maximum(centre + reach, 0.0)


def bounded(problem: Portfolio, k: int, found: tuple[float, Indices], seconds: float) -> Found:
    """Have SCIP prove a bound, and perhaps find something better."""
    try:
        import pyscipopt  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    except ImportError:
        return Found(*found, -math.inf, "upper bound only: pyscipopt is not installed")
    scale = 1.0 / found[0]
    model: Any = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("limits/gap", 1e-4)
    z = _program(model, pyscipopt.quicksum, problem, k, found[0])
    model.optimize()
    bound = float(model.getDualbound()) / scale
    value, support = found
    if model.getNSols():
        chosen = np.array([i for i, v in enumerate(z) if model.getVal(v) > 0.5], dtype=np.intp)
        exact = float(optimal_weights(problem.criterion, chosen[None])[0][0])
        if exact < value:
            value, support = exact, chosen
    gap = 100.0 * (1.0 - bound / value)
    state = "optimal" if model.getStatus() in ("optimal", "gaplimit") else "best known"
    how = f"SCIP {pyscipopt.__version__}, {seconds:g} s: bound within {max(0.0, gap):.3g} %"
    return Found(value, support, min(bound, value), f"{state}: {how}")


def _program(model: Any, add: Any, problem: Portfolio, k: int, value: float) -> list[Any]:
    """Write the program for portfolios that are no worse than ``value``, which is its unit."""
    d, scale = problem.dimension, 1.0 / value
    low, high = intervals(problem, value)
    deviation = np.sqrt(np.diag(problem.assets.covariance))
    correlation = problem.assets.covariance / np.outer(deviation, deviation)
    share = 0.999 * float(np.linalg.eigvalsh(correlation)[0])
    diagonal = share * deviation**2
    root = np.linalg.cholesky(problem.assets.covariance - np.diag(diagonal)).T

    w = [model.addVar(f"w{i}", lb=float(low[i]), ub=float(high[i])) for i in range(d)]
    z = [model.addVar(f"z{i}", vtype="B") for i in range(d)]
    s = [model.addVar(f"s{i}", lb=0.0) for i in range(d)]
    y = [model.addVar(f"y{i}", lb=None) for i in range(d)]
    short = model.addVar("short", lb=0.0)
    cost = model.addVar("cost", lb=0.0)
    model.addCons(add(w) == 1.0)
    model.addCons(add(z) <= k)
    model.addCons(
        short
        >= problem.constants["target_return"]
        - add(float(problem.assets.mean[i]) * w[i] for i in range(d))
    )
    for i in range(d):
        model.addCons(w[i] <= float(high[i]) * z[i])
        model.addCons(w[i] >= float(low[i]) * z[i])
        model.addCons(w[i] * w[i] <= s[i] * z[i])
        model.addCons(y[i] == add(float(root[i, j]) * w[j] for j in range(i, d)))
    squares = add(0.5 * scale * y[i] * y[i] for i in range(d))
    model.addCons(squares + problem.criterion.weight * scale * short * short <= cost)
    model.setObjective(cost + add(0.5 * scale * float(diagonal[i]) * s[i] for i in range(d)))
    model.setObjlimit(1.0 + 1e-6)
    return z


def solve(name: str, k: int, seconds: float, starts: int) -> Found:
    """Enumerate or search and bound."""
    problem = load(name, k)
    d = problem.dimension
    if math.comb(d, k) <= ENUMERATED:
        return enumerated(problem, k)
    found = search(lambda supports: optimal_weights(problem.criterion, supports)[0], d, k, starts)
    return bounded(problem, k, found, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Best cardinality-constrained portfolios.")
    parser.add_argument("--seconds", type=float, default=120.0, help="SCIP's limit per portfolio")
    parser.add_argument("--starts", type=int, default=20, help="random starts of the swap search")
    parser.add_argument("--portfolios", nargs="+", default=NAMES, choices=NAMES)
    given = parser.parse_args()
    kept: dict[str, Any] = json.loads(OPTIMA.read_text()) if OPTIMA.exists() else {}
    for name in given.portfolios:
        for k in SIZES:
            start = time.perf_counter()
            found = solve(name, k, given.seconds, given.starts)
            label = f"{name}-k{k}"
            kept[label] = _better(kept.get(label), found)
            spent = time.perf_counter() - start
            line = f"{label:<10} {found.value:.6e} >= {found.bound:.6e} {found.certificate}"
            print(f"{line} [{spent:.0f} s] {found.support.tolist()}", flush=True)
            OPTIMA.write_text(json.dumps(kept, indent=1) + "\n")


def _better(old: dict[str, Any] | None, new: Found) -> dict[str, Any]:
    """Keep the lower value; the bound and certificate are those of the tighter proof."""
    fresh = {
        "value": new.value,
        "bound": new.bound if math.isfinite(new.bound) else None,
        "certificate": new.certificate,
        "support": new.support.tolist(),
    }
    if old is None or old.get("support") is None or new.value < old["value"] * (1.0 - 1e-9):
        return fresh
    if (old.get("bound") or -math.inf) > new.bound:
        return old
    return fresh


if __name__ == "__main__":
    main()
