"""OR-Library portfolios, the paper's penalised risk, and its exact minimum on a support."""

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from problems.base import Problem, Unavailable
from szoht.types import Indices, Vector

__all__ = ["NAMES", "OPTIMA", "PROBLEMS", "SIZES", "Market", "load", "on_support", "risk"]

OPTIMA = Path(__file__).parent.parent / "portfolio_optima.json"
NAMES = ("port1", "port2", "port3", "port4", "port5")
SIZES = (5, 10, 20)
BUDGET = 20_000
GAP = 0.05


class Market(NamedTuple):
    """Mean returns and covariance of the assets, and the paper's wanted return and its weight."""

    mean: Vector
    covariance: Vector
    wanted: float
    weight: float


@cache
def load(name: str) -> Market:
    """Read ``orlib/<name>.txt`` from the first folder in SZOHT_DATA that has it."""
    folders = os.environ.get("SZOHT_DATA", "").split(os.pathsep)
    files = [Path(folder) / "orlib" / f"{name}.txt" for folder in folders if folder]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise Unavailable(f"{name}.txt is in no folder of SZOHT_DATA")
    numbers = np.array(found.read_text().split(), dtype=float)
    n = int(numbers[0])
    mean, deviation = numbers[1 : 1 + 2 * n].reshape(n, 2).T
    entries = numbers[1 + 2 * n :].reshape(-1, 3)
    rows, columns = entries[:, 0].astype(int) - 1, entries[:, 1].astype(int) - 1
    correlation = np.zeros((n, n))
    correlation[rows, columns] = entries[:, 2]
    correlation[columns, rows] = entries[:, 2]
    covariance = correlation * np.outer(deviation, deviation)
    wanted, weight = (1e-3, 1e-3) if name == "port5" else (0.1, 10.0)
    return Market(mean.copy(), covariance, wanted, weight)


def risk(market: Market) -> Callable[[Vector], float]:
    """Return the objective: x'Cx / (2 s^2) + weight min(m'x / s - wanted, 0)^2, s = sum x.

    It is undefined where s = 0; there it is infinite.
    """
    mean, covariance, wanted, weight = market

    def fun(x: Vector) -> float:
        total = float(x.sum())
        if total == 0.0:
            return float("inf")
        w = x / total
        short = min(float(mean @ w) - wanted, 0.0)
        return 0.5 * float(w @ (covariance @ w)) + weight * short**2

    return fun


def on_support(market: Market, supports: Indices) -> tuple[Vector, Vector]:
    """Return the minima over weights that sum to 1 on each of several supports, and the weights.

    The objective is convex and once differentiable in w. Its minimiser is that of the quadratic
    with the return penalised, if this earns less than wanted, and otherwise that of the variance
    alone, so two linear systems with one multiplier decide.
    """
    mean = market.mean[supports]
    covariance = market.covariance[supports[:, :, None], supports[:, None, :]]
    pull = 2.0 * market.weight
    penalised = covariance + pull * mean[:, :, None] * mean[:, None, :]
    weights = _bordered(penalised, pull * market.wanted * mean)
    rich = (mean * weights).sum(axis=1) > market.wanted
    if rich.any():
        weights[rich] = _bordered(covariance[rich], np.zeros_like(mean[rich]))
    short = np.minimum((mean * weights).sum(axis=1) - market.wanted, 0.0)
    variance = (weights * np.matmul(covariance, weights[:, :, None])[:, :, 0]).sum(axis=1)
    return 0.5 * variance + market.weight * short**2, weights


def _bordered(matrices: Vector, linear: Vector) -> Vector:
    """Minimise w'Qw / 2 - b'w over sum w = 1, for a stack of Q and b."""
    right = np.stack([linear, np.ones_like(linear)], axis=2)
    free, ones = np.moveaxis(np.linalg.solve(matrices, right), 2, 0)
    shift = (1.0 - free.sum(axis=1)) / ones.sum(axis=1)
    solution: Vector = free + shift[:, None] * ones
    return solution


def _problem(name: str) -> Problem:
    port, size = name.split("-k")
    market, k = load(port), int(size)
    d = market.mean.size
    x0 = np.zeros(d)
    x0[np.linspace(0, d - 1, k).astype(int)] = 1.0 / k
    optimum = json.loads(OPTIMA.read_text())[name]
    return Problem(
        name=name,
        d=d,
        k=k,
        x0=x0,
        fun=risk(market),
        best=optimum["value"],
        source=f"portfolio_optima.py: {optimum['certificate']}",
        target=(1.0 + GAP) * optimum["value"],
        budget=BUDGET,
        whole=True,
    )


PROBLEMS: dict[str, Callable[[str], Problem]] = {
    f"{port}-k{k}": _problem for port in NAMES for k in SIZES
}
