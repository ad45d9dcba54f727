"""Figures of section 5.3: the margin against queries on three sizes of images."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from szoht.paper.attack_runs import (
    DATASETS,
    attack_rows,
    margins,
    paper_jobs,
    stated_settings,
    why_unavailable,
)
from szoht.paper.attack_tuning import TUNED_QUERIES, attack_tuning_jobs, select_attack_settings
from szoht.paper.claims import Column
from szoht.paper.digitized import digitized_curves
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Measurement, Plot, Results
from szoht.paper.measurements import boolean, bootstrap_interval, by_name
from szoht.paper.methods import METHOD_LABELS, PAPER_METHODS
from szoht.paper.plotting import paired_plot
from szoht.reporting.figures import COLORS
from szoht.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EXPERIMENT"]


def _margins(results: Results, dataset: str, column: str, method: str) -> tuple[Vector, Vector]:
    return margins(results.runs(f"{dataset}, {column}: {method}"))


def _figures(results: Results) -> Mapping[str, Plot]:
    plots = {}
    for name, dataset in DATASETS.items():
        for column in Column:
            if f"{name}, {column}: szoht" not in results:
                continue
            points = digitized_curves("attacks")[name]
            if column is Column.STATED:
                points = {"szoht": points["szoht"]}
            plots[f"{name}-{column.name.lower()}"] = paired_plot(
                partial(_draw, results=results, dataset=name, column=column),
                {method: _relative(curve) for method, curve in points.items()},
                labels={method: METHOD_LABELS[method] for method in PAPER_METHODS},
                title=f"{dataset.title}, {column}",
                caption=_caption(results, name, column),
                xlabel="queries",
                ylabel="margin over that of the image, mean",
            )
    return plots


def _relative(points: Vector) -> Vector:
    return np.column_stack([points[:, 0], points[:, 1] / points[0, 1]])


def _draw(axes: "Axes", *, results: Results, dataset: str, column: Column) -> None:
    for method, color in zip(PAPER_METHODS, COLORS, strict=False):
        if f"{dataset}, {column}: {method}" not in results:
            continue
        x, rows = _margins(results, dataset, column, method)
        axes.plot(x, rows.mean(axis=0), color=color, linewidth=1.6, label=METHOD_LABELS[method])
        if len(rows) > 1:
            error = 1.96 * rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
            mean = rows.mean(axis=0)
            axes.fill_between(x, mean - error, mean + error, color=color, alpha=0.2, linewidth=0)


def _caption(results: Results, dataset: str, column: Column) -> str:
    count = len(_margins(results, dataset, column, "szoht")[1])
    scale = "probabilities" if DATASETS[dataset].scores == "probs" else "logits"
    which = (
        "SZOHT with the settings that the paper states; it states none of the other methods."
        if column is Column.STATED
        else "All four methods tuned alike, on images that are not shown here."
    )
    return (
        f"{which} The Carlini-Wagner margin of {scale} at the current iterate, mean over {count} "
        "images with its 95 % interval; 0 once an attack has succeeded. The networks are not the "
        "paper's, so margins are shown relative to that of the unchanged image."
    )


def _fastest(results: Results, dataset: str) -> Measurement:
    """Return whether no method has a significantly lower mean margin than SZOHT, tuned alike."""
    if dataset not in TUNED_QUERIES:
        raise NotRunError(
            "the paper states no settings of the other methods, and at this size none were tuned."
        )
    means = {}
    for method in PAPER_METHODS:
        x, rows = _margins(results, dataset, Column.TUNED, method)
        means[method] = rows[:, x <= TUNED_QUERIES[dataset]].mean(axis=1)
    order = sorted(means, key=lambda method: float(means[method].mean()))
    ahead = {
        method: bootstrap_interval(means["szoht"] - means[method]).low
        for method in order[: order.index("szoht")]
    }
    text = ", ".join(
        f"{METHOD_LABELS[method]} {bootstrap_interval(means[method]).text}" for method in order
    )
    holds = all(low is not None and low <= 0 for low in ahead.values())
    where = f"over {TUNED_QUERIES[dataset]:,} queries, {means['szoht'].size} images"
    return boolean(holds, f"mean margin over its start {where}: {text}")


def _margin_after(results: Results, dataset: str, directions: int) -> Measurement:
    """Return SZOHT's margin just after so many directions, as stated, relative to its start."""
    x, rows = _margins(results, dataset, Column.STATED, "szoht")
    q = int(DATASETS[dataset].figure["q"])
    place = int(np.searchsorted(x, directions // q * (q + 1) + 1))
    if place >= x.size:
        raise NotRunError(f"the curve ends at {x[-1]:g} queries, before {directions} directions.")
    found = bootstrap_interval(rows[:, place])
    return Measurement(
        value=found.value, text=f"{found.text}, {len(rows)} images", low=found.low, high=found.high
    )


EXPERIMENT = Experiment(
    name="attacks",
    data="Weights of two networks, MNIST and CIFAR-10; an ImageNet network's package.",
    title="Few-pixel attacks: the margin against queries",
    where="Section 5.3, the figures of MNIST, CIFAR-10 and ImageNet",
    description=(
        "Four methods lower the margin of a classifier by sparse changes of an image, from scores "
        "alone. The networks are not the paper's. In the column 'as in the paper' SZOHT stands "
        "alone: of the other methods the paper states no parameter."
    ),
    jobs=lambda scale: paper_jobs("attacks", scale, which="figure"),
    run=attack_rows,
    figures=_figures,
    stated_settings=lambda settings: stated_settings(settings, "figure"),
    measures=by_name(_fastest, _margin_after),
    why_unavailable=why_unavailable,
    tuning_jobs=attack_tuning_jobs,
    select_settings=select_attack_settings,
)
