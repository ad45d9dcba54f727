"""Figures port3, port4 and port5: sparse asset management, four methods and the default solver."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from szoht import problems
from szoht.paper.digitized import digitized_curves
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Job, Measurement, Results, Scale, Table
from szoht.paper.measurements import boolean, by_name, median_over_seeds, scalar
from szoht.paper.methods import METHOD_LABELS, PAPER_METHODS
from szoht.paper.portfolio_figures import figures
from szoht.paper.portfolio_runs import FULL_QUERIES, PORTFOLIOS, K, run, stated_settings
from szoht.paper.portfolio_tuning import (
    JUDGED_QUERIES,
    default_settings,
    race,
    select_settings,
    tuning_jobs,
)
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

STATED_QUERIES = 22_000
"""Queries as stated: 20,000 directions, where the paper's curves of SZOHT end, and the values at
the iterates."""

MARKETS = ("port1", "port2", *PORTFOLIOS)
"""Where the default solver is judged: all of the OR-Library's."""

STATED_SEEDS = 12
LARGE_STEP, MILD_STEP = 3.0, 1.2
"""By how much one step multiplies |x| where it throws a run out, and where it does so mildly."""

REACHED_PERCENT = 0.01
"""A gap up to this counts as the best known portfolio itself."""

COMPARABLE = 1.05
"""f within this factor of the lowest counts as comparable."""


def _jobs(scale: Scale) -> Sequence[Job]:
    found = scale.options.get("assets") or default_settings()
    jobs: list[Job] = []
    for name in MARKETS:
        budget = (
            STATED_QUERIES if scale.quick else FULL_QUERIES.get(name, min(FULL_QUERIES.values()))
        )
        jobs += _runs(f"{name} auto", budget, {}, scale.runs(quick=5, full=5))
    for name in PORTFOLIOS:
        budget = STATED_QUERIES if scale.quick else FULL_QUERIES[name]
        if stated := stated_settings(name, "szoht"):
            seeds = scale.runs(quick=STATED_SEEDS, full=STATED_SEEDS)
            jobs += _runs(f"{name} stated szoht", STATED_QUERIES, stated, seeds)
        for method in PAPER_METHODS:
            options = found[f"{name} {method}"]
            jobs += _runs(f"{name} tuned {method}", budget, options, scale.runs(quick=5, full=5))
    return jobs


def _runs(curve: str, budget: int, options: Mapping[str, Any], seeds: range) -> Iterator[Job]:
    name, *_, method = curve.split()
    settings = {"portfolio": name, "method": method, "options": dict(options), "budget": budget}
    cost = budget * (1e-4 if method == "auto" else 3e-4 / options.get("q", 20))
    for seed in seeds:
        yield Job(experiment="assets", curve=curve, settings=settings, seed=seed, cost=cost)


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return the curves of a run, or the ends of the runs of a grid."""
    return race(settings) if "grid" in settings else run(settings, seed)


def _values(
    results: Results, curve: str, place: float | None, column: str = "f", by: str = "queries"
) -> Vector:
    """Return a column at ``place``, or at the end, one entry per seed."""
    pairs = zip(results.columns(curve, by), results.columns(curve, column), strict=True)
    return np.array(
        [values[-1] if place is None else np.interp(place, x, values) for x, values in pairs]
    )


def _band(values: Vector) -> str:
    return f"{np.median(values):.3g} [{values.min():.3g}, {values.max():.3g}]"


def _relative(
    results: Results, *, portfolio: str, tuning: str, place: float, column: str = "f"
) -> Measurement:
    """Return f of SZOHT after ``place`` directions, as the paper counts, over the paper's there."""
    if tuning == "stated" and not stated_settings(portfolio, "szoht"):
        raise NotRunError(
            f"the paper states neither radius nor step for {portfolio}: see what is tuned fairly."
        )
    places, drawn = digitized_curves("assets")[portfolio]["szoht"].T
    target = float(drawn[list(places).index(place)])
    found = _values(results, f"{portfolio} {tuning} szoht", place, column, "directions")
    ratios = median_over_seeds(found / target)
    text = f"{ratios.text} times the paper's {target:g}"
    return Measurement(value=ratios.value, text=text, low=ratios.low, high=ratios.high)


def _unlike_drawn(results: Results, *, portfolio: str, place: float) -> Measurement:
    """Return `_relative` as stated, and what the runs did: slow, or thrown out by a step."""
    last = _relative(results, portfolio=portfolio, tuning="stated", place=place)
    why = f"{last.text}; {_large_steps(results, portfolio=portfolio).text}"
    return Measurement(value=last.value, text=why, low=last.low, high=last.high)


def _large_steps(results: Results, *, portfolio: str) -> Measurement:
    """Return in how many runs as stated sum x changes its sign, and what becomes of the runs."""
    curve = f"{portfolio} stated szoht"
    growth = _values(results, curve, None, "growth")
    crossed = int(np.count_nonzero(_values(results, curve, None, "sign_changes")))
    thrown = growth[growth > LARGE_STEP]
    mild = np.count_nonzero((growth > MILD_STEP) & (growth <= LARGE_STEP))
    by = f" (|x| x {thrown.min():.3g} to {thrown.max():.3g})" if thrown.size else ""
    return Measurement(
        value=crossed,
        text=(
            f"of {growth.size} runs {growth.size - thrown.size - mild} are slow, {thrown.size} are "
            f"thrown out by one large step{by}, {mild} by a milder one; sum x changes its sign in "
            f"{crossed}"
        ),
    )


def _against_drawn(results: Results, *, portfolio: str, place: float) -> Measurement:
    """Return f of SZOHT as stated over the lowest that the paper draws for the other methods.

    Theirs is between the points that were read; before the first of them, at the first.
    """
    others = {
        method: float(np.interp(place, *points.T))
        for method, points in digitized_curves("assets")[portfolio].items()
        if method != "szoht"
    }
    lowest = min(others, key=others.__getitem__)
    found = _values(results, f"{portfolio} stated szoht", place, by="directions")
    ratios = median_over_seeds(found / others[lowest])
    text = f"{ratios.text} times the {others[lowest]:g} drawn for {METHOD_LABELS[lowest]}"
    return Measurement(value=ratios.value, text=text, low=ratios.low, high=ratios.high)


def _lowest(results: Results, place: float) -> Measurement:
    """Return whether SZOHT has about the lowest f of the four after ``place`` queries, on all."""
    notes, holds = [], True
    for name in PORTFOLIOS:
        f = {m: _values(results, f"{name} tuned {m}", place) for m in PAPER_METHODS}
        medians = {method: float(np.median(values)) for method, values in f.items()}
        holds = holds and medians["szoht"] <= COMPARABLE * min(medians.values())
        notes.append(f"{name}: " + ", ".join(f"{METHOD_LABELS[m]} {_band(f[m])}" for m in f))
    return boolean(holds, "; ".join(notes))


def _lower(results: Results, *, first: str, second: str, place: float) -> Measurement:
    """Return on which markets f of one method is lower than that of another, by medians."""
    found, notes = [], []
    for name in PORTFOLIOS:
        f = {m: _values(results, f"{name} tuned {m}", place) for m in (first, second)}
        if np.median(f[first]) < np.median(f[second]):
            found.append(name)
        notes.append(f"{name}: " + ", ".join(f"{METHOD_LABELS[m]} {_band(f[m])}" for m in f))
    return Measurement(value=found, text=f"{', '.join(found) or 'none'} ({'; '.join(notes)})")


def _sparse(results: Results) -> Measurement:
    """Return the methods that end with at most ten assets on port5."""
    ends = {
        m: int(np.median(_values(results, f"port5 tuned {m}", None, "l0"))) for m in PAPER_METHODS
    }
    text = ", ".join(f"{METHOD_LABELS[method]} {count}" for method, count in ends.items())
    return Measurement(
        value=[m for m, count in ends.items() if count <= K], text=f"{text} non-zeros"
    )


def _over_tuned(results: Results, place: float) -> Measurement:
    """Return the largest ratio, over markets, of f of the default solver to SZOHT's, tuned."""
    ratios = {}
    for name in PORTFOLIOS:
        ours, tuned = (
            float(np.median(_values(results, f"{name} {one}", place)))
            for one in ("auto", "tuned szoht")
        )
        ratios[name] = ours / tuned
    return scalar(
        max(ratios.values()), " (" + ", ".join(f"{n} {r:.3g}" for n, r in ratios.items()) + ")"
    )


def _gap(results: Results, portfolio: str) -> Measurement:
    """Return the gap of the default solver to the best known ten-asset portfolio, in percent."""
    gaps = _percent(_values(results, f"{portfolio} auto", None, "gap"))
    reached = np.count_nonzero(gaps <= REACHED_PERCENT)
    found = median_over_seeds(gaps)
    return Measurement(
        value=found.value,
        text=f"{found.text} %; {reached} of {gaps.size} runs reach it ({_certificate(portfolio)})",
        low=found.low,
        high=found.high,
    )


def _percent(gaps: Vector) -> Vector:
    """Return gaps in percent, without what is rounding error of f."""
    return np.round(100 * gaps, 6) + 0.0


def _certificate(portfolio: str) -> str:
    """Return how sure the best known portfolio is."""
    return problems.portfolio(portfolio, k=K, form="raw").best_source


def _least_gap(results: Results) -> Measurement:
    """Return the least gap in percent of any run that ends with at most ten assets."""
    gaps = [
        _percent(_values(results, f"{name} {one}", None, "gap")).min()
        for name in MARKETS
        for one in ("auto", "tuned szoht")
        if f"{name} {one}" in results
    ]
    return scalar(min(gaps), " %")


EXPERIMENT = Experiment(
    name="assets",
    data="The OR-Library's portfolios, in this package.",
    title="Sparse asset management",
    where="Section 5.3, figures port3, port4 and port5",
    description=(
        "The paper's penalized risk of x / sum x on three OR-Library markets, and for the default "
        f"solver on all five. SZOHT starts from equal weights on {K} random assets, the dense "
        "methods from equal weights on all. As in the paper: SZOHT on port4 and port5, with all "
        "that the paper states; it states neither radius nor step for port3, and no parameter of "
        "the other methods. Tuned fairly: one grid search for all four methods, in which a "
        f"setting counts as its worst of three seeds after {JUDGED_QUERIES:,} queries; other "
        "seeds judge."
    ),
    jobs=_jobs,
    run=_run,
    figures=figures,
    measures=by_name(
        _relative,
        _unlike_drawn,
        _large_steps,
        _against_drawn,
        _lowest,
        _lower,
        _sparse,
        _over_tuned,
        _gap,
        _least_gap,
    ),
    tuning_jobs=tuning_jobs,
    select_settings=select_settings,
)
