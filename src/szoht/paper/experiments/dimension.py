"""Appendix "Dimension independence": queries against d for three sizes of random supports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from szoht import algorithms, problems
from szoht.paper.digitized import digitized_curves
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import by_name, median_over_seeds, scalar
from szoht.paper.plotting import plot_curves, short_ticks
from szoht.paper.recording import record_run
from szoht.reporting.figures import COLORS, subplots
from szoht.theory import sufficient_q
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

K, K_STAR = 500, 5
DIMENSIONS = (5000, 10_000, 50_000)
SUPPORTS = ("all", "d/k", "50")
FULL_QUERIES = {"all": 100_000, "d/k": 145_000, "50": 200_000}
"""The ends of the paper's axes; for "50", enough for every run to reach the target."""

QUICK_QUERIES = {("all", 5000): 34_000, ("all", 10_000): 34_000}
SECONDS_PER_ENTRY = 2.5e-8
"""Of a direction with full support; a sparse one takes six times as long per entry."""

TARGET_VALUE = 0.1
"""Queries are counted until f reaches this value."""


def _size(support: str, d: int) -> int:
    return {"all": d, "d/k": d // K, "50": 50}[support]


def _directions(support: str, d: int) -> int:
    """Return the q of Corollary 2 for full supports, of Corollary 1 for others."""
    if support == "all":
        return 2 * (2 * K + K_STAR + 2)
    return sufficient_q(d=d, k=K, k_star=K_STAR, support_size=_size(support, d))


def _jobs(scale: Scale) -> Sequence[Job]:
    jobs = []
    for support in SUPPORTS:
        for d in DIMENSIONS:
            budget = QUICK_QUERIES.get(
                (support, d), 0 if support == "all" else FULL_QUERIES[support]
            )
            if not scale.quick:
                budget = FULL_QUERIES[support]
            size, q = _size(support, d), _directions(support, d)
            given = problems.quadratic(d, K_STAR, k=K).settings
            settings = {
                "d": d,
                "k_star": K_STAR,
                "k": K,
                "support_size": size,
                "q": q,
                **{name: given[name] for name in ("mu", "step_size")},
            }
            jobs += [
                Job(
                    experiment="dimension",
                    curve=f"{support} d={d}",
                    settings={**settings, "budget": budget},
                    seed=seed,
                    cost=budget * size * (SECONDS_PER_ENTRY if size == d else 1.5e-7),
                )
                for seed in _seeds(scale, support)
                if budget
            ]
    return jobs


def _seeds(scale: Scale, support: str) -> range:
    """Return more seeds where few directions touch a target coordinate, so that runs vary."""
    return scale.runs(quick=5, full=5) if support == "all" else scale.runs(quick=10, full=20)


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return f and the distance against directions, one run of SZOHT."""
    d, k = settings["d"], settings["k"]
    problem = problems.quadratic(d, settings["k_star"], k=k)
    # the paper starts from 1/d on all other coordinates; k of them is the nearest sparse start
    x0 = np.zeros(d)
    x0[:k] = 1.0 / d
    target = np.asarray(problem.best_x)
    dense = settings["support_size"] == d
    objective = replace(problem.objective, along=None) if dense else problem.objective
    method = algorithms.szoht(
        k=k,
        iterate="last",
        **{name: settings[name] for name in ("q", "support_size", "mu", "step_size")},
    )
    return record_run(
        objective,
        x0,
        method=method,
        measures={
            "f": lambda x: objective.value(x, None),
            "distance": lambda x: float(np.linalg.norm(x - target)),
        },
        seed=seed,
        max_iterations=settings["budget"] // settings["q"],
    )


def _stated_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what Appendix G states; d is from the legends."""
    d, size = settings["d"], settings["support_size"]
    q = 2 * (1005 + 2) if size == d else 2 * 1005 + -(-6 * d // size)
    return {"d": d, "k_star": 5, "k": 500, "support_size": size, "q": q, "mu": 1e-8}


def _figures(results: Results) -> Mapping[str, Plot]:
    titles = {
        "all": "$s_2 = d$",
        "d/k": r"$s_2 = \lfloor d/k \rfloor$",
        "50": "$s_2 = 50$",
    }
    plots = {}
    for (support, title), name in zip(titles.items(), ("all", "part", "fifty"), strict=True):
        figure, panels = subplots(columns=2, size=(4.6, 3.4))
        labels = {f"{support} d={d}": f"d={d}" for d in DIMENSIONS}
        for panel, (measure, label) in zip(
            panels, (("f", "$f(x)$"), ("distance", r"$\|x - x^*\|$")), strict=True
        ):
            plot_curves(panel, results, labels, measure)
            start = digitized_curves("dimension")[measure]["start"]
            panel.plot(*start.T, "o", color="#1b1b1b", fillstyle="none", label="the paper's start")
            panel.set(title=title, xlabel="directions", ylabel=label)
            short_ticks(panel)
        panels[0].set(yscale="log")
        panels[0].legend(frameon=False, fontsize=8)
        caption = (
            f"SZOHT on a quadratic, k = {K}, k* = {K_STAR}, q as the corollaries ask. Lines are "
            "medians over seeds, bands their range. Of the paper's curves only the start was read."
        )
        plots[name] = Plot(figure=figure, caption=caption)
    return plots | {"slope": _slope_figure(results)}


def _slope_figure(results: Results) -> Plot:
    figure, (axis,) = subplots(size=(5.6, 3.6))
    for support, color in zip(SUPPORTS, COLORS, strict=False):
        try:
            d, queries = _reached(results, support)
        except NotRunError:
            continue
        axis.plot(d, queries, "o", color=color, markersize=4, alpha=0.7)
        fit = np.polynomial.Polynomial.fit(d, queries, 1)
        ends = np.array([d.min(), d.max()])
        axis.plot(ends, fit(ends), color=color, label=f"$s_2$ = {support}")
    axis.set(xlabel="$d$", ylabel=f"directions to $f \\leq {TARGET_VALUE}$", ylim=(0, None))
    axis.legend(frameon=False, fontsize=8)
    caption = (
        f"Directions until f reaches {TARGET_VALUE}, one point per run, with least-squares lines."
    )
    return Plot(figure=figure, caption=caption)


def _crossing(table: Table) -> float:
    """Return after how many directions f falls to the target, log-linear between rows."""
    f, x = np.log(table["f"]), table["directions"]
    below = np.flatnonzero(f <= np.log(TARGET_VALUE))
    if not below.size:
        raise NotRunError(f"a curve ends before f = {TARGET_VALUE}.")
    i = int(below[0])
    part = (f[i - 1] - np.log(TARGET_VALUE)) / (f[i - 1] - f[i])
    return float(x[i - 1] + part * (x[i] - x[i - 1]))


def _reached(results: Results, support: str) -> tuple[Vector, Vector]:
    """Return the dimension and the directions to the target of every run."""
    points = [
        (d, _crossing(curve.table))
        for d in DIMENSIONS
        if f"{support} d={d}" in results
        for curve in results.runs(f"{support} d={d}")
    ]
    if len({d for d, _ in points}) < 2:  # noqa: PLR2004 - a slope needs two places
        raise NotRunError(f"the curves of {support} were not run for two dimensions.")
    d, queries = np.array(points).T
    return d, queries


def _at(results: Results, support: str, d: int, place: float, column: str = "f") -> Measurement:
    """Return a column after ``place`` directions, taken at the nearest iteration."""
    values = []
    for curve in results.runs(f"{support} d={d}"):
        x = curve.table["directions"]
        if x[-1] < 0.95 * place:
            raise NotRunError(f"the curve {support} d={d} ends before {place:g}.")
        values.append(curve.table[column][int(np.argmin(np.abs(x - place)))])
    return median_over_seeds(np.array(values))


def _spread(results: Results, support: str) -> Measurement:
    """Return directions to the target, those of the largest d over those of the smallest."""
    d, queries = _reached(results, support)
    ratio = np.median(queries[d == d.max()]) / np.median(queries[d == d.min()])
    return scalar(float(ratio), f" (d = {d.max():.0f} over {d.min():.0f})")


def _slope(results: Results, support: str) -> Measurement:
    """Return the slope of directions to the target on d, with its 95 % interval."""
    d, queries = _reached(results, support)
    fit = stats.linregress(d, queries)
    half = float(stats.t.ppf(0.975, d.size - 2)) * float(fit.stderr)
    slope = float(fit.slope)
    text = f"{slope:.4g} [{slope - half:.4g}, {slope + half:.4g}] directions per coordinate"
    return Measurement(value=slope, text=text, low=slope - half, high=slope + half)


def _relative_slope(results: Results, support: str) -> Measurement:
    """Return the slope over the one if queries were proportional to d (1), 0 if independent.

    With full supports in a method whose error is dense, ten times the dimension asks for ten
    times the queries; the unit is that slope through the smallest dimension.
    """
    d, queries = _reached(results, support)
    unit = float(np.median(queries[d == d.min()])) / float(d.min())
    plain = _slope(results, support)
    assert plain.low is not None and plain.high is not None  # noqa: S101, PT018 - set above
    value, low, high = (part / unit for part in (plain.value, plain.low, plain.high))
    return Measurement(value=value, text=f"{value:.3g} [{low:.3g}, {high:.3g}]", low=low, high=high)


def _predicted_slope(results: Results, support: str) -> Measurement:
    """Return the slope over the one that Corollary 1 predicts: T 6 / s2 for T iterations."""
    d, queries = _reached(results, support)
    iterations = np.median(
        [n / _directions(support, int(one)) for one, n in zip(d, queries, strict=True)]
    )
    unit = 6 * float(iterations) / _size(support, int(d[0]))
    plain = _slope(results, support)
    value = float(plain.value) / unit
    return Measurement(value=value, text=f"{value:.3g} times the prediction {unit:.3g}")


def _start(results: Results, column: str) -> Measurement:
    return scalar(results.columns(results.names[0], column)[0][0])


def _printed_start(results: Results) -> Measurement:
    """Return f at the start with y as the text prints it."""
    del results
    problem = problems.quadratic(DIMENSIONS[0], K_STAR, version="paper")
    return scalar(problem.objective.value(problem.x0, None))


EXPERIMENT = Experiment(
    name="dimension",
    title="Dependence on the dimension",
    where='Appendix "Dimension independence/weak-dependence", its three figures',
    description="A quadratic, three dimensions, three sizes of supports, q as the corollaries ask.",
    jobs=_jobs,
    run=_run,
    figures=_figures,
    stated_settings=_stated_settings,
    measures=by_name(
        _at, _spread, _slope, _relative_slope, _predicted_slope, _start, _printed_start
    ),
)
