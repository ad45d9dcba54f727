"""Figures port3, port4 and port5: sparse asset management, four methods and the default solver."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht import problems
from szoht.paper.digitized import digitized_curves
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale
from szoht.paper.measurements import boolean, by_name, median_over_seeds, scalar
from szoht.paper.methods import METHOD_LABELS, PAPER_METHODS
from szoht.paper.portfolio_runs import (
    FULL_QUERIES,
    PORTFOLIOS,
    K,
    best_known,
    default_settings,
    run,
    select_settings,
    tuning_jobs,
)
from szoht.reporting.figures import COLORS, plot_median_and_range, subplots
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

QUICK_QUERIES = 22_000
Y_LIMITS = {"port3": (0.012, 0.13), "port4": (0.012, 0.13), "port5": (1.5e-5, 1e-3)}
"""Range of f in the figures; a run that crosses sum x = 0 leaves any range."""


def _jobs(scale: Scale) -> Sequence[Job]:
    found = scale.options.get("assets") or default_settings()
    budgets = dict.fromkeys(PORTFOLIOS, QUICK_QUERIES) if scale.quick else FULL_QUERIES
    jobs = []
    for name in PORTFOLIOS:
        wanted: list[tuple[str, str, dict[str, Any]]] = [("auto", "auto", {})]
        for tuning in ("paper", "best"):
            wanted += [
                (tuning, method, found[tuning][f"{name} {method}"]) for method in PAPER_METHODS
            ]
        jobs += [
            Job(
                experiment="assets",
                curve=_curve(name, tuning, method),
                settings={
                    "portfolio": name,
                    "method": method,
                    "options": options,
                    "budget": budgets[name],
                },
                seed=seed,
                cost=budgets[name] * 1e-3 / options.get("q", 50),
            )
            for tuning, method, options in wanted
            for seed in scale.runs(quick=3, full=5)
        ]
    return jobs


def _curve(name: str, tuning: str, method: str) -> str:
    return f"{name} auto" if method == "auto" else f"{name} {tuning} {method}"


def _figures(results: Results) -> Mapping[str, Plot]:
    return {
        "paper": _figure(
            results,
            "paper",
            "settings as stated in the paper, or nearest to its curves (dots) on the grid",
        ),
        "best": _figure(results, "best", "the best settings on the grid"),
    }


def _figure(results: Results, tuning: str, settings: str) -> Plot:
    figure, axes = subplots(rows=2, columns=3)
    for name, upper, lower in zip(PORTFOLIOS, axes[:3], axes[3:], strict=True):
        for method, color in zip((*PAPER_METHODS, "auto"), COLORS, strict=False):
            if (curve := _curve(name, tuning, method)) in results:
                for axis, column in ((upper, "f"), (lower, "l0_large")):
                    x, columns = _on_grid(results, curve, column)
                    line = "--" if method == "auto" else "-"
                    plot_median_and_range(
                        axis, x, columns, label=METHOD_LABELS[method], color=color, line=line
                    )
            if tuning == "paper" and method != "auto":
                place, value = digitized_curves("assets")[name][method].T
                upper.plot(place, value, "o", color=color, markersize=3.5, alpha=0.8)
        best, _ = best_known(problems.portfolio(name, k=K, form="raw"))
        upper.axhline(best, color="#888888", linestyle=":", linewidth=1.2)
        upper.set(title=name, yscale="log", ylim=Y_LIMITS[name])
        lower.set(xlabel="queries", yscale="log")
        for axis in (upper, lower):
            axis.ticklabel_format(axis="x", style="sci", scilimits=(0, 3))
    axes[0].set(ylabel="$f(x)$")
    axes[3].set(ylabel="non-zeros")
    axes[0].legend(frameon=False, fontsize=8)
    caption = (
        f"Portfolios: {settings}; and the default solver, untuned. Lines are medians over seeds, "
        f"bands their range; dotted, the best known portfolio of {K} assets. Below: weights "
        "above a thousandth of the largest."
    )
    return Plot(figure=figure, caption=caption)


def _on_grid(results: Results, curve: str, column: str) -> tuple[Vector, list[Vector]]:
    """Return the curves of all seeds on a common grid; a run that ended early is held constant."""
    end = max(float(c[-1]) for c in results.columns(curve, "queries"))
    x = np.linspace(0.0, end, 300)
    pairs = zip(results.columns(curve, "queries"), results.columns(curve, column), strict=True)
    return x, [np.interp(x, queries, values) for queries, values in pairs]


def _values(results: Results, curve: str, place: float | None, column: str, by: str) -> Vector:
    pairs = zip(results.columns(curve, by), results.columns(curve, column), strict=True)
    return np.array(
        [values[-1] if place is None else np.interp(place, x, values) for x, values in pairs]
    )


def _at(
    results: Results,
    *,
    portfolio: str,
    method: str,
    tuning: str = "paper",
    place: float | None = None,
    column: str = "f",
    by: str = "directions",
) -> Measurement:
    """Return a column after ``place`` directions, or at the end."""
    return median_over_seeds(_values(results, _curve(portfolio, tuning, method), place, column, by))


def _relative(
    results: Results, portfolio: str, method: str, place: float, tuning: str = "paper"
) -> Measurement:
    """Return f after ``place`` directions over the paper's value there."""
    places, values = digitized_curves("assets")[portfolio][method].T
    target = float(values[list(places).index(place)])
    found = _values(results, _curve(portfolio, tuning, method), place, "f", "directions")
    ratios = median_over_seeds(found / target)
    return Measurement(
        value=ratios.value,
        text=f"{ratios.text} times the paper's {target:g}",
        low=ratios.low,
        high=ratios.high,
    )


def _lowest(results: Results, tuning: str, place: float) -> Measurement:
    """Return whether SZOHT has the lowest f of the four after ``place`` queries on all markets."""
    notes, holds = [], True
    for name in PORTFOLIOS:
        found = {
            method: float(
                np.median(_values(results, _curve(name, tuning, method), place, "f", "queries"))
            )
            for method in PAPER_METHODS
        }
        best = min(found, key=lambda method: found[method])
        holds = holds and found["szoht"] <= 1.05 * found[best]
        notes.append(f"{name}: {METHOD_LABELS[best]} {found[best]:.4g}, SZOHT {found['szoht']:.4g}")
    return boolean(holds, "; ".join(notes))


def _versus(
    results: Results, *, portfolio: str, tuning: str, first: str, second: str, place: float
) -> Measurement:
    """Return f of one method over f of another after ``place`` queries."""
    f = [
        float(np.median(_values(results, _curve(portfolio, tuning, m), place, "f", "queries")))
        for m in (first, second)
    ]
    note = f" ({METHOD_LABELS[first]} {f[0]:.4g}, {METHOD_LABELS[second]} {f[1]:.4g})"
    return scalar(f[0] / f[1], note)


def _sparse(results: Results, tuning: str) -> Measurement:
    """Return the methods that end with at most ten assets on port5."""
    ends = {
        m: int(np.median(_values(results, _curve("port5", tuning, m), None, "l0", "queries")))
        for m in PAPER_METHODS
    }
    text = ", ".join(f"{METHOD_LABELS[method]} {count}" for method, count in ends.items())
    return Measurement(
        value=[m for m, count in ends.items() if count <= K], text=f"{text} non-zeros"
    )


def _worst_gap(results: Results, method: str, tuning: str) -> Measurement:
    """Return the largest median gap to the best known ten-asset portfolio, in percent."""
    gaps = {
        name: 100
        * float(np.median(_values(results, _curve(name, tuning, method), None, "gap", "queries")))
        for name in PORTFOLIOS
    }
    return scalar(max(gaps.values()), " %: " + ", ".join(f"{n} {g:.3g}" for n, g in gaps.items()))


EXPERIMENT = Experiment(
    name="assets",
    data="The OR-Library's portfolios, in this package.",
    title="Sparse asset management",
    where="Section 5.3, figures port3, port4 and port5",
    description=(
        "The paper's penalized risk of x / sum x on three OR-Library markets. SZOHT starts from "
        f"equal weights on {K} random assets, the dense methods from equal weights on all. The "
        "axis counts every query; the paper's counts directions only."
    ),
    jobs=_jobs,
    run=run,
    figures=_figures,
    measures=by_name(_at, _relative, _lowest, _versus, _sparse, _worst_gap),
    tuning_jobs=tuning_jobs,
    select_settings=select_settings,
)
