"""Figures port3, port4 and port5: sparse asset management, four methods and the default solver."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht import problems
from szoht.paper.experiment import Drawing, Experiment, Job, Measured, Results, Scale
from szoht.paper.measuring import number, over_seeds, truth
from szoht.paper.portfolio_runs import (
    BUDGETS,
    LABELS,
    METHODS,
    PORTFOLIOS,
    K,
    choose,
    digitised,
    grid,
    known,
    run,
    shipped,
)
from szoht.reporting.drawing import COLOURS, band, panels
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

QUICK = 22_000
FRAMES = {"port3": (0.012, 0.13), "port4": (0.012, 0.13), "port5": (1.5e-5, 1e-3)}
"""What of f is shown; a run that steps over sum x = 0 leaves any frame."""


def _jobs(scale: Scale) -> Sequence[Job]:
    found = scale.options.get("assets") or shipped()
    budgets = dict.fromkeys(PORTFOLIOS, QUICK) if scale.quick else BUDGETS
    jobs = []
    for name in PORTFOLIOS:
        wanted: list[tuple[str, str, dict[str, Any]]] = [("auto", "auto", {})]
        for tuning in ("paper", "best"):
            wanted += [(tuning, method, found[tuning][f"{name} {method}"]) for method in METHODS]
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


def _figures(results: Results) -> Mapping[str, Drawing]:
    return {
        "paper": _figure(
            results,
            "paper",
            "settings as stated in the paper, or nearest to its curves (dots) on the grid",
        ),
        "best": _figure(results, "best", "the best settings on the grid"),
    }


def _figure(results: Results, tuning: str, words: str) -> Drawing:
    figure, axes = panels(rows=2, columns=3)
    for name, upper, lower in zip(PORTFOLIOS, axes[:3], axes[3:], strict=True):
        for method, colour in zip((*METHODS, "auto"), COLOURS, strict=False):
            if (curve := _curve(name, tuning, method)) in results:
                for axis, column in ((upper, "f"), (lower, "l0_large")):
                    x, columns = _on_grid(results, curve, column)
                    line = "--" if method == "auto" else "-"
                    band(axis, x, columns, label=LABELS[method], colour=colour, line=line)
            if tuning == "paper" and method != "auto":
                place, value = np.array(digitised()[name][method]).T
                upper.plot(place, value, "o", color=colour, markersize=3.5, alpha=0.8)
        best, _ = known(problems.portfolio(name, k=K, form="raw"))
        upper.axhline(best, color="#888888", linestyle=":", linewidth=1.2)
        upper.set(title=name, yscale="log", ylim=FRAMES[name])
        lower.set(xlabel="queries", yscale="log")
        for axis in (upper, lower):
            axis.ticklabel_format(axis="x", style="sci", scilimits=(0, 3))
    axes[0].set(ylabel="$f(x)$")
    axes[3].set(ylabel="non-zeros")
    axes[0].legend(frameon=False, fontsize=8)
    caption = (
        f"Portfolios: {words}; and the default solver, untuned. Lines are medians over seeds, "
        f"bands their range; dotted, the best known portfolio of {K} assets. Below: weights "
        "above a thousandth of the largest."
    )
    return Drawing(figure=figure, caption=caption)


def _on_grid(results: Results, curve: str, column: str) -> tuple[Vector, list[Vector]]:
    """Return the curves of all seeds at common places; a run that ended early stays where it is."""
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
) -> Measured:
    """Return a column after ``place`` directions, or at the end."""
    return over_seeds(_values(results, _curve(portfolio, tuning, method), place, column, by))


def _relative(
    results: Results, portfolio: str, method: str, place: float, tuning: str = "paper"
) -> Measured:
    """Return f after ``place`` directions over the paper's value there."""
    places, values = np.array(digitised()[portfolio][method]).T
    target = float(values[list(places).index(place)])
    found = _values(results, _curve(portfolio, tuning, method), place, "f", "directions")
    ratios = over_seeds(found / target)
    return Measured(
        value=ratios.value,
        text=f"{ratios.text} times the paper's {target:g}",
        low=ratios.low,
        high=ratios.high,
    )


def _lowest(results: Results, tuning: str, place: float) -> Measured:
    """Tell whether SZOHT's f is the lowest of the four after ``place`` queries, in every figure."""
    notes, holds = [], True
    for name in PORTFOLIOS:
        found = {
            method: float(
                np.median(_values(results, _curve(name, tuning, method), place, "f", "queries"))
            )
            for method in METHODS
        }
        best = min(found, key=lambda method: found[method])
        holds = holds and found["szoht"] <= 1.05 * found[best]
        notes.append(f"{name}: {LABELS[best]} {found[best]:.4g}, SZOHT {found['szoht']:.4g}")
    return truth(holds, "; ".join(notes))


def _versus(
    results: Results, *, portfolio: str, tuning: str, first: str, second: str, place: float
) -> Measured:
    """Return f of one method over f of another after ``place`` queries."""
    f = [
        float(np.median(_values(results, _curve(portfolio, tuning, m), place, "f", "queries")))
        for m in (first, second)
    ]
    note = f" ({LABELS[first]} {f[0]:.4g}, {LABELS[second]} {f[1]:.4g})"
    return number(f[0] / f[1], note)


def _sparse(results: Results, tuning: str) -> Measured:
    """Return the methods that end with at most ten assets on port5."""
    ends = {
        m: int(np.median(_values(results, _curve("port5", tuning, m), None, "l0", "queries")))
        for m in METHODS
    }
    text = ", ".join(f"{LABELS[method]} {count}" for method, count in ends.items())
    return Measured(value=[m for m, count in ends.items() if count <= K], text=f"{text} non-zeros")


def _worst_gap(results: Results, method: str, tuning: str) -> Measured:
    """Return the largest median gap to the best known ten-asset portfolio, per cent."""
    gaps = {
        name: 100
        * float(np.median(_values(results, _curve(name, tuning, method), None, "gap", "queries")))
        for name in PORTFOLIOS
    }
    return number(max(gaps.values()), " %: " + ", ".join(f"{n} {g:.3g}" for n, g in gaps.items()))


EXPERIMENT = Experiment(
    name="assets",
    title="Sparse asset management",
    where="Section 5.3, figures port3, port4 and port5",
    about=(
        "The paper's penalised risk of x / sum x on three OR-Library markets. SZOHT starts from "
        f"equal weights on {K} random assets, the dense methods from equal weights on all. The "
        "axis counts every query; the paper's counts directions only."
    ),
    jobs=_jobs,
    run=run,
    figures=_figures,
    measures={
        "at": _at,
        "relative": _relative,
        "lowest": _lowest,
        "versus": _versus,
        "sparse": _sparse,
        "worst_gap": _worst_gap,
    },
    grid=grid,
    choose=choose,
)
