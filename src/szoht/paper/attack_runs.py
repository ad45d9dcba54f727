"""Shared by the two experiments on attacks: images, networks, the paper's settings, the runs."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from szoht import algorithms
from szoht.applications.attack import AttackResult, attack_many
from szoht.applications.attack.datasets import (
    ClassifiedImages,
    load_cifar10,
    load_imagenet,
    load_mnist,
)
from szoht.core.algorithm import Algorithm
from szoht.core.validation import check_choice
from szoht.errors import SzohtError
from szoht.paper.claims import Column
from szoht.paper.experiment import Curve, Job, Scale, Table
from szoht.paper.methods import PAPER_METHODS
from szoht.paper.recording import table_from_rows
from szoht.types import Vector

__all__ = [
    "DATASETS",
    "Dataset",
    "attack_rows",
    "image_blocks",
    "margins",
    "paper_jobs",
    "stated_settings",
    "tuned_attacks",
    "why_unavailable",
]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Images and a network, the settings that the paper states for SZOHT, and the sizes of runs.

    The paper states nothing about the other methods, nor a number of images. ``budget`` is where
    the axis of its figure ends, or for ImageNet's size where the curve of SZOHT does.
    """

    title: str
    d: int
    k: int
    load: Callable[[], ClassifiedImages]
    figure: Mapping[str, float]
    table: Mapping[str, float]
    budget: int
    images: int
    quick_images: int
    images_per_job: int
    batch_size: int
    seconds: float
    """Estimated time of one query."""
    scores: str = "logits"

    def __repr__(self) -> str:
        # the cache is keyed by it: what else changes a result is among the settings of its job
        return f"Dataset({self.title!r}, batch_size={self.batch_size}, scores={self.scores!r})"


DATASETS = {
    "mnist": Dataset(
        title="MNIST",
        d=784,
        k=20,
        load=load_mnist,
        figure={"q": 100, "support_size": 100, "mu": 0.3, "step_size": 1.0},
        table={"q": 10, "support_size": 10, "mu": 0.3, "step_size": 1.0},
        budget=10_000,
        images=100,
        quick_images=10,
        images_per_job=20,
        batch_size=128,
        seconds=1e-4,
    ),
    "cifar10": Dataset(
        title="CIFAR-10",
        d=3072,
        k=60,
        load=load_cifar10,
        figure={"q": 1000, "support_size": 100, "mu": 1e-3, "step_size": 0.01},
        table={"q": 1000, "support_size": 100, "mu": 1e-3, "step_size": 0.01},
        budget=4_004,
        images=100,
        quick_images=4,
        images_per_job=10,
        batch_size=128,
        seconds=1.3e-3,
    ),
    "imagenet": Dataset(
        title="ImageNet size",
        d=268_203,
        k=100_000,
        load=load_imagenet,
        figure={"q": 100, "support_size": 1000, "mu": 0.01, "step_size": 0.015},
        table={"q": 100, "support_size": 20_000, "mu": 0.01, "step_size": 0.015},
        budget=4_040,
        images=18,
        quick_images=1,
        images_per_job=1,
        batch_size=1,
        seconds=0.05,
        scores="probs",
    ),
}

GRID_POINTS = 201
QUICK_SHARE = 4
"""Quick runs have this part of the queries."""


def paper_jobs(experiment: str, scale: Scale, *, which: str) -> list[Job]:
    """Return the jobs of the paper's methods in both columns.

    ``which`` of the paper's settings are meant, "figure" or "table". Where they agree, and in the
    tuned column, figure and table show the same runs.
    """
    for name in scale.datasets:
        check_choice("dataset", name, tuple(DATASETS))
    found = tuned_attacks() | dict(scale.options.get("attacks") or {})
    jobs = []
    for name, dataset in DATASETS.items():
        stated = dict(getattr(dataset, which))
        wanted = [(Column.STATED, "szoht", stated)]
        if name in found:
            wanted += [(Column.TUNED, method, found[name][method]) for method in PAPER_METHODS]
        budget = dataset.budget // (QUICK_SHARE if scale.quick else 1)
        jobs += [
            Job(
                experiment=experiment,
                shared="attacks",
                curve=f"{name}, {column}: {method}",
                settings={
                    "dataset": name,
                    "method": method,
                    "images": images,
                    "budget": budget,
                    "unit": "coordinates",
                    "k": dataset.k,
                    "options": dict(options),
                },
                seed=images[0],
                cost=budget * dataset.seconds * (images[1] - images[0]) / 2,
            )
            for column, method, options in wanted
            for images in image_blocks(name, scale)
        ]
    return jobs


def image_blocks(dataset: str, scale: Scale) -> Iterator[list[int]]:
    """Yield the ends of the blocks of images that one job attacks; none of an unwanted data set.

    A block begins at the same image whatever the scale, so that an image keeps its seed.
    """
    chosen = DATASETS[dataset]
    if scale.datasets and dataset not in scale.datasets:
        return
    count = scale.seeds or (chosen.quick_images if scale.quick else chosen.images)
    for first in range(0, count, chosen.images_per_job):
        yield [first, min(first + chosen.images_per_job, count)]


def stated_settings(settings: Mapping[str, Any], which: str) -> Mapping[str, Any]:
    """Return what the paper states for a job: of SZOHT its parameters, of others nothing."""
    dataset = DATASETS[settings["dataset"]]
    return {"k": dataset.k, **getattr(dataset, which)} if settings["method"] == "szoht" else {}


def tuned_attacks() -> dict[str, Any]:
    """Return the settings that the grid search found, as distributed with the library."""
    file = resources.files("szoht.paper") / "attacks_tuned.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


@cache
def load_dataset(name: str) -> ClassifiedImages:
    """Return images and network, loaded once per process; PyTorch gets one thread."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    return DATASETS[name].load()


def why_unavailable() -> str:
    """Return what is missing to run these experiments, or ""."""
    try:
        for dataset in ("mnist", "cifar10"):
            DATASETS[dataset].load()
    except (SzohtError, ImportError) as error:
        return str(error)
    return ""


def attack_rows(settings: Mapping[str, Any], seed: int) -> Table:
    """Attack a block of correctly classified images, all at once; return a row for each.

    The norms are of the change before clipping, as in the paper. The columns ``f 0`` to the budget
    are the margin at the current iterate after so many queries, 0 once the attack succeeded.
    """
    grid = np.linspace(0, settings["budget"], GRID_POINTS)
    rows = []
    for image, result in enumerate(_attack(settings, seed), start=settings["images"][0]):
        row = {
            "image": image,
            "success": float(result.success),
            "queries": float(result.queries),
            "iterations": float(result.nit),
            "l0": 100 * np.count_nonzero(result.change) / result.change.size,
            "l2": float(np.linalg.norm(result.change)),
        }
        f = _margins_on(grid, result)
        rows.append(row | {f"f {x:g}": value for x, value in zip(grid, f, strict=True)})
    return table_from_rows(rows)


def _attack(settings: Mapping[str, Any], seed: int) -> Sequence[AttackResult]:
    """Attack with the method of a job.

    The paper's methods clip inside the loss; the others keep the bounds as a constraint.
    """
    name, method, (first, last) = settings["dataset"], settings["method"], settings["images"]
    data, chosen = load_dataset(name), DATASETS[name]
    images, labels = data.correct(last)
    shared: dict[str, Any] = {
        "k": settings["k"],
        "max_queries": settings["budget"],
        "batch_size": chosen.batch_size,
        "margin_on": chosen.scores,
        "rng": seed,
        "at_once": last - first,
    }
    if method in PAPER_METHODS:
        shared["method"] = _algorithm(method, settings["options"], settings["k"])
    else:
        shared |= {"method": method, "unit": settings["unit"]}
    return attack_many(data.network, images[first:], labels[first:].tolist(), **shared)


def _algorithm(method: str, options: Mapping[str, Any], k: int) -> Algorithm:
    if method == "szoht":
        return algorithms.szoht(k=k, iterate="last", **options)
    return algorithms.METHODS[method](iterate="last", **options)


def _margins_on(grid: Vector, result: AttackResult) -> Vector:
    """Return the margin at the current iterate after each number of queries.

    An iterate counts from the query on that measured it.
    """
    queries = np.asarray(result.history["queries"], dtype=np.float64)
    values = np.asarray(result.history["value"], dtype=np.float64)
    place = np.searchsorted(queries, grid, side="right") - 1
    f = np.where(place >= 0, values[np.maximum(place, 0)], values[0])
    if result.success:
        f[grid >= result.queries] = 0.0
    return np.asarray(f)


def margins(runs: Sequence[Curve]) -> tuple[Vector, Vector]:
    """Return queries, and the margins of all images relative to their starts, one per row.

    A run that left the numbers counts as one that never moved.
    """
    names = [name for name in runs[0].table if name.startswith("f ")]
    f = np.concatenate([np.column_stack([run.table[name] for name in names]) for run in runs])
    relative = f / f[:, :1]
    return np.array([float(name[2:]) for name in names]), np.where(
        np.isfinite(relative), relative, 1.0
    )
