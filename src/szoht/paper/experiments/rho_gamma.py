"""Appendix "Value of rho gamma": the theorem's contraction against k, for three q."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import by_name, integers, scalar
from szoht.reporting.theory_figures import contraction_figure
from szoht.theory import Regularity, Setting, contraction

__all__ = ["EXPERIMENT"]

D, K_MAX = 30_000, 1000
DIRECTIONS = (200, 5000, 30_000)
TARGETS = range(1, 10)


def _jobs(scale: Scale) -> Sequence[Job]:
    del scale  # closed forms: the quick run is the full one
    return [
        Job(
            experiment="rho-gamma",
            curve=f"{version} q={q}",
            settings={"d": D, "k_max": K_MAX, "q": q, "version": version},
            seed=0,
            cost=0.01,
        )
        for version in ("corrected", "paper")
        for q in DIRECTIONS
    ]


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return gamma rho for every k and k*; NaN where k < k*."""
    del seed
    d, k = settings["d"], np.arange(1, settings["k_max"] + 1)
    table: Table = {"k": k.astype(np.float64)}
    for k_star in TARGETS:
        kept = k >= k_star
        setting = Setting(d=d, k=k[kept], k_star=k_star, q=settings["q"], support_size=d)
        column = np.full(k.size, np.nan)
        column[kept] = contraction(setting, Regularity(), version=settings["version"])
        table[f"k_star={k_star}"] = column
    return table


def _stated_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what Appendix F states; the formulas are those of the theorem."""
    return {"d": 30_000, "q": settings["q"], "version": "corrected"}


def _figures(results: Results) -> Mapping[str, Plot]:
    del results  # the same closed form, drawn by the function that `szoht theory` draws with
    caption = (
        f"gamma rho against k for d = {D}, full supports and kappa = 1, with the theorem's rho. "
        "Below the dashed line the theorem applies."
    )
    figure = contraction_figure(d=D, k_star=tuple(TARGETS), q=DIRECTIONS, k_max=K_MAX)
    return {"contraction": Plot(figure=figure, caption=caption)}


def _lowest(results: Results, q: int) -> Measurement:
    """Return the smallest product over all k and k*."""
    (curve,) = results.runs(f"corrected q={q}")
    return scalar(min(np.nanmin(curve.table[f"k_star={k}"]) for k in TARGETS))


def _value(results: Results, q: int, k: int, k_star: int, version: str) -> Measurement:
    """Return one point of the figure."""
    (curve,) = results.runs(f"{version} q={q}")
    return scalar(curve.table[f"k_star={k_star}"][k - 1])


def _contracting(results: Results, q: int) -> Measurement:
    """Return for how many k* some k of the figure gives a product below 1."""
    (curve,) = results.runs(f"corrected q={q}")
    possible = [k for k in TARGETS if np.nanmin(curve.table[f"k_star={k}"]) < 1]
    return Measurement(value=len(possible), text=f"k* = {integers(possible).text}")


EXPERIMENT = Experiment(
    name="rho-gamma",
    title="Contraction of the theorem against k",
    where='Appendix "Value of rho gamma depending on q and k*", its figure',
    description="Closed forms of szoht.theory; nothing is random.",
    jobs=_jobs,
    run=_run,
    figures=_figures,
    stated_settings=_stated_settings,
    measures=by_name(_lowest, _value, _contracting),
)
