"""Figures of section 5.2: the margin against queries on three sizes of images."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht.paper.attack_runs import DATASETS, attack_image, why_unavailable
from szoht.paper.experiment import Experiment, Job, Measurement, Plot, Results, Scale, Table
from szoht.paper.measurements import boolean, by_name, median_over_seeds
from szoht.paper.methods import METHOD_LABELS, PAPER_METHODS
from szoht.reporting.figures import COLORS, subplots
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

GRID_POINTS = 201


def _jobs(scale: Scale) -> Sequence[Job]:
    jobs = []
    for name, dataset in DATASETS.items():
        budget = dataset.quick_budget if scale.quick else dataset.budget
        images = {"mnist": (3, 10), "cifar10": (2, 10), "imagenet": (1, 2)}[name]
        for method in PAPER_METHODS:
            jobs += [
                Job(
                    experiment="attacks",
                    curve=f"{name} {method}",
                    settings={
                        "dataset": name,
                        "method": method,
                        "image": image,
                        "budget": budget,
                        "options": dict(dataset.settings[method]),
                    },
                    seed=image,
                    cost=budget * dataset.seconds,
                )
                for image in scale.runs(quick=images[0], full=images[1])
            ]
    return jobs


def _run(settings: Mapping[str, Any], seed: int) -> Table:
    """Return the margin at the current iterate against queries; 0 after the success."""
    name, budget = settings["dataset"], settings["budget"]
    result = attack_image(
        name,
        settings["method"],
        settings["image"],
        budget=budget,
        seed=seed,
        unit="coordinates",
        k=DATASETS[name].k,
    )
    grid = np.linspace(0, budget, GRID_POINTS)
    queries = np.asarray(result.history["queries"], dtype=np.float64)
    values = np.asarray(result.history["value"], dtype=np.float64)
    place = np.searchsorted(queries, grid, side="right") - 1
    f = np.where(place >= 0, values[np.maximum(place, 0)], values[0])
    if result.success:
        f[grid >= result.queries] = 0.0
    spent = np.full(GRID_POINTS, result.queries if result.success else np.inf)
    return {"queries": grid, "f": f, "to_success": np.minimum(spent, 2.0 * budget)}


def _figures(results: Results) -> Mapping[str, Plot]:
    figure, axes = subplots(rows=1, columns=3)
    for axis, (name, dataset) in zip(axes, DATASETS.items(), strict=True):
        for method, color in zip(PAPER_METHODS, COLORS, strict=False):
            if (curve := f"{name} {method}") in results:
                x = results.columns(curve, "queries")[0]
                f = np.mean(results.columns(curve, "f"), axis=0)
                axis.plot(x, f, color=color, linewidth=1.6, label=METHOD_LABELS[method])
        axis.set(title=f"{dataset.title}, d = {dataset.d:,}", xlabel="queries", ylim=(0, None))
    axes[0].set(ylabel="margin $f$, mean over images")
    axes[0].legend(frameon=False, fontsize=8)
    caption = (
        "The Carlini-Wagner margin at the current iterate, mean over images; 0 once an attack has "
        "succeeded. Logits for MNIST and CIFAR-10, probabilities for ImageNet's size. The paper's "
        "networks were not published: a small convolutional network, a ResNet-20 and an "
        "EfficientNet-Lite0 are used instead, so orders and ratios can be compared, but not values."
    )
    return {"curves": Plot(figure=figure, caption=caption)}


def _areas(results: Results, dataset: str) -> dict[str, Vector]:
    """Return the mean of f over the run, relative to its start, one entry per image."""
    return {
        method: np.array([f.mean() / f[0] for f in results.columns(f"{dataset} {method}", "f")])
        for method in PAPER_METHODS
    }


def _fastest(results: Results, dataset: str) -> Measurement:
    """Return whether SZOHT has the smallest mean of f over the queries."""
    means = {method: float(values.mean()) for method, values in _areas(results, dataset).items()}
    order = sorted(means, key=means.__getitem__)
    text = ", ".join(f"{METHOD_LABELS[method]} {means[method]:.3g}" for method in order)
    return boolean(order[0] == "szoht", f"mean f over the run, relative to the start: {text}")


def _final_ratio(results: Results, dataset: str) -> Measurement:
    """Return f of SZOHT at the end of the run, relative to its start."""
    f = results.columns(f"{dataset} szoht", "f")
    return median_over_seeds(np.array([one[-1] / one[0] for one in f]))


EXPERIMENT = Experiment(
    name="attacks",
    data="Weights of two networks, MNIST and CIFAR-10; an ImageNet network's package.",
    title="Few-pixel attacks: the margin against queries",
    where="Section 5.2, the figures of MNIST, CIFAR-10 and ImageNet",
    description=(
        "Four methods lower the margin of a classifier by sparse changes of an image, from scores "
        "alone. The networks are not the paper's."
    ),
    jobs=_jobs,
    run=_run,
    figures=_figures,
    measures=by_name(_fastest, _final_ratio),
    why_unavailable=why_unavailable,
)
