"""What the two experiments on attacks share: images, networks, methods with their settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from szoht import algorithms
from szoht.applications.attack import AttackResult, attack
from szoht.applications.attack.datasets import Classified, load_cifar10, load_imagenet, load_mnist
from szoht.applications.attack.layout import Unit
from szoht.core.algorithm import Algorithm
from szoht.errors import SzohtError
from szoht.paper.experiment import Table

__all__ = [
    "DATASETS",
    "LABELS",
    "METHODS",
    "SEARCHES",
    "Dataset",
    "as_table",
    "attacked",
    "measures",
    "unavailable",
]

METHODS = ("szoht", "rspgf", "zoro", "zscg")
SEARCHES = ("corner_search", "sparse_rs", "auto")
LABELS = {
    "szoht": "SZOHT",
    "rspgf": "RSPGF",
    "zoro": "ZORO",
    "zscg": "ZSCG",
    "corner_search": "corner search",
    "sparse_rs": "Sparse-RS",
    "auto": "auto",
}


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Images, and the settings with which the paper's methods attack them.

    The paper's k, q, support size and, for SZOHT, radius. Its steps belong to networks that were
    never published. Those here are the best of a few tried on the first images, eight of MNIST and
    four of CIFAR-10, for each method; at ImageNet's size nothing was tried.
    """

    title: str
    d: int
    k: int
    load: Callable[[], Classified]
    budget: int
    quick_budget: int
    seconds: float
    """A guess of the time of one query."""
    scores: str = "logits"
    settings: Mapping[str, Mapping[str, Any]]


DATASETS = {
    "mnist": Dataset(
        title="MNIST",
        d=784,
        k=20,
        load=load_mnist,
        budget=10_000,
        quick_budget=3_000,
        seconds=2e-4,
        settings={
            "szoht": {"q": 100, "support_size": 100, "mu": 0.3, "step_size": 0.1},
            "rspgf": {"penalty": 0.01, "q": 100, "mu": 0.01, "step_size": 0.1},
            "zoro": {
                "penalty": 0.01,
                "sparsity": 40,
                "n_measurements": 100,
                "mu": 0.01,
                "step_size": 0.5,
                "tol": 0.5,
            },
            "zscg": {"radius": 100.0, "q": 100, "mu": 0.01},
        },
    ),
    "cifar10": Dataset(
        title="CIFAR-10",
        d=3072,
        k=60,
        load=load_cifar10,
        budget=4_000,
        quick_budget=1_000,
        seconds=3e-3,
        settings={
            "szoht": {"q": 100, "support_size": 100, "mu": 1e-3, "step_size": 0.01},
            "rspgf": {"penalty": 0.01, "q": 100, "mu": 0.003, "step_size": 0.001},
            "zoro": {
                "penalty": 0.01,
                "sparsity": 60,
                "n_measurements": 180,
                "mu": 0.003,
                "step_size": 0.05,
                "tol": 0.5,
            },
            "zscg": {"radius": 30.0, "q": 100, "mu": 0.003},
        },
    ),
    "imagenet": Dataset(
        title="ImageNet size",
        d=268_203,
        k=100_000,
        load=lambda: load_imagenet(8),
        budget=2_020,
        quick_budget=404,
        seconds=0.08,
        scores="probs",
        settings={
            "szoht": {"q": 100, "support_size": 1000, "mu": 0.01, "step_size": 0.015},
            "rspgf": {"penalty": 1e-5, "q": 100, "mu": 1e-3, "step_size": 1e-3},
            "zoro": {
                "penalty": 1e-5,
                "sparsity": 50,
                "n_measurements": 100,
                "mu": 1e-3,
                "step_size": 0.5,
                "tol": 0.5,
                "max_passes": 3,
            },
            "zscg": {"radius": 1000.0, "q": 100, "mu": 1e-3},
        },
    ),
}

BATCH = {"mnist": 64, "cifar10": 32, "imagenet": 4}


@cache
def loaded(name: str) -> Classified:
    """Return images and network, once per process, with one thread for each of them."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    return DATASETS[name].load()


def unavailable() -> str:
    """Say what is missing to run these experiments here, if anything is."""
    try:
        for dataset in ("mnist", "cifar10"):
            DATASETS[dataset].load()
    except (SzohtError, ImportError) as error:
        return str(error)
    return ""


def attacked(
    dataset: str, method: str, image: int, *, budget: int, seed: int, unit: Unit, k: int
) -> AttackResult:
    """Attack the ``image``-th correctly classified image with one of the methods.

    The paper's methods clip inside the loss; searches keep the bounds as a constraint.
    """
    data, chosen = loaded(dataset), DATASETS[dataset]
    images, labels = data.correct(image + 1)
    shared: dict[str, Any] = {
        "k": k,
        "max_queries": budget,
        "batch_size": BATCH[dataset],
        "rng": seed,
        "margin_on": chosen.scores,
    }
    if method in METHODS:
        shared["method"] = _algorithm(method, chosen, k)
    else:
        shared |= {"method": method, "unit": unit}
    result = attack(data.network, images[image], int(labels[image]), **shared)
    if result.interrupted:  # half an attack is no measurement
        raise KeyboardInterrupt
    return result


def _algorithm(method: str, dataset: Dataset, k: int) -> Algorithm:
    settings = dict(dataset.settings[method])
    if method == "szoht":
        return algorithms.szoht(k=k, iterate="last", **settings)
    return algorithms.METHODS[method](iterate="last", **settings)


def measures(result: AttackResult) -> dict[str, float]:
    """Return what a row of the table needs; the paper's lengths are of the unclipped change."""
    change = result.change
    return {
        "success": float(result.success),
        "queries": float(result.queries),
        "iterations": float(result.nit),
        "l0": 100 * np.count_nonzero(change) / change.size,
        "l0_visible": 100 * np.count_nonzero(np.abs(result.difference) > 1 / 255) / change.size,
        "l2": float(np.linalg.norm(change)),
        "l2_shown": result.l2,
    }


def as_table(rows: list[dict[str, float]], first: str, values: list[int]) -> Table:
    """Return rows as columns, behind a column of numbers."""
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {first: np.array(values, dtype=np.float64), **columns}
