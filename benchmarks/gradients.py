"""Gradients: `auto` with ``gradient=`` against skscope's splicing and GraSP, which need them.

Values and gradients are counted apart, those that a solver asks for at the same point too. A row
is the median over seeds: calls, and by which share the objective ends above the best of all solvers
(worst seed). skscope is left out where it is not installed. ``--values`` adds `auto` from values
alone, at 20,000 queries. ``--held-out`` takes seeds that no choice was made on.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from core import sized

from szoht import minimize
from szoht.types import Vector

SEEDS = range(100, 105) if "--held-out" in sys.argv else range(sized(5, 1))
BUDGET = 20_000


class Case(NamedTuple):
    """A loss, its gradient, and how many non-zeros it is minimized with."""

    fun: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]
    d: int
    k: int
    weights: bool = False

    @property
    def start(self) -> Vector:
        """Zero, or equal weights of the first k."""
        return np.where(np.arange(self.d) < self.k * self.weights, 1.0 / self.k, 0.0)


@dataclass
class Counted:
    """A case whose calls are counted."""

    case: Case
    values: int = 0
    gradients: int = 0

    def fun(self, x: Any, _: object = None) -> float:
        """Count and return a value."""
        self.values += 1
        return self.case.fun(np.asarray(x, dtype=float))

    def gradient(self, x: Any, _: object = None) -> Vector:
        """Count and return a gradient."""
        self.gradients += 1
        return self.case.gradient(np.asarray(x, dtype=float))


def _truth(rng: np.random.Generator, d: int, k: int, size: float = 1.0) -> Vector:
    truth = np.zeros(d)
    chosen = rng.choice(d, k, replace=False)
    truth[chosen] = size * rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    return truth


def _correlated(rng: np.random.Generator, n: int, d: int, rho: float) -> Vector:
    """Return rows of a stationary process: neighbors are correlated by rho."""
    rows = rng.standard_normal((n, d))
    for j in range(1, d):
        rows[:, j] = rho * rows[:, j - 1] + np.sqrt(1 - rho**2) * rows[:, j]
    return rows


def least_squares(design: Vector, y: Vector, k: int) -> Case:
    n = len(y)
    return Case(
        lambda x: 0.5 * float(((design @ x - y) ** 2).sum()) / n,
        lambda x: design.T @ (design @ x - y) / n,
        design.shape[1],
        k,
    )


def correlated(seed: int, rho: float = 0.9, n: int = 200, d: int = 500, k: int = 10) -> Case:
    rng = np.random.default_rng(seed)
    design = _correlated(rng, n, d, rho)
    return least_squares(design, design @ _truth(rng, d, k) + rng.standard_normal(n), k)


def equally_correlated(seed: int, n: int = 200, d: int = 500, k: int = 10) -> Case:
    rng = np.random.default_rng(seed)
    design = np.sqrt(0.3) * rng.standard_normal((n, d)) + np.sqrt(0.7) * rng.standard_normal((n, 1))
    return least_squares(design, design @ _truth(rng, d, k) + 0.5 * rng.standard_normal(n), k)


def trend(seed: int, d: int = 300, k: int = 10) -> Case:
    """Return a signal with k jumps: its values are the running sums of x."""
    rng = np.random.default_rng(seed)
    y = np.cumsum(_truth(rng, d, k, 2.0)) + rng.standard_normal(d)
    return least_squares(np.tril(np.ones((d, d))), y, k)


def logistic(seed: int, rho: float = 0.7, n: int = 400, d: int = 500, k: int = 10) -> Case:
    rng = np.random.default_rng(seed)
    design = _correlated(rng, n, d, rho)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-design @ _truth(rng, d, k))), 1.0, -1.0)

    def gradient(x: Vector) -> Vector:
        return np.asarray(-design.T @ (y / (1 + np.exp(np.clip(y * (design @ x), -700, 700)))) / n)

    return Case(lambda x: float(np.logaddexp(0, -y * (design @ x)).mean()), gradient, d, k)


def poisson(seed: int, rho: float = 0.5, n: int = 400, d: int = 300, k: int = 8) -> Case:
    rng = np.random.default_rng(seed)
    design = _correlated(rng, n, d, rho)
    y = rng.poisson(np.exp(np.clip(design @ _truth(rng, d, k, 0.4), -20, 5)))

    def rate(x: Vector) -> Vector:
        return np.asarray(np.exp(np.minimum(design @ x, 50.0)))

    return Case(
        lambda x: float((rate(x) - y * (design @ x)).mean()),
        lambda x: design.T @ (rate(x) - y) / n,
        d,
        k,
    )


def ising(seed: int, nodes: int = 20, n: int = 500, k: int = 20) -> Case:
    """Return the negative logarithm of the pseudo-likelihood of k couplings of spins."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(nodes, 1)
    couplings = np.zeros((nodes, nodes))
    couplings[i, j] = _truth(rng, len(i), k, 0.5)
    couplings += couplings.T
    spins = rng.choice([-1.0, 1.0], (n, nodes))
    for _ in range(sized(200, 5)):
        for node in range(nodes):
            up = 1 / (1 + np.exp(-2 * spins @ couplings[node]))
            spins[:, node] = np.where(rng.random(n) < up, 1.0, -1.0)

    def fields(x: Vector) -> Vector:
        matrix = np.zeros((nodes, nodes))
        matrix[i, j] = matrix[j, i] = x
        return np.asarray(spins @ matrix)

    def gradient(x: Vector) -> Vector:
        pull = spins / (1 + np.exp(np.clip(2 * spins * fields(x), -700, 700)))
        both = -2 * pull.T @ spins / n
        return np.asarray(both[i, j] + both[j, i])

    def fun(x: Vector) -> float:
        return float(np.logaddexp(0, -2 * spins * fields(x)).sum() / n)

    return Case(fun, gradient, len(i), k)


def _assets(seed: int, d: int) -> tuple[Vector, Vector]:
    """Return the covariance and the mean of returns with three common factors."""
    rng = np.random.default_rng(seed)
    loadings = 0.1 * rng.standard_normal((d, 3)) + [0.15, 0.0, 0.0]
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.005, 0.03, d))
    return covariance, 0.08 + 0.05 * rng.standard_normal(d)


def variance(seed: int, d: int = 100, k: int = 10) -> Case:
    """Return the variance of a portfolio whose weights are x / sum(x)."""
    covariance, _ = _assets(seed, d)

    def gradient(x: Vector) -> Vector:
        w = x / x.sum()
        return np.asarray(2 * (covariance @ w - w @ covariance @ w) / x.sum())

    return Case(
        lambda x: float(x @ covariance @ x) / float(x.sum()) ** 2, gradient, d, k, weights=True
    )


def sharpe(seed: int, d: int = 100, k: int = 10) -> Case:
    """Return the ratio of risk to return, squared."""
    covariance, mean = _assets(seed, d)

    def gradient(x: Vector) -> Vector:
        gain = float(mean @ x)
        return np.asarray(2 * (covariance @ x - (x @ covariance @ x) / gain * mean) / gain**2)

    return Case(
        lambda x: float(x @ covariance @ x) / float(mean @ x) ** 2, gradient, d, k, weights=True
    )


CASES: dict[str, Callable[[int], Case]] = {
    "correlated 0.7": lambda seed: correlated(seed, 0.7),
    "correlated 0.9": correlated,
    "equally correlated": equally_correlated,
    "trend filtering": trend,
    "logistic": logistic,
    "poisson": poisson,
    "ising": ising,
    "variance": variance,
    "sharpe": sharpe,
}


def auto(counted: Counted, seed: int) -> Vector:
    case = counted.case
    return minimize(counted.fun, case.start, k=case.k, gradient=counted.gradient, rng=seed).x


def auto_values(counted: Counted, seed: int) -> Vector:
    case = counted.case
    return minimize(counted.fun, case.start, k=case.k, max_queries=BUDGET, rng=seed).x


def skscope(name: str) -> Callable[[Counted, int], Vector]:
    """Return a solver of skscope."""
    import skscope as library  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415

    def solve(counted: Counted, seed: int) -> Vector:
        del seed
        engine = getattr(library, name)(counted.case.d, counted.case.k)
        return np.asarray(engine.solve(counted.fun, gradient=counted.gradient), dtype=float)

    return solve


def solvers(case: str) -> dict[str, Callable[[Counted, int], Vector]]:
    """Return those that are installed; skscope begins at zero, where ratios have no value."""
    found: dict[str, Callable[[Counted, int], Vector]] = {"auto": auto}
    if "--values" in sys.argv:
        found["auto, values"] = auto_values
    if CASES[case](0).weights:
        return found
    try:
        found |= {"scope": skscope("ScopeSolver"), "grasp": skscope("GraspSolver")}
    except ImportError:
        print("skscope is not installed: not measured", file=sys.stderr)
    return found


def main() -> None:
    """Print one row per case and solver."""
    print("case, solver: values + gradients, share above the best (worst seed)")
    chosen = [name for name in CASES if name in sys.argv] or sized(list(CASES), ["poisson"])
    for name in chosen:
        installed = solvers(name)
        reached: dict[str, list[tuple[float, int, int]]] = {}
        for seed in SEEDS:
            case = CASES[name](seed)
            for solver, solve in installed.items():
                counted = Counted(case)
                value = case.fun(solve(counted, seed))
                runs = reached.setdefault(solver, [])
                runs.append((value, counted.values, counted.gradients))
        table = {solver: np.array(runs) for solver, runs in reached.items()}
        best = np.min([figures[:, 0] for figures in table.values()], axis=0)
        for solver, figures in table.items():
            above = (figures[:, 0] - best) / np.abs(best)
            values, gradients = np.median(figures[:, 1:], axis=0)
            print(
                f"{name:18} {solver:12}: {values:6.0f} + {gradients:5.0f}, "
                f"{np.median(above):.4f} ({above.max():.4f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
