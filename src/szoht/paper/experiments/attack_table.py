"""The table of attacks: success rate, l0, l2 and iterations; and a comparison with Sparse-RS."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht.paper.attack_runs import (
    DATASETS,
    VERTEX_SEARCHES,
    attack_image,
    attack_measures,
    why_unavailable,
)
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import boolean, by_name, scalar
from szoht.paper.methods import METHOD_LABELS, PAPER_METHODS
from szoht.paper.recording import table_from_rows
from szoht.reporting.figures import COLORS, subplots
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

IMAGES_PER_JOB = 5
IMAGES = {"mnist": (20, 100), "cifar10": (10, 100), "imagenet": (1, 5)}
SEARCH_QUERIES = {"mnist": 2_000, "cifar10": 1_000}
"""Budgets of the vertex searches, which need fewer queries than the paper's methods."""

SEARCH_SETTINGS = {"mnist": (("coordinates", 20),), "cifar10": (("coordinates", 20), ("pixels", 5))}
"""Unit and k of the vertex searches: hard enough that not every attack succeeds."""

PAPER_TABLE = {
    "mnist": {
        "rspgf": (78, 100, 10.9, 67),
        "zoro": (75, 100, 15.1, 550),
        "zscg": (79, 100, 10.3, 252),
        "szoht": (79, 2.5, 8.5, 36),
    },
    "cifar10": {
        "rspgf": (83, 100, 4.1, 326),
        "zoro": (86, 100, 62.9, 592),
        "zscg": (86, 100, 8.4, 126),
        "szoht": (91, 1.9, 2.6, 26),
    },
    "imagenet": {
        "rspgf": (91, 100, 19.9, 137),
        "zoro": (90, 100, 111.9, 674),
        "zscg": (76, 100, 111.3, 277),
        "szoht": (95, 37.3, 10.5, 61),
    },
}
"""Success rate and l0 in percent, l2, iterations: the paper's table."""


def _curve(dataset: str, method: str, unit: str, k: int) -> str:
    return f"{dataset} {method}" if method in PAPER_METHODS else f"{dataset} {method} {k} {unit}"


def _jobs(scale: Scale) -> Sequence[Job]:
    jobs = []
    for name, dataset in DATASETS.items():
        count = IMAGES[name][0 if scale.quick else 1]
        budget = dataset.quick_budget if scale.quick else dataset.budget
        wanted = [(method, "coordinates", dataset.k, budget) for method in PAPER_METHODS]
        searches = VERTEX_SEARCHES[:2] if scale.quick else VERTEX_SEARCHES
        for unit, k in SEARCH_SETTINGS.get(name, ()):
            wanted += [(method, unit, k, SEARCH_QUERIES[name]) for method in searches]
        jobs += [
            Job(
                experiment="attack-table",
                curve=_curve(name, method, unit, k),
                settings={
                    "dataset": name,
                    "method": method,
                    "unit": unit,
                    "k": k,
                    "images": [start, min(start + IMAGES_PER_JOB, count)],
                    "budget": queries,
                    "options": dict(dataset.settings.get(method, {})),
                },
                seed=start,
                cost=queries * dataset.seconds * min(IMAGES_PER_JOB, count - start) / 4,
            )
            for method, unit, k, queries in wanted
            for start in range(0, count, IMAGES_PER_JOB)
        ]
    return jobs


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return one row per image."""
    images = list(range(*settings["images"]))
    rows = [
        attack_measures(
            attack_image(
                settings["dataset"],
                settings["method"],
                image,
                budget=settings["budget"],
                seed=seed + image,
                unit=settings["unit"],
                k=settings["k"],
            )
        )
        for image in images
    ]
    return {"image": np.array(images, dtype=np.float64), **table_from_rows(rows)}


def _concatenated(results: Results, curve: str, column: str) -> Vector:
    return np.concatenate(results.columns(curve, column))


def _row(results: Results, dataset: str, method: str) -> tuple[float, float, float, float]:
    """Return the success rate and l0 in percent, l2 and iterations of the successes."""
    curve = f"{dataset} {method}"
    succeeded = _concatenated(results, curve, "success") > 0
    if not succeeded.any():
        return 0.0, float(_concatenated(results, curve, "l0").mean()), float("inf"), float("inf")
    columns = (
        _concatenated(results, curve, name)[succeeded].mean() for name in ("l0", "l2", "iterations")
    )
    l0, l2, iterations = (float(value) for value in columns)
    return 100 * float(succeeded.mean()), l0, l2, iterations


def _figures(results: Results) -> Mapping[str, Plot]:
    figure, axes = subplots(rows=1, columns=1, size=(8.4, 4.4))
    axis = axes[0]
    axis.axis("off")
    heads = ("", "images", "ASR %", "l0 %", "l2", "iterations")
    cells = []
    for dataset, methods in PAPER_TABLE.items():
        for method in PAPER_METHODS:
            if f"{dataset} {method}" not in results:
                continue
            count = _concatenated(results, f"{dataset} {method}", "success").size
            row = zip(_row(results, dataset, method), methods[method], strict=True)
            title = f"{DATASETS[dataset].title} {METHOD_LABELS[method]}"
            cells.append([title, str(count), *(f"{ours:.3g} ({paper:g})" for ours, paper in row)])
    table = axis.table(cells, colLabels=heads, loc="center", cellLoc="center")
    table.auto_set_font_size(value=False)
    table.set_fontsize(8)
    table.auto_set_column_width(list(range(len(heads))))
    for place, cell in table.get_celld().items():
        cell.set_linewidth(0.3)
        if place[0] == 0:
            cell.set_text_props(weight="bold")
    caption = (
        "Measured here, with the paper's values in parentheses. Means over the successes; l0 and "
        "l2 of the change before clipping, as in the paper. The networks are not the paper's."
    )
    plots = {"table": Plot(figure=figure, caption=caption)}
    plots["searches"] = _search_figure(results)
    return plots


def _search_figure(results: Results) -> Plot:
    cases = [(name, unit, k) for name, pairs in SEARCH_SETTINGS.items() for unit, k in pairs]
    figure, axes = subplots(rows=1, columns=len(cases), sharey=True)
    for axis, (name, unit, k) in zip(axes, cases, strict=True):
        for method, color in zip(VERTEX_SEARCHES, COLORS, strict=False):
            if (curve := _curve(name, method, unit, k)) in results:
                queries = np.sort(_queries(results, curve))
                share = np.arange(1, queries.size + 1) / queries.size
                x = np.concatenate([[1.0], queries[np.isfinite(queries)], [SEARCH_QUERIES[name]]])
                y = np.concatenate([[0.0], share[np.isfinite(queries)]])
                axis.step(
                    x, np.append(y, y[-1]), where="post", color=color, label=METHOD_LABELS[method]
                )
        axis.set(title=f"{DATASETS[name].title}, {k} {unit}", xlabel="queries", xscale="log")
    axes[0].set(ylabel="fraction of images misclassified", ylim=(0, 1.02))
    axes[0].legend(frameon=False, fontsize=8)
    caption = (
        "Beyond the paper: queries to success of the default search and of Sparse-RS, at the same "
        "number of coordinates and of pixels, within the bounds of an image."
    )
    return Plot(figure=figure, caption=caption)


def _queries(results: Results, curve: str) -> Vector:
    succeeded = _concatenated(results, curve, "success") > 0
    return np.where(succeeded, _concatenated(results, curve, "queries"), np.inf)


def _l0(results: Results, dataset: str) -> Measurement:
    return scalar(_row(results, dataset, "szoht")[1], " %")


def _best(results: Results, dataset: str, column: str) -> Measurement:
    """Return whether SZOHT is the best of the four in a column of the table."""
    place = ("success", "l0", "l2", "iterations").index(column)
    rows = {method: _row(results, dataset, method) for method in PAPER_METHODS}
    values = {method: row[place] for method, row in rows.items()}
    if column != "l0" and not any(row[0] for row in rows.values()):
        raise NotRunError("no method succeeded, so there is nothing to compare.")
    best = max(values.values()) if column == "success" else min(values.values())
    text = ", ".join(f"{METHOD_LABELS[method]} {value:.3g}" for method, value in values.items())
    return boolean(values["szoht"] == best, text)


def _compared_with_sparse_rs(
    results: Results, dataset: str, unit: str, k: int, column: str
) -> Measurement:
    """Return the default search's success rate minus Sparse-RS's, or the ratio of medians."""
    ours, theirs = (
        _queries(results, _curve(dataset, method, unit, k))
        for method in ("corner_search", "sparse_rs")
    )
    if column == "success":
        rates = [100 * float(np.isfinite(one).mean()) for one in (ours, theirs)]
        text = f"{rates[0]:.0f} % and {rates[1]:.0f} % of {ours.size} images"
        return Measurement(value=rates[0] - rates[1], text=text)
    medians = float(np.median(ours)), float(np.median(theirs))
    if not np.isfinite(medians[0]):
        raise NotRunError("the search did not succeed on half of the images.")
    return Measurement(value=medians[0] / medians[1], text=f"{medians[0]:.4g} and {medians[1]:.4g}")


EXPERIMENT = Experiment(
    name="attack-table",
    data="Weights of two networks, MNIST and CIFAR-10; an ImageNet network's package.",
    title="Few-pixel attacks: success rates, and a comparison with Sparse-RS",
    where="Section 5.2, the table of attacks; the comparison is not in the paper",
    description=(
        "The table's four methods on images that the networks classify correctly, and, beyond the "
        "paper, the default search and Sparse-RS. The networks are not the paper's."
    ),
    jobs=_jobs,
    run=_run,
    figures=_figures,
    measures=by_name(_l0, _best, _compared_with_sparse_rs),
    why_unavailable=why_unavailable,
)
