"""Figures of section 5.2: the margin against queries on three sizes of images."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from szoht.paper.attack_runs import DATASETS, LABELS, METHODS, attacked, unavailable
from szoht.paper.experiment import Drawing, Experiment, Job, Measured, Results, Scale, Table
from szoht.paper.measuring import over_seeds, truth
from szoht.reporting.drawing import COLOURS, panels
from szoht.types import Vector

__all__ = ["EXPERIMENT"]

ROWS = 201


def _jobs(scale: Scale) -> Sequence[Job]:
    jobs = []
    for name, dataset in DATASETS.items():
        budget = dataset.quick_budget if scale.quick else dataset.budget
        images = {"mnist": (3, 10), "cifar10": (2, 10), "imagenet": (1, 2)}[name]
        for method in METHODS:
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
    """Return the margin at the newest iterate against queries; 0 after the success."""
    name, budget = settings["dataset"], settings["budget"]
    result = attacked(
        name,
        settings["method"],
        settings["image"],
        budget=budget,
        seed=seed,
        unit="coordinates",
        k=DATASETS[name].k,
    )
    grid = np.linspace(0, budget, ROWS)
    queries = np.asarray(result.history["queries"], dtype=np.float64)
    values = np.asarray(result.history["value"], dtype=np.float64)
    place = np.searchsorted(queries, grid, side="right") - 1
    f = np.where(place >= 0, values[np.maximum(place, 0)], values[0])
    if result.success:
        f[grid >= result.queries] = 0.0
    spent = np.full(ROWS, result.queries if result.success else np.inf)
    return {"queries": grid, "f": f, "to_success": np.minimum(spent, 2.0 * budget)}


def _figures(results: Results) -> Mapping[str, Drawing]:
    figure, axes = panels(rows=1, columns=3)
    for axis, (name, dataset) in zip(axes, DATASETS.items(), strict=True):
        for method, colour in zip(METHODS, COLOURS, strict=False):
            if (curve := f"{name} {method}") in results:
                x = results.columns(curve, "queries")[0]
                f = np.mean(results.columns(curve, "f"), axis=0)
                axis.plot(x, f, color=colour, linewidth=1.6, label=LABELS[method])
        axis.set(title=f"{dataset.title}, d = {dataset.d:,}", xlabel="queries", ylim=(0, None))
    axes[0].set(ylabel="margin $f$, mean over images")
    axes[0].legend(frameon=False, fontsize=8)
    caption = (
        "The Carlini-Wagner margin at the newest iterate, mean over images; 0 once an attack has "
        "succeeded. Logits for MNIST and CIFAR-10, probabilities for ImageNet's size. The paper's "
        "networks were not published: a small convolutional network, a ResNet-20 and an "
        "EfficientNet-Lite0 take their place, so orders and ratios can be compared and values not."
    )
    return {"curves": Drawing(figure=figure, caption=caption)}


def _areas(results: Results, dataset: str) -> dict[str, Vector]:
    """Return the mean of f over the run, relative to its start, one entry per image."""
    return {
        method: np.array([f.mean() / f[0] for f in results.columns(f"{dataset} {method}", "f")])
        for method in METHODS
    }


def _fastest(results: Results, dataset: str) -> Measured:
    """Return whether SZOHT has the smallest mean of f over the queries."""
    means = {method: float(values.mean()) for method, values in _areas(results, dataset).items()}
    order = sorted(means, key=means.__getitem__)
    text = ", ".join(f"{LABELS[method]} {means[method]:.3g}" for method in order)
    return truth(order[0] == "szoht", f"mean f over the run, relative to the start: {text}")


def _falls(results: Results, dataset: str) -> Measured:
    """Return f of SZOHT at the end of the run, relative to its start."""
    f = results.columns(f"{dataset} szoht", "f")
    return over_seeds(np.array([one[-1] / one[0] for one in f]))


EXPERIMENT = Experiment(
    name="attacks",
    title="Few-pixel attacks: the margin against queries",
    where="Section 5.2, the figures of MNIST, CIFAR-10 and ImageNet",
    about=(
        "Four methods lower the margin of a classifier by sparse changes of an image, from scores "
        "alone. The networks are not the paper's."
    ),
    jobs=_jobs,
    run=_run,
    figures=_figures,
    measures={"fastest": _fastest, "falls": _falls},
    unavailable=unavailable,
)
