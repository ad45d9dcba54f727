"""The asset figures: the paper's panel beside ours, as stated and tuned."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from szoht import problems
from szoht.paper.digitized import digitized_curves
from szoht.paper.experiment import Plot, Results
from szoht.paper.methods import METHOD_LABELS, PAPER_METHODS
from szoht.paper.portfolio_runs import FULL_QUERIES, PORTFOLIOS, K, best_known
from szoht.reporting.figures import COLORS, plot_median_and_range, subplots
from szoht.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["figures"]

Y_LIMITS = {"port3": (0.012, 0.13), "port4": (0.012, 0.13), "port5": (1.5e-5, 1e-3)}
"""Range of f in the figures; a run that is thrown out may leave any range."""

TUNINGS = {"stated": "as in the paper", "tuned": "tuned fairly"}
METHOD_COLORS = dict(zip((*PAPER_METHODS, "auto"), COLORS, strict=False))


def figures(results: Results) -> Mapping[str, Plot]:
    """Return a figure per market: a row per column of settings."""
    return {name: _figure(results, name) for name in PORTFOLIOS}


def _figure(results: Results, name: str) -> Plot:
    figure, axes = subplots(rows=2, columns=3)
    best, _ = best_known(problems.portfolio(name, k=K, form="raw"))
    for row, tuning in enumerate(TUNINGS):
        drawn, ours, count = axes[3 * row : 3 * row + 3]
        _draw_points(drawn, name)
        _draw_runs(ours, count, results, name, tuning)
        for axis in (drawn, ours):
            axis.axhline(best, color="#888888", linestyle=":", linewidth=1.2)
            axis.set(yscale="log", ylim=Y_LIMITS[name], xlim=(0, FULL_QUERIES[name]))
        drawn.set(title=f"{name}, the paper's curves", ylabel="$f(x)$")
        ours.set(title=f"ours, {TUNINGS[tuning]}")
        count.set(title="ours, non-zeros", yscale="log", xlim=(0, FULL_QUERIES[name]))
        for axis in (drawn, ours, count):
            axis.set(xlabel="directions")
            axis.ticklabel_format(axis="x", style="sci", scilimits=(0, 3))
        ours.legend(frameon=False, fontsize=8)
    caption = (
        f"{name}. Left, the points read off the paper's figure, joined by lines. Middle, ours on "
        "the same axes: medians over seeds, bands their range, thin dots the lowest f so far; "
        "above as in the paper, below tuned fairly; dashed, the default solver, untuned. Dotted, "
        f"the best known portfolio of {K} assets. Right: weights above a thousandth of the "
        "largest. Directions are the paper's count of queries."
    )
    return Plot(figure=figure, caption=caption)


def _draw_points(axis: "Axes", name: str) -> None:
    for method, points in digitized_curves("assets")[name].items():
        axis.plot(*points.T, "o-", color=METHOD_COLORS[method], markersize=3.5, linewidth=1.2)


def _draw_runs(axis: "Axes", count: "Axes", results: Results, name: str, tuning: str) -> None:
    curves = {method: f"{name} {tuning} {method}" for method in PAPER_METHODS}
    if not any(curve in results for curve in curves.values()):
        axis.text(
            0.5,
            0.9,
            "the paper states neither radius nor step",
            transform=axis.transAxes,
            ha="center",
            fontsize=8,
        )
    for method, curve in (curves | {"auto": f"{name} auto"}).items():
        if curve in results:
            color, line = METHOD_COLORS[method], "--" if method == "auto" else "-"
            label = METHOD_LABELS[method]
            x, f = _on_grid(results, curve, "f")
            plot_median_and_range(axis, x, f, label=label, color=color, line=line)
            _, lowest = _on_grid(results, curve, "best_f")
            axis.plot(x, np.median(lowest, axis=0), ":", color=color, linewidth=0.9)
            _, nonzeros = _on_grid(results, curve, "l0_large")
            plot_median_and_range(count, x, nonzeros, label=label, color=color, line=line)


def _on_grid(results: Results, curve: str, column: str) -> tuple[Vector, list[Vector]]:
    """Return the curves of all seeds on a common grid; a run that ended early is held constant."""
    end = max(float(c[-1]) for c in results.columns(curve, "directions"))
    x = np.linspace(0.0, end, 300)
    pairs = zip(results.columns(curve, "directions"), results.columns(curve, column), strict=True)
    return x, [np.interp(x, directions, values) for directions, values in pairs]
