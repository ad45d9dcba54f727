"""The paper's methods and the default solver on portfolios: single runs."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from szoht import algorithms, problems
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Table
from szoht.paper.recording import Running, record_run
from szoht.types import Vector

__all__ = ["FULL_QUERIES", "PORTFOLIOS", "best_known", "dense_start", "run", "stated_settings"]

K = 10
PORTFOLIOS = ("port3", "port4", "port5")
FULL_QUERIES = {"port3": 150_000, "port4": 200_000, "port5": 100_000}
"""Budgets of full runs: the ends of the axes of the paper's figures."""

LARGE_WEIGHT_RATIO = 1e-3
"""A weight counts as large if it exceeds this fraction of the largest one."""


def run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return measurements of one run.

    ``f``, ``l0``, the ``gap`` and the ``distance`` to the best known ten-asset portfolio are of the
    newest iterate, of ``auto`` the best one. ``best_f`` is the lowest f so far, ``growth`` the
    largest ``|x_{t+1}| / |x_t|`` and ``sign_changes`` how often sum x changed its sign, over all
    iterates so far.
    """
    name, method = settings["portfolio"], settings["method"]
    problem = problems.portfolio(name, k=K, form="raw", rng=seed)
    x0 = problem.x0 if method in ("szoht", "auto") else dense_start(problem.dimension)
    best, optimum = best_known(problem)

    def risk(x: Vector) -> float:
        return float(problem.objective.value(x, None))

    measures: dict[str, Callable[[Vector], float]] = {
        "f": risk,
        "l0": lambda x: float(np.count_nonzero(x)),
        "l0_large": lambda x: float(
            np.count_nonzero(np.abs(x) > LARGE_WEIGHT_RATIO * np.abs(x).max())
        ),
        "distance": lambda x: _distance(x, optimum),
        "gap": lambda x: risk(x) / best - 1,
    }
    running = {
        "best_f": Running(risk(x0), lambda lowest, _, x: min(lowest, risk(x))),
        "growth": Running(1.0, lambda most, before, x: max(most, _growth(before, x))),
        "sign_changes": Running(
            0.0, lambda count, before, x: count + (np.sign(x.sum()) != np.sign(before.sum()))
        ),
    }
    k = {"k": K} if method == "auto" else {}
    return record_run(
        problem.objective,
        x0,
        method="auto" if method == "auto" else _algorithm(method, settings["options"]),
        measures=measures,
        running=running,
        seed=seed,
        best=method == "auto",
        max_queries=settings["budget"],
        **k,
    )


def _algorithm(method: str, options: Mapping[str, Any]) -> Any:
    if method == "szoht":
        return algorithms.szoht(k=K, iterate="last", **options)
    if method == "zoro":  # measurements and centering as published
        return algorithms.zoro(iterate="last", centered=False, **options)
    return algorithms.rspgf(**options) if method == "rspgf" else algorithms.zscg(**options)


def dense_start(d: int) -> Vector:
    """Return equal weights on all assets."""
    return np.full(d, 1.0 / d)


def best_known(problem: problems.Problem) -> tuple[float, Vector]:
    """Return the best known value and its minimizer."""
    if problem.best is None or problem.best_x is None:
        raise NotRunError(f"the optimum of {problem.name} is unknown.")
    return problem.best, problem.best_x


def stated_settings(name: str, method: str) -> dict[str, Any]:
    """Return the settings if the paper states all that the method needs, else {}.

    Of port3 it states k, q and the support size of SZOHT, but neither radius nor step; of the other
    methods only that a grid search found theirs.
    """
    if method != "szoht":
        return {}
    return dict(problems.portfolio(name, k=K, form="raw").settings)


def _distance(x: Vector, optimum: Vector) -> float:
    """Return the distance between portfolios, with weights normalized to sum 1."""
    total = float(x.sum())
    return float(np.linalg.norm(x / total - optimum)) if total else float("inf")


def _growth(before: Vector, x: Vector) -> float:
    length = float(np.linalg.norm(before))
    return float(np.linalg.norm(x)) / length if length else float("inf")
