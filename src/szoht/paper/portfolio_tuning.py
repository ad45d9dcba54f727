"""The grid search on portfolios: one protocol for SZOHT and the three methods it is compared with.

f is constant along rays, so a step has the unit |x|^2 / f, a radius the unit |x|, a penalty on
|x|_1 the unit f / |x|_1. The grids are half decades in these units at the start, 54 settings per
method, beside the paper's own setting of SZOHT. Runs end where the claims are judged. A setting
counts as its worst seed, so that one which is unstable over seeds loses.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from szoht import problems
from szoht.paper.experiment import Job, Results, Scale, Table
from szoht.paper.methods import PAPER_METHODS
from szoht.paper.portfolio_runs import PORTFOLIOS, K, dense_start, run, stated_settings
from szoht.paper.tuning import CHOOSING, half_decades

__all__ = ["JUDGED_QUERIES", "default_settings", "race", "select_settings", "tuning_jobs"]

JUDGED_QUERIES = 20_000
"""Where methods are compared: about the end of the paper's curves of SZOHT."""

STEPS = half_decades(1e-3, 10)
"""Steps in the unit |x0|^2 / f(x0)."""

FRANK_WOLFE_STEPS = (None, *half_decades(1e-4, 0.01))
"""Steps of ZSCG, which are shares of the way to a vertex; None is its 2 / (t + 2)."""

DIRECTION_COUNTS = (10, 30, 100)
"""Directions per iteration; 10 is the paper's for SZOHT."""

SPARSITIES = (10, 20, 40)
"""Entries of a gradient that ZORO recovers; for 40 it measures nearly all d of port3 and port4."""

LENGTH = 0.01
"""Length of a probe in the unit |x0|; a tenth or ten times of it matters far less than the step.
A Gaussian direction is sqrt(d) long, so that its radius is shorter by that."""


def default_settings() -> dict[str, Any]:
    """Return the settings found by the grid search, as distributed with the library."""
    text = (resources.files("szoht.paper") / "assets_tuned.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def tuning_jobs(scale: Scale) -> Sequence[Job]:
    """Return the jobs of the grid search: one per market and method."""
    budget = JUDGED_QUERIES // (10 if scale.quick else 1)
    return [
        Job(
            experiment="assets",
            curve=f"tune {name} {method}",
            settings={
                "portfolio": name,
                "method": method,
                "grid": grid(name, method),
                "budget": budget,
            },
            seed=CHOOSING[0],
            cost=budget * 2e-3,
        )
        for name in PORTFOLIOS
        for method in PAPER_METHODS
    ]


def grid(name: str, method: str) -> list[dict[str, Any]]:
    """Return the settings of a method on a market, the paper's first if it states one."""
    problem = problems.portfolio(name, k=K, form="raw")
    dense = dense_start(problem.dimension)
    x0 = problem.x0 if method == "szoht" else dense
    f, norm = float(problem.objective.value(dense, None)), float(np.linalg.norm(x0))
    steps = [step * norm**2 / f for step in STEPS]
    penalties = (0.0, 0.1 * f)
    mu = LENGTH * norm if method == "szoht" else LENGTH * norm / np.sqrt(x0.size)
    axes: dict[str, dict[str, Sequence[Any]]] = {
        "szoht": {
            "q": DIRECTION_COUNTS,
            "support_size": (K,),
            "mu": (mu, 10 * mu),
            "step_size": steps,
        },
        "rspgf": {"q": DIRECTION_COUNTS, "mu": (mu,), "step_size": steps, "penalty": penalties},
        "zscg": {
            "q": DIRECTION_COUNTS,
            "mu": (mu,),
            "radius": half_decades(1, 10),
            "step_size": FRANK_WOLFE_STEPS,
        },
        "zoro": {"sparsity": SPARSITIES, "mu": (mu,), "step_size": steps, "penalty": penalties},
    }
    names, values = zip(*axes[method].items(), strict=True)
    found = [_round(dict(zip(names, one, strict=True))) for one in itertools.product(*values)]
    stated = stated_settings(name, method)
    return [stated, *found] if stated else found


def _round(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with two digits, which are all that half decades mean, and without None."""
    return {
        name: float(f"{value:.2g}") if isinstance(value, float) else value
        for name, value in options.items()
        if value is not None
    }


def race(settings: Mapping[str, Any]) -> Table:
    """Return f at the end, a row per setting of the grid and a column per choosing seed.

    All settings run with the first seed. The worst seed is at least as high, so those whose first
    seed is above the worst of another cannot win, and are left out (NaN) of the other seeds.
    """
    plain = {name: settings[name] for name in ("portfolio", "method", "budget")}
    ends = np.full((len(settings["grid"]), len(CHOOSING)), np.nan)

    def end(row: int, seed: int) -> float:
        return _last(run({**plain, "options": settings["grid"][row]}, seed))

    ends[:, 0] = [end(row, CHOOSING[0]) for row in range(len(ends))]
    lowest = np.inf
    for row in np.argsort(ends[:, 0], kind="stable"):
        if ends[row, 0] >= lowest:
            break
        ends[row, 1:] = [end(row, seed) for seed in CHOOSING[1:]]
        lowest = min(lowest, ends[row].max())
    columns = {f"f, seed {seed}": ends[:, place] for place, seed in enumerate(CHOOSING)}
    return {"setting": np.arange(len(ends), dtype=np.float64), **columns}


def _last(table: Table) -> float:
    """Return the median of f over the last tenth of a run, so that no single iterate decides."""
    f = table["f"]
    value = float(np.median(f[-max(1, f.size // 10) :]))
    return value if np.isfinite(value) else float("inf")


def select_settings(results: Results) -> dict[str, Any]:
    """Return, for each portfolio and method, the setting whose worst seed ends lowest."""
    found = {}
    for curve in results.curves:
        ends = np.column_stack([curve.table[f"f, seed {seed}"] for seed in CHOOSING])
        worst = np.where(np.isnan(ends).any(axis=1), np.inf, ends.max(axis=1))
        name, method = curve.job.settings["portfolio"], curve.job.settings["method"]
        found[f"{name} {method}"] = curve.job.settings["grid"][int(np.argmin(worst))]
    return dict(sorted(found.items()))
