"""Figure "Sensitivity analysis": six numbers of directions, the printed objective and another."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from szoht import algorithms, problems
from szoht.operators import Sparse
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import boolean, by_name, integers, median_over_seeds, scalar
from szoht.paper.plotting import plot_curves
from szoht.paper.recording import record_run
from szoht.reporting.figures import subplots
from szoht.theory import Regularity, Setting, contraction
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

D, K_STAR, K = 5000, 5, 370
FULL_QUERIES = 200_000
DIRECTIONS = (1, 20, 200, 500, 2500, 5000)
OBJECTIVE_VERSIONS = {"plotted": "corrected", "printed": "paper"}
QUICK_QUERIES = {
    "plotted": {1: 10_000, 20: 25_000, 200: 50_000, 500: 50_000, 2500: 50_000, 5000: 50_000},
    "printed": {5000: 50_000},
}
SECONDS_PER_QUERY = {1: 7e-4}
"""Where the overhead of an iteration dominates; else 2e-4."""


def _jobs(scale: Scale) -> Sequence[Job]:
    full = {name: dict.fromkeys(DIRECTIONS, FULL_QUERIES) for name in OBJECTIVE_VERSIONS}
    return [
        Job(
            experiment="sensitivity",
            curve=f"{name} q={q}",
            settings={"objective": name, "d": D, "k_star": K_STAR, "k": K, "q": q, "budget": n},
            seed=seed,
            cost=n * SECONDS_PER_QUERY.get(q, 2e-4),
        )
        for name, budgets in (QUICK_QUERIES if scale.quick else full).items()
        for q, n in budgets.items()
        for seed in scale.runs(quick=1, full=3 if name == "plotted" else 1)
    ]


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return f and distances against directions, one run of SZOHT as the paper has it."""
    problem = problems.sensitivity(
        settings["d"],
        settings["k_star"],
        k=settings["k"],
        q=settings["q"],
        version=OBJECTIVE_VERSIONS[settings["objective"]],  # type: ignore[arg-type]
    )
    usual = problems.sensitivity(settings["d"], settings["k_star"], k=settings["k"])
    drawn, best = np.asarray(usual.reference), np.asarray(problem.best_x)
    nearest = _sparsest(best)
    # full supports: points are dense, and stacks of them cheaper than offsets
    objective = replace(problem.objective, along=None)
    return record_run(
        objective,
        problem.x0,
        method=algorithms.szoht(k=problem.k, iterate="last", **problem.settings),
        measures={
            "f": lambda x: objective.value(x, None),
            "distance_drawn": lambda x: float(np.linalg.norm(x - drawn)),
            "distance": lambda x: float(np.linalg.norm(x - nearest)),
        },
        seed=seed,
        max_iterations=settings["budget"] // settings["q"],
    )


def _sparsest(best: Vector) -> Vector:
    """Return the best k*-sparse point, given the best k-sparse one: f is separable."""
    return Sparse(K_STAR).prox(best, 0.0)


def _figures(results: Results) -> Mapping[str, Plot]:
    plots = {}
    for name, objective in (
        ("plotted", "the objective that reproduces the paper's figure"),
        ("printed", "the objective as the text prints it"),
    ):
        figure, axes = subplots(columns=3)
        columns = ("f", "distance_drawn", "distance")
        titles = ("$f(x)$", r"distance to $x^*$ as drawn", r"distance to the true $x^*$")
        for axis, column, title in zip(axes, columns, titles, strict=True):
            plot_curves(axis, results, {f"{name} q={q}": f"q={q}" for q in DIRECTIONS}, column)
            axis.set(title=title, xlabel="directions (the paper's count of queries)")
            axis.ticklabel_format(axis="x", style="sci", scilimits=(0, 3))
        axes[0].set(yscale="log", ylim=(1e-6, 0.03))
        axes[0].legend(frameon=False, fontsize=8)
        caption = (
            f"SZOHT on {objective}; d = {D}, k* = {K_STAR}, k = {K}. Lines are medians over seeds, "
            "bands their range. The paper draws distances to a point 100 times as long as the "
            "minimizer (middle)."
        )
        plots[name] = Plot(figure=figure, caption=caption)
    return plots


def _at(results: Results, objective: str, q: int, place: float, column: str = "f") -> Measurement:
    """Return a column after ``place`` directions."""
    return median_over_seeds(results.at(f"{objective} q={q}", column, place))


def _order(results: Results, place: float) -> Measurement:
    """Return the q from the highest f to the lowest."""
    found = [float(np.median(results.at(f"plotted q={q}", "f", place))) for q in DIRECTIONS]
    return integers([q for _, q in sorted(zip(found, DIRECTIONS, strict=True), reverse=True)])


def _change(results: Results, objective: str, column: str) -> Measurement:
    """Return the q for which a column ends higher than it begins."""
    rising = []
    for q in DIRECTIONS:
        ends = [c[-1] - c[0] for c in results.columns(f"{objective} q={q}", column)]
        if np.median(ends) > 0:
            rising.append(q)
    return integers(rising)


def _outside(results: Results, version: str) -> Measurement:
    """Return the q for which the theorem's gamma rho exceeds 1; closed forms."""
    del results
    setting = Setting(d=D, k=K, k_star=K_STAR, q=np.array(DIRECTIONS), support_size=D)
    products = contraction(setting, Regularity(), version=version)  # type: ignore[arg-type]
    return integers(
        [q for q, product in zip(DIRECTIONS, np.atleast_1d(products), strict=True) if product > 1]
    )


def _less_descent(results: Results, place: float) -> Measurement:
    """Return whether the lowest f reached falls as q grows."""
    lowest = []
    for q in DIRECTIONS:
        if results.runs(f"plotted q={q}")[0].table["directions"][-1] < place:
            raise NotRunError(f"the curve q={q} ends before {place:g}.")
        lowest.append(float(np.median([c.min() for c in results.columns(f"plotted q={q}", "f")])))
    return boolean((np.diff(lowest) <= 0).all(), ", ".join(f"{v:.2g}" for v in lowest))


def _start(results: Results, objective: str, column: str = "f") -> Measurement:
    name = next(name for name in results.names if name.startswith(objective))
    return scalar(results.columns(name, column)[0][0])


EXPERIMENT = Experiment(
    name="sensitivity",
    title="Sensitivity to the number of directions",
    where='Section 5.1, figure "Sensitivity analysis"',
    description=(
        "A sparse quadratic, six numbers of directions q, the step size of Theorem 1. Both the "
        "objective that the text prints and the one that reproduces the plot are run."
    ),
    jobs=_jobs,
    run=_run,
    figures=_figures,
    measures=by_name(_at, _order, _change, _outside, _less_descent, _start),
)
