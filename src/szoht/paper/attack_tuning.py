"""The grid search for attacks: every method by one protocol, on images that judge nothing."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from szoht.paper.attack_runs import DATASETS, margins
from szoht.paper.experiment import Job, Results, Scale
from szoht.paper.methods import PAPER_METHODS
from szoht.paper.tuning import CHOOSING, half_decades

__all__ = ["TUNED_QUERIES", "attack_tuning_jobs", "select_attack_settings"]

TUNED_QUERIES = {"mnist": 5_000, "cifar10": 2_000}
"""Where speed is judged and tuned: half of the axes of the paper, whose SZOHT has ended there."""

TUNING_IMAGES = (100, 103)
"""Images that choose; the first 100 judge."""

SIMILAR = 0.05
"""Converged values that differ by less than this part of the start are similar."""

SPARSENESS = {"rspgf": "penalty", "zoro": "penalty", "zscg": "radius"}
"""What the paper tunes to a similar converged value, rather than to the best one."""


def attack_tuning_jobs(scale: Scale) -> Sequence[Job]:
    """Return the jobs of the grid search: each setting with each seed, on the choosing images."""
    return [
        Job(
            experiment="attacks",
            curve=f"tune {name} {method} {json.dumps(options, sort_keys=True)}",
            settings={
                "dataset": name,
                "method": method,
                "images": list(TUNING_IMAGES),
                "budget": budget // (4 if scale.quick else 1),
                "unit": "coordinates",
                "k": DATASETS[name].k,
                "options": options,
            },
            seed=seed,
            cost=budget * DATASETS[name].seconds * 1.5,
        )
        for name, budget in TUNED_QUERIES.items()
        if not scale.datasets or name in scale.datasets
        for method in PAPER_METHODS
        for options in _grid(name, method)
        for seed in CHOOSING
    ]


def _grid(name: str, method: str) -> Iterator[dict[str, Any]]:
    """Yield half decades of the step, and of what makes a method sparse; the paper's settings too.

    On MNIST all have 10 or 100 directions, as SZOHT has in the paper. The radius of a difference is
    the paper's for SZOHT; for Gaussian directions, sqrt(d) long, about a third of a unit in all.
    """
    mnist = name == "mnist"
    counts = (10, 100) if mnist else (100,)
    mu = {"mu": 0.01 if mnist else 0.003}
    if method == "szoht":
        yield from _szoht_grid(name, counts)
    elif method == "zscg":
        for q, radius in itertools.product(counts, half_decades(30, 300)):
            yield {"q": q, "radius": radius, **mu}
    elif method == "rspgf":
        gammas = half_decades(0.03, 0.3) if mnist else half_decades(1e-3, 0.01)
        penalties = half_decades(1, 10) if mnist else half_decades(3, 30)
        for q, gamma, penalty in itertools.product(counts, gammas, penalties):
            yield {"q": q, "step_size": gamma, "penalty": penalty, **mu}
    else:
        sizes = {"sparsity": 40, "n_measurements": 100}
        rest = mu | {"tol": 0.5} | (sizes if mnist else {"sparsity": 60, "n_measurements": 180})
        alphas = half_decades(0.1, 1) if mnist else half_decades(0.01, 0.1)
        penalties = half_decades(0.3, 3) if mnist else half_decades(1, 10)
        for alpha, penalty in itertools.product(alphas, penalties):
            yield {"step_size": alpha, "penalty": penalty, **rest}


def _szoht_grid(name: str, counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    stated = DATASETS[name].figure
    steps = half_decades(0.03, 1) if name == "mnist" else half_decades(1e-3, 0.03)
    for q, step in itertools.product(counts, steps):
        size = min(q, int(stated["support_size"]))
        yield {"q": q, "support_size": size, "mu": stated["mu"], "step_size": step}
    if stated["q"] not in counts:
        yield dict(stated)


def select_attack_settings(results: Results) -> dict[str, Any]:
    """Return the settings by data set and method.

    The best has the lowest mean margin over the run in the worst of its seeds, so that none is
    chosen that one seed makes unstable. Of the settings with one penalty (or radius) the best
    counts; of the penalties, the largest whose converged value is similar to that of SZOHT
    (section 5.2), and if none is, the one with the lowest.
    """
    found: dict[str, Any] = {}
    for name in TUNED_QUERIES:
        scored = {method: _scored(results, name, method) for method in PAPER_METHODS}
        if not all(scored.values()):
            continue
        options, _, converged = min(scored["szoht"], key=lambda one: one[1])
        found[name] = {"szoht": options}
        for method, what in SPARSENESS.items():
            found[name][method] = _similar(scored[method], what, converged)
    return found


Scored = tuple[dict[str, Any], float, float]
"""A setting, its mean margin in the worst seed, and its converged value."""


def _scored(results: Results, name: str, method: str) -> list[Scored]:
    scored = []
    for curve in results.names:
        runs = results.runs(curve)
        settings = runs[0].job.settings
        if (settings["dataset"], settings["method"]) == (name, method):
            rows = [margins([run])[1] for run in runs]
            worst = max(float(one.mean()) for one in rows)
            end = float(np.mean([one[:, -1] for one in rows]))
            scored.append((dict(settings["options"]), worst, end))
    return scored


def _similar(scored: Sequence[Scored], what: str, converged: float) -> dict[str, Any]:
    """Return the sparsest setting that converges to a value similar to ``converged``."""
    best = [
        min((one for one in scored if one[0][what] == value), key=lambda one: one[1])
        for value in sorted({one[0][what] for one in scored}, reverse=what == "penalty")
    ]
    for options, _, end in best:
        if end <= converged + SIMILAR:
            return options
    return min(best, key=lambda one: one[2])[0]
