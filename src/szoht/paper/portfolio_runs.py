"""The paper's methods and the default solver on its portfolios: single runs and grid search."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from szoht import algorithms, problems
from szoht.paper.digitized import digitized_curves
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Curve, Job, Results, Scale, Table
from szoht.paper.methods import PAPER_METHODS
from szoht.paper.recording import record_run
from szoht.types import Vector

__all__ = [
    "FULL_QUERIES",
    "PORTFOLIOS",
    "best_known",
    "default_settings",
    "run",
    "select_settings",
    "tuning_jobs",
]

K = 10
PORTFOLIOS = ("port3", "port4", "port5")
FULL_QUERIES = {"port3": 150_000, "port4": 200_000, "port5": 100_000}
"""Budgets of full runs: the ends of the axes of the paper's figures."""

TUNING_QUERIES = {"port3": 30_000, "port4": 50_000, "port5": 20_000}
"""Budgets of the runs of the grid search; later points of the paper's curves are ignored."""

LARGE_WEIGHT_RATIO = 1e-3
"""A weight counts as large if it exceeds this fraction of the largest one."""


def run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return f, l0 and the distance to the best known ten-asset portfolio."""
    name, method = settings["portfolio"], settings["method"]
    problem = problems.portfolio(name, k=K, form="raw", rng=seed)
    sparse = method in ("szoht", "auto")
    x0 = problem.x0 if sparse else np.full(problem.dimension, 1.0 / problem.dimension)
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
    k = {"k": K} if method == "auto" else {}
    return record_run(
        problem.objective,
        x0,
        method="auto" if method == "auto" else _algorithm(method, settings["options"]),
        measures=measures,
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


def best_known(problem: problems.Problem) -> tuple[float, Vector]:
    """Return the best known value and its minimizer."""
    if problem.best is None or problem.best_x is None:
        raise NotRunError(f"the optimum of {problem.name} is unknown.")
    return problem.best, problem.best_x


def _distance(x: Vector, optimum: Vector) -> float:
    """Return the distance between portfolios, with weights normalized to sum 1."""
    total = float(x.sum())
    return float(np.linalg.norm(x / total - optimum)) if total else float("inf")


def default_settings() -> dict[str, Any]:
    """Return the settings found by the grid search, as distributed with the library."""
    text = (resources.files("szoht.paper") / "assets_tuned.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def tuning_jobs(scale: Scale) -> Sequence[Job]:
    """Return the jobs of the grid search: one run per setting, with a seed that no figure uses."""
    return [
        Job(
            experiment="assets",
            curve=f"tune {name} {method} {json.dumps(options, sort_keys=True)}",
            settings={
                "portfolio": name,
                "method": method,
                "options": options,
                "budget": TUNING_QUERIES[name] // (10 if scale.quick else 1),
            },
            seed=1000,
            cost=TUNING_QUERIES[name] * 1e-3 / options.get("q", 50),
        )
        for name in PORTFOLIOS
        for method in PAPER_METHODS
        for options in _settings(name, method)
    ]


def _settings(name: str, method: str) -> Iterator[dict[str, Any]]:
    # f is constant along rays, so a step size has the unit |x|^2 / f
    steps = (1.0, 10.0, 100.0) if name == "port5" else (0.01, 0.1, 1.0)
    if method == "szoht":
        small = (0.3, 1.0, 3.0, 10.0, 30.0) if name == "port5" else (0.005, 0.015, 0.05, 0.15, 0.5)
        for mu, step, q in itertools.product((1e-4, 0.015), small, (10,)):
            yield {"q": q, "support_size": 10, "mu": mu, "step_size": step}
    elif method == "rspgf":
        for penalty, step, q in itertools.product((0.0, 1e-4), steps, (10, 100)):
            yield {"q": q, "mu": 1e-4, "step_size": step, "penalty": penalty}
    elif method == "zscg":
        fixed: tuple[dict[str, float], ...] = ({}, {"step_size": 1e-3})
        for radius, step_size, q in itertools.product((1.0, 3.0, 10.0), fixed, (10, 100)):
            yield {"q": q, "mu": 1e-4, "radius": radius, **step_size}
    else:
        for penalty, step, s in itertools.product((0.0, 1e-4), steps, (20,)):
            yield {"sparsity": s, "mu": 1e-4, "step_size": step, "penalty": penalty}


def select_settings(results: Results) -> dict[str, Any]:
    """Return, for each portfolio and method, the settings nearest to the paper's and the best.

    Nearest: the smallest mean |log ratio| to the digitized points, unless the paper states its
    settings. Best: the lowest f over the last tenth of the run.
    """
    curves = digitized_curves("assets")
    found: dict[str, Any] = {"paper": {}, "best": {}}
    for name in PORTFOLIOS:
        for method in PAPER_METHODS:
            runs = [
                curve
                for curve in results.curves
                if (curve.job.settings["portfolio"], curve.job.settings["method"]) == (name, method)
            ]
            points = curves[name][method]
            near = min(runs, key=lambda curve: _misfit(curve, points))
            best = min(runs, key=_final)
            found["paper"][f"{name} {method}"] = (
                stated_settings(name, method) or near.job.settings["options"]
            )
            found["best"][f"{name} {method}"] = best.job.settings["options"]
    return found


def stated_settings(name: str, method: str) -> dict[str, Any]:
    """Return the settings that the paper states, or {}."""
    if method != "szoht":
        return {}
    return dict(problems.portfolio(name, k=K, form="raw").settings)


def _final(curve: Curve) -> float:
    """Return the median of f over the last tenth of a run, so that no single iterate decides."""
    f = curve.table["f"]
    value = float(np.median(f[-max(1, f.size // 10) :]))
    return value if np.isfinite(value) else float("inf")


def _misfit(curve: Curve, points: Vector) -> float:
    limit = TUNING_QUERIES[curve.job.settings["portfolio"]]
    directions, expected = points[points[:, 0] <= limit].T
    reached = np.interp(directions, curve.table["directions"], curve.table["f"])
    if not np.isfinite(reached).all() or (reached <= 0).any():
        return float("inf")
    return float(np.abs(np.log(reached / expected)).mean())
