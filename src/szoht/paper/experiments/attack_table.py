"""The table of attacks: success rate, l0, l2 and iterations; and a comparison with Sparse-RS."""

from collections.abc import Mapping, Sequence

import numpy as np

from szoht.paper.attack_runs import (
    DATASETS,
    attack_rows,
    image_blocks,
    paper_jobs,
    stated_settings,
    why_unavailable,
)
from szoht.paper.claims import Column
from szoht.paper.errors import NotRunError
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale
from szoht.paper.measurements import boolean, bootstrap_interval, by_name, wilson_interval
from szoht.paper.methods import METHOD_LABELS, PAPER_METHODS
from szoht.reporting.cells import ErrorBar
from szoht.reporting.figures import COLORS, subplots
from szoht.reporting.page import HtmlTable
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

VERTEX_SEARCHES = ("corner_search", "sparse_rs")
SEARCH_QUERIES = {"mnist": 2_000, "cifar10": 1_000}
"""Budgets of the vertex searches, which need fewer queries than the paper's methods."""

SEARCH_SETTINGS = {"mnist": (("coordinates", 20),), "cifar10": (("coordinates", 20), ("pixels", 5))}
"""Unit and k of the vertex searches: hard enough that not every attack succeeds."""

SEARCH_SEEDS = 3

MEASURES = ("success", "l0", "l2", "iterations")

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
"""The paper's table: success rate and l0 in percent, l2, iterations."""


def _jobs(scale: Scale) -> Sequence[Job]:
    jobs = paper_jobs("attack-table", scale, which="table")
    for name, cases in SEARCH_SETTINGS.items():
        jobs += [
            Job(
                experiment="attack-table",
                curve=_search(name, method, unit, k),
                settings={
                    "dataset": name,
                    "method": method,
                    "images": images,
                    "budget": SEARCH_QUERIES[name],
                    "unit": unit,
                    "k": k,
                },
                seed=1000 * seed + images[0],
                cost=0.2 * (images[1] - images[0]),
            )
            for unit, k in cases
            for method in VERTEX_SEARCHES
            for images in image_blocks(name, scale)
            for seed in range(SEARCH_SEEDS)
        ]
    return jobs


def _search(dataset: str, method: str, unit: str, k: int) -> str:
    return f"{dataset}, {k} {unit}: {method}"


def _column(results: Results, curve: str, name: str) -> Vector:
    return np.concatenate(results.columns(curve, name))


def _measured(results: Results, curve: str) -> dict[str, Measurement | None]:
    """Return a row of the table; all but the success rate are means over the successes, if any."""
    succeeded = _column(results, curve, "success") > 0
    row: dict[str, Measurement | None] = {"success": wilson_interval(succeeded.astype(float))}
    for name in MEASURES[1:]:
        values = _column(results, curve, name)[succeeded]
        row[name] = bootstrap_interval(values) if values.size else None
    return row


def _paper_curve(dataset: str, column: str, method: str) -> str:
    return f"{dataset}, {column}: {method}"


def _tables(results: Results) -> Sequence[HtmlTable]:
    rows: list[list[object]] = []
    for dataset, methods in PAPER_TABLE.items():
        for column in Column:
            for method in PAPER_METHODS:
                curve = _paper_curve(dataset, column, method)
                if curve in results:
                    found = _measured(results, curve)
                    count = _column(results, curve, "success").size
                    cells = _cells(found, methods[method])
                    name = METHOD_LABELS[method]
                    rows.append([DATASETS[dataset].title, column, name, count, *cells])
    caption = (
        "Measured, with 95 % intervals; in parentheses the paper's table. l0, l2 (of the change "
        "before clipping, as in the paper) and iterations are means over the successes; a dash "
        "where there was none. The networks are not the paper's, and the paper states no settings "
        "of RSPGF, ZSCG and ZORO: with its own settings SZOHT stands alone."
    )
    header = ["data", "settings", "method", "images", "ASR %", "l0 %", "l2", "iterations"]
    return [HtmlTable(header=header, rows=rows, caption=caption)]


def _cells(found: Mapping[str, Measurement | None], paper: Sequence[float]) -> list[ErrorBar]:
    cells = []
    for name, target in zip(MEASURES, paper, strict=True):
        one = found[name]
        ends = {} if one is None else {"low": one.low, "high": one.high}
        cells.append(
            ErrorBar(
                value=None if one is None else float(one.value),
                target=float(target),
                text="–" if one is None else "",  # noqa: RUF001 - a dash
                axis=(0.0, 100.0) if name in ("success", "l0") else (0.0, 2.0 * target),
                **ends,
            )
        )
    return cells


def _figures(results: Results) -> Mapping[str, Plot]:
    """Plot how many images are misclassified after so many queries, by the vertex searches."""
    cases = [(name, unit, k) for name, pairs in SEARCH_SETTINGS.items() for unit, k in pairs]
    figure, axes = subplots(rows=1, columns=len(cases), sharey=True)
    for axis, (name, unit, k) in zip(axes, cases, strict=True):
        for method, color in zip(VERTEX_SEARCHES, COLORS, strict=False):
            if (curve := _search(name, method, unit, k)) in results:
                succeeded = _column(results, curve, "success") > 0
                queries = np.sort(np.where(succeeded, _column(results, curve, "queries"), np.inf))
                reached = queries[np.isfinite(queries)]
                share = np.arange(reached.size + 1) / queries.size
                x = np.concatenate([[1.0], reached, [SEARCH_QUERIES[name]]])
                label = METHOD_LABELS[method]
                axis.step(x, np.append(share, share[-1]), where="post", color=color, label=label)
        axis.set(title=f"{DATASETS[name].title}, {k} {unit}", xlabel="queries", xscale="log")
    axes[0].set(ylabel="fraction of images misclassified", ylim=(0, 1.02))
    if axes[0].lines:  # not if only ImageNet's size was run
        axes[0].legend(frameon=False, fontsize=8)
    caption = (
        "Beyond the paper: queries to success of the default search and of Sparse-RS, at the same "
        f"number of coordinates and of pixels, within the bounds of an image, {SEARCH_SEEDS} seeds."
    )
    return {"searches": Plot(figure=figure, caption=caption)}


def _queries(results: Results, curve: str) -> Vector:
    """Return the queries to success, infinite for a failure: a row per image, a column per seed."""
    image = _column(results, curve, "image")
    succeeded = _column(results, curve, "success") > 0
    queries = np.where(succeeded, _column(results, curve, "queries"), np.inf)
    rows = [queries[image == one] for one in np.unique(image)]
    if len({row.size for row in rows}) > 1:
        raise NotRunError(f"some of the runs of {curve} are missing.")
    return np.array(rows)


def _szoht(results: Results, dataset: str, column: str) -> Measurement:
    """Return a cell of SZOHT's row with the paper's settings."""
    curve = _paper_curve(dataset, Column.STATED, "szoht")
    found = _measured(results, curve)[column]
    if found is None:
        raise NotRunError("no attack succeeded, so there is no value.")
    tried = _column(results, curve, "success")
    counts = f"{int(tried.sum())} successes on {tried.size} images"
    return Measurement(
        value=found.value, text=f"{found.text}, {counts}", low=found.low, high=found.high
    )


def _best(results: Results, dataset: str, column: str) -> Measurement:
    """Return whether SZOHT is the best of the four in a column of the table, all tuned alike.

    A method without a success takes no part, except in the success rate.
    """
    if _paper_curve(dataset, Column.TUNED, "rspgf") not in results:
        raise NotRunError(
            "the paper states no settings of the other methods, and here none were tuned."
        )
    curves = {method: _paper_curve(dataset, Column.TUNED, method) for method in PAPER_METHODS}
    count = _column(results, curves["szoht"], "success").size
    cells = {method: _measured(results, curve)[column] for method, curve in curves.items()}
    found = {method: one for method, one in cells.items() if one is not None}
    if "szoht" not in found:
        raise NotRunError("SZOHT succeeded on no image, so there is nothing to compare.")
    values = {method: float(one.value) for method, one in found.items()}
    best = max(values.values()) if column == "success" else min(values.values())
    text = ", ".join(
        f"{METHOD_LABELS[method]} {found[method].text if method in found else '–'}"  # noqa: RUF001
        for method in PAPER_METHODS
    )
    return boolean(values["szoht"] == best, f"{text}; {count} images")


def _compared_with_sparse_rs(
    results: Results, dataset: str, unit: str, k: int, column: str
) -> Measurement:
    """Return the default search's success rate minus Sparse-RS's, or the ratio of medians.

    Images are resampled, the same for both.
    """
    both = np.stack(
        [_queries(results, _search(dataset, m, unit, k)) for m in VERTEX_SEARCHES], axis=1
    )
    n_images, _, n_seeds = both.shape
    counts = f"{n_images} images, {n_seeds} seeds"
    if column == "success":
        rates = 100 * np.isfinite(both).mean(axis=2)
        found = bootstrap_interval(rates[:, 0] - rates[:, 1], unit=" points")
        mine, theirs = rates.mean(axis=0)
        text = f"{found.text}: {mine:.3g} % and {theirs:.3g} %, {counts}"
    else:
        medians = [bootstrap_interval(both[:, i], np.median) for i in (0, 1)]
        if not np.isfinite([one.value for one in medians]).all():
            raise NotRunError("a search did not succeed on half of the images.")
        found = bootstrap_interval(both, _ratio_of_medians)
        text = f"{found.text}: medians {medians[0].text} and {medians[1].text}, {counts}"
    return Measurement(value=found.value, text=text, low=found.low, high=found.high)


def _ratio_of_medians(both: Vector) -> float:
    """Return the ratio, 1 where neither search succeeds on half of the images."""
    mine, theirs = float(np.median(both[:, 0])), float(np.median(both[:, 1]))
    return 1.0 if mine == theirs else mine / theirs


def _sparse_rs_median(results: Results, dataset: str, unit: str, k: int) -> Measurement:
    """Return the median of the queries to success of Sparse-RS."""
    queries = _queries(results, _search(dataset, "sparse_rs", unit, k))
    found = bootstrap_interval(queries, np.median)
    text = f"{found.text}, {queries.shape[0]} images, {queries.shape[1]} seeds"
    return Measurement(value=found.value, text=text, low=found.low, high=found.high)


EXPERIMENT = Experiment(
    name="attack-table",
    data="Weights of two networks, MNIST and CIFAR-10; an ImageNet network's package.",
    title="Few-pixel attacks: success rates, and a comparison with Sparse-RS",
    where="Appendix, the table of attacks; the comparison is not in the paper",
    description=(
        "The table's methods on images that the networks classify correctly, and, beyond the "
        "paper, the default search and Sparse-RS. The networks are not the paper's."
    ),
    jobs=_jobs,
    run=attack_rows,
    figures=_figures,
    tables=_tables,
    stated_settings=lambda settings: stated_settings(settings, "table"),
    measures=by_name(_szoht, _best, _compared_with_sparse_rs, _sparse_rs_median),
    why_unavailable=why_unavailable,
)
