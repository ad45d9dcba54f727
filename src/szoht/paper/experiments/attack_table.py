"""The table of attacks: success rate, l0, l2 and iterations; and a comparison with Sparse-RS."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht.paper.attack_runs import (
    DATASETS,
    LABELS,
    METHODS,
    SEARCHES,
    as_table,
    attacked,
    measures,
    unavailable,
)
from szoht.paper.experiment import (
    Drawing,
    Experiment,
    Job,
    Measured,
    NotRunError,
    Results,
    Scale,
    Table,
)
from szoht.paper.measuring import number, truth
from szoht.reporting.drawing import COLOURS, panels
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

BLOCK = 5
IMAGES = {"mnist": (20, 100), "cifar10": (10, 100), "imagenet": (1, 5)}
BUDGETS = {"mnist": 2_000, "cifar10": 1_000}
"""Of the searches, which need fewer queries than the paper's methods."""

CASES = {"mnist": (("coordinates", 20),), "cifar10": (("coordinates", 20), ("pixels", 5))}
"""What the searches may change, so that it is not always easy."""

PAPER = {
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
    return f"{dataset} {method}" if method in METHODS else f"{dataset} {method} {k} {unit}"


def _jobs(scale: Scale) -> Sequence[Job]:
    jobs = []
    for name, dataset in DATASETS.items():
        count = IMAGES[name][0 if scale.quick else 1]
        budget = dataset.quick_budget if scale.quick else dataset.budget
        wanted = [(method, "coordinates", dataset.k, budget) for method in METHODS]
        searches = SEARCHES[:2] if scale.quick else SEARCHES
        for unit, k in CASES.get(name, ()):
            wanted += [(method, unit, k, BUDGETS[name]) for method in searches]
        jobs += [
            Job(
                experiment="attack-table",
                curve=_curve(name, method, unit, k),
                settings={
                    "dataset": name,
                    "method": method,
                    "unit": unit,
                    "k": k,
                    "images": [start, min(start + BLOCK, count)],
                    "budget": queries,
                    "options": dict(dataset.settings.get(method, {})),
                },
                seed=start,
                cost=queries * dataset.seconds * min(BLOCK, count - start) / 4,
            )
            for method, unit, k, queries in wanted
            for start in range(0, count, BLOCK)
        ]
    return jobs


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return one row per image."""
    images = list(range(*settings["images"]))
    rows = [
        measures(
            attacked(
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
    return as_table(rows, "image", images)


def _all(results: Results, curve: str, column: str) -> Vector:
    return np.concatenate(results.columns(curve, column))


def _row(results: Results, dataset: str, method: str) -> tuple[float, float, float, float]:
    """Return the success rate and l0 in percent, l2 and iterations of the successes."""
    curve = f"{dataset} {method}"
    won = _all(results, curve, "success") > 0
    if not won.any():
        return 0.0, float(_all(results, curve, "l0").mean()), float("inf"), float("inf")
    columns = (_all(results, curve, name)[won].mean() for name in ("l0", "l2", "iterations"))
    l0, l2, iterations = (float(value) for value in columns)
    return 100 * float(won.mean()), l0, l2, iterations


def _figures(results: Results) -> Mapping[str, Drawing]:
    figure, axes = panels(rows=1, columns=1, size=(8.4, 4.4))
    axis = axes[0]
    axis.axis("off")
    heads = ("", "images", "ASR %", "l0 %", "l2", "iterations")
    cells = []
    for dataset, methods in PAPER.items():
        for method in METHODS:
            if f"{dataset} {method}" not in results:
                continue
            count = _all(results, f"{dataset} {method}", "success").size
            row = zip(_row(results, dataset, method), methods[method], strict=True)
            title = f"{DATASETS[dataset].title} {LABELS[method]}"
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
        "Measured here, and in brackets the paper's. Means over the successes; l0 and l2 of the "
        "change before it is clipped, as in the paper. The networks are not the paper's."
    )
    drawings = {"table": Drawing(figure=figure, caption=caption)}
    drawings["searches"] = _search_figure(results)
    return drawings


def _search_figure(results: Results) -> Drawing:
    cases = [(name, unit, k) for name, listed in CASES.items() for unit, k in listed]
    figure, axes = panels(rows=1, columns=len(cases), sharey=True)
    for axis, (name, unit, k) in zip(axes, cases, strict=True):
        for method, colour in zip(SEARCHES, COLOURS, strict=False):
            if (curve := _curve(name, method, unit, k)) in results:
                queries = np.sort(_queries(results, curve))
                share = np.arange(1, queries.size + 1) / queries.size
                x = np.concatenate([[1.0], queries[np.isfinite(queries)], [BUDGETS[name]]])
                y = np.concatenate([[0.0], share[np.isfinite(queries)]])
                axis.step(x, np.append(y, y[-1]), where="post", color=colour, label=LABELS[method])
        axis.set(title=f"{DATASETS[name].title}, {k} {unit}", xlabel="queries", xscale="log")
    axes[0].set(ylabel="share of images led astray", ylim=(0, 1.02))
    axes[0].legend(frameon=False, fontsize=8)
    caption = (
        "Beyond the paper: queries to success of the default search and of Sparse-RS, at the same "
        "number of coordinates and of pixels, within the bounds of an image."
    )
    return Drawing(figure=figure, caption=caption)


def _queries(results: Results, curve: str) -> Vector:
    won = _all(results, curve, "success") > 0
    return np.where(won, _all(results, curve, "queries"), np.inf)


def _l0(results: Results, dataset: str) -> Measured:
    return number(_row(results, dataset, "szoht")[1], " %")


def _best(results: Results, dataset: str, column: str) -> Measured:
    """Return whether SZOHT is the best of the four in a column of the table."""
    place = ("success", "l0", "l2", "iterations").index(column)
    rows = {method: _row(results, dataset, method) for method in METHODS}
    values = {method: row[place] for method, row in rows.items()}
    if column != "l0" and not any(row[0] for row in rows.values()):
        raise NotRunError("no method succeeded, so there is nothing to compare.")
    best = max(values.values()) if column == "success" else min(values.values())
    text = ", ".join(f"{LABELS[method]} {value:.3g}" for method, value in values.items())
    return truth(values["szoht"] == best, text)


def _against(results: Results, dataset: str, unit: str, k: int, column: str) -> Measured:
    """Return the default search's success rate minus Sparse-RS's, or the ratio of medians."""
    ours, theirs = (
        _queries(results, _curve(dataset, method, unit, k))
        for method in ("corner_search", "sparse_rs")
    )
    if column == "success":
        rates = [100 * float(np.isfinite(one).mean()) for one in (ours, theirs)]
        text = f"{rates[0]:.0f} % and {rates[1]:.0f} % of {ours.size} images"
        return Measured(value=rates[0] - rates[1], text=text)
    medians = float(np.median(ours)), float(np.median(theirs))
    if not np.isfinite(medians[0]):
        raise NotRunError("the search did not succeed on half of the images.")
    return Measured(value=medians[0] / medians[1], text=f"{medians[0]:.4g} and {medians[1]:.4g}")


EXPERIMENT = Experiment(
    name="attack-table",
    title="Few-pixel attacks: success rates, and a comparison with Sparse-RS",
    where="Section 5.2, the table of attacks; the comparison is not in the paper",
    about=(
        "The table's four methods on images that the networks classify correctly, and, beyond the "
        "paper, the default search beside Sparse-RS. The networks are not the paper's."
    ),
    jobs=_jobs,
    run=_run,
    figures=_figures,
    measures={"l0": _l0, "best": _best, "against": _against},
    unavailable=unavailable,
)
