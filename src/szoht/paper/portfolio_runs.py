"""Four methods and the default solver on the paper's portfolios: one run, and the grid search."""

import itertools
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from szoht import algorithms, problems
from szoht.paper.experiment import Curve, Job, NotRunError, Results, Scale, Table
from szoht.paper.tracing import follow
from szoht.types import Vector

__all__ = [
    "BUDGETS",
    "LABELS",
    "METHODS",
    "PORTFOLIOS",
    "choose",
    "digitised",
    "grid",
    "known",
    "run",
    "shipped",
]

K = 10
PORTFOLIOS = ("port3", "port4", "port5")
BUDGETS = {"port3": 150_000, "port4": 200_000, "port5": 100_000}
"""Where the axes of the paper's figures end."""

TUNING = {"port3": 30_000, "port4": 50_000, "port5": 20_000}
"""Queries of one point of the grid; later points of the paper's curves do not count for it."""

METHODS = ("szoht", "rspgf", "zscg", "zoro")
LABELS = {"szoht": "SZOHT", "rspgf": "RSPGF", "zscg": "ZSCG", "zoro": "ZORO", "auto": "auto"}
LARGE = 1e-3
"""A weight counts as large if it exceeds this share of the largest one."""


def run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return f, l0 and the distance to the best known portfolio of ten assets."""
    name, method = settings["portfolio"], settings["method"]
    problem = problems.portfolio(name, k=K, form="raw", rng=seed)
    sparse = method in ("szoht", "auto")
    x0 = problem.x0 if sparse else np.full(problem.dimension, 1.0 / problem.dimension)
    best, optimum = known(problem)

    def risk(x: Vector) -> float:
        return float(problem.objective.value(x, None))

    measures: dict[str, Callable[[Vector], float]] = {
        "f": risk,
        "l0": lambda x: float(np.count_nonzero(x)),
        "l0_large": lambda x: float(np.count_nonzero(np.abs(x) > LARGE * np.abs(x).max())),
        "distance": lambda x: _distance(x, optimum),
        "gap": lambda x: risk(x) / best - 1,
    }
    more = {"k": K} if method == "auto" else {}
    return follow(
        problem.objective,
        x0,
        method="auto" if method == "auto" else _algorithm(method, settings["options"]),
        measures=measures,
        seed=seed,
        best=method == "auto",
        max_queries=settings["budget"],
        **more,
    )


def _algorithm(method: str, options: Mapping[str, Any]) -> Any:
    if method == "szoht":
        return algorithms.szoht(k=K, iterate="last", **options)
    if method == "zoro":  # measurements and centring as published
        return algorithms.zoro(iterate="last", centered=False, **options)
    return algorithms.rspgf(**options) if method == "rspgf" else algorithms.zscg(**options)


def known(problem: problems.Problem) -> tuple[float, Vector]:
    """Return the best value known and its point."""
    if problem.best is None or problem.best_x is None:
        raise NotRunError(f"no optimum of {problem.name} is known.")
    return problem.best, problem.best_x


def _distance(x: Vector, optimum: Vector) -> float:
    """Return the distance between portfolios, whose weights sum to 1."""
    total = float(x.sum())
    return float(np.linalg.norm(x / total - optimum)) if total else float("inf")


def digitised() -> dict[str, dict[str, list[list[float]]]]:
    """Return the paper's curves, by portfolio and method."""
    text = (resources.files("szoht.paper") / "digitised.toml").read_text()
    curves: dict[str, dict[str, list[list[float]]]] = tomllib.loads(text)
    return curves


def shipped() -> dict[str, Any]:
    """Return the settings that the grid search found, as they come with the library."""
    text = (resources.files("szoht.paper") / "assets_tuned.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def grid(scale: Scale) -> Sequence[Job]:
    """Return the jobs of the grid search: one run per setting, on a seed of its own."""
    return [
        Job(
            experiment="assets",
            curve=f"tune {name} {method} {json.dumps(options, sort_keys=True)}",
            settings={
                "portfolio": name,
                "method": method,
                "options": options,
                "budget": TUNING[name] // (10 if scale.quick else 1),
            },
            seed=1000,
            cost=TUNING[name] * 1e-3 / options.get("q", 50),
        )
        for name in PORTFOLIOS
        for method in METHODS
        for options in _settings(name, method)
    ]


def _settings(name: str, method: str) -> Iterator[dict[str, Any]]:
    # f is constant along rays, so a step has the unit |x|^2 / f
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


def choose(results: Results) -> dict[str, Any]:
    """Return, for each portfolio and method, the setting nearest to the paper's and the best.

    Nearest: the least mean |log ratio| to the digitised points. The paper's own setting is kept
    where it states one. Best: the lowest f over the last tenth of the run.
    """
    curves = digitised()
    found: dict[str, Any] = {"paper": {}, "best": {}}
    for name in PORTFOLIOS:
        for method in METHODS:
            runs = [
                curve
                for curve in results.curves
                if (curve.job.settings["portfolio"], curve.job.settings["method"]) == (name, method)
            ]
            points = curves[name][method]
            near = min(runs, key=lambda curve: _misfit(curve, points))
            best = min(runs, key=_final)
            found["paper"][f"{name} {method}"] = (
                stated(name, method) or near.job.settings["options"]
            )
            found["best"][f"{name} {method}"] = best.job.settings["options"]
    return found


def stated(name: str, method: str) -> dict[str, Any]:
    """Return the paper's own setting, if it has one."""
    if method != "szoht":
        return {}
    return dict(problems.portfolio(name, k=K, form="raw").settings)


def _final(curve: Curve) -> float:
    """Return the median of f over the last tenth of a run: one lucky iterate is no result."""
    f = curve.table["f"]
    value = float(np.median(f[-max(1, f.size // 10) :]))
    return value if np.isfinite(value) else float("inf")


def _misfit(curve: Curve, points: Sequence[Sequence[float]]) -> float:
    within = TUNING[curve.job.settings["portfolio"]]
    place, wanted = np.array([point for point in points if point[0] <= within]).T
    reached = np.interp(place, curve.table["directions"], curve.table["f"])
    if not np.isfinite(reached).all() or (reached <= 0).any():
        return float("inf")
    return float(np.abs(np.log(reached / wanted)).mean())
