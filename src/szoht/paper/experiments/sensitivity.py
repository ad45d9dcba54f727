"""Figure "Sensitivity analysis": six numbers of directions, the printed objective and another."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from szoht import algorithms, problems
from szoht.operators import Sparse
from szoht.paper.digitized import digitized_curves
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import boolean, by_name, integers, median_over_seeds, scalar
from szoht.paper.plotting import paired_plot, plot_curves, short_ticks
from szoht.paper.recording import record_run
from szoht.reporting.figures import subplots
from szoht.theory import Regularity, Setting, contraction, step_size
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

D, K_STAR, K = 5000, 5, 370
FULL_QUERIES = 200_000
DIRECTIONS = (1, 20, 200, 500, 2500, 5000)
OBJECTIVE_VERSIONS = {"plotted": "corrected", "printed": "paper"}
FULL_BUDGETS = {"plotted": dict.fromkeys(DIRECTIONS, FULL_QUERIES), "printed": {5000: FULL_QUERIES}}
"""Queries by objective and q; of the printed one, the q that the paper brings to 0."""

QUICK_BUDGETS = {
    "plotted": {1: 5000, 20: 10_000, 200: 50_000, 500: 50_000, 2500: 50_000, 5000: 50_000},
    "printed": {5000: 25_000},
}
SECONDS_PER_QUERY = {1: 5e-4, 20: 1e-4}
"""The overhead of an iteration; else 1.8e-4, of which most is drawing directions."""


def _jobs(scale: Scale) -> Sequence[Job]:
    return [
        Job(
            experiment="sensitivity",
            curve=f"{name} q={q}",
            settings={
                "objective": name,
                "d": D,
                "k_star": K_STAR,
                "k": K,
                **problems.sensitivity(D, K_STAR, k=K, q=q).settings,
                "budget": n,
            },
            seed=seed,
            cost=n * SECONDS_PER_QUERY.get(q, 1.8e-4),
        )
        for name, budgets in (QUICK_BUDGETS if scale.quick else FULL_BUDGETS).items()
        for q, n in budgets.items()
        for seed in scale.runs(quick=5, full=5)
    ]


def _stated_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what section 5.1 states; q is from the figure's legend, the budget from its axis."""
    step = step_size(
        Setting(d=5000, k=74 * 5, k_star=5, q=settings["q"], support_size=5000), Regularity()
    )
    sizes = {"d": 5000, "k_star": 5, "k": 74 * 5, "support_size": 5000, "budget": 200_000}
    rest = {"objective": "printed", "q": settings["q"], "mu": 1e-4, "step_size": float(step)}
    return sizes | rest


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return f and distances against directions, one run of SZOHT as the paper has it."""
    problem = problems.sensitivity(
        settings["d"],
        settings["k_star"],
        k=settings["k"],
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
        method=algorithms.szoht(
            k=problem.k,
            iterate="last",
            **{name: settings[name] for name in ("q", "support_size", "mu", "step_size")},
        ),
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
    labels = {f"q={q}": f"q={q}" for q in DIRECTIONS}
    ours = {f"plotted {name}": label for name, label in labels.items()}
    axis = "directions (the paper's count of queries)"
    pair = paired_plot(
        lambda axes: plot_curves(axes, results, ours, "f"),
        digitized_curves("sensitivity")["f"],
        labels=labels,
        title="$f(x)$",
        caption=(
            f"SZOHT, d = {D}, k* = {K_STAR}, k = {K}, b as it reproduces the paper's figure. Two "
            "points of each of the paper's curves were read off, approximately. Lines are medians "
            "over seeds, bands their range."
        ),
        xlabel=axis,
    )
    figure, panels = subplots(columns=3)
    titles = {
        "f": "$f(x)$, logarithmic",
        "distance_drawn": r"distance to $x^*$ as drawn",
        "distance": r"distance to the true $x^*$",
    }
    for panel, (column, title) in zip(panels, titles.items(), strict=True):
        plot_curves(panel, results, ours, column)
        panel.set(title=title, xlabel=axis)
        short_ticks(panel)
    panels[0].set(yscale="log", ylim=(1e-6, 0.03))
    panels[0].legend(frameon=False, fontsize=8)
    caption = (
        "The same runs; the paper draws distances to a point 100 times as long as the minimizer "
        "(middle)."
    )
    return {
        "f": pair,
        "distances": Plot(figure=figure, caption=caption),
        "printed": _printed_figure(results),
    }


def _printed_figure(results: Results) -> Plot:
    figure, (axes,) = subplots(size=(4.8, 3.6))
    labels = {"plotted q=5000": "b as it reproduces the figure", "printed q=5000": "b as printed"}
    plot_curves(axes, results, labels, "f")
    axes.set(title="$f(x)$, q = 5000", xlabel="directions", yscale="log", ylim=(1e-6, 0.03))
    short_ticks(axes)
    axes.legend(frameon=False, fontsize=8)
    caption = "As the text prints b, more than k coordinates must be non-zero, and f stalls."
    return Plot(figure=figure, caption=caption)


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
    stated_settings=_stated_settings,
    measures=by_name(_at, _order, _change, _outside, _less_descent, _start),
)
