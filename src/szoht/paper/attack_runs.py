"""Shared by the two experiments on attacks: images, networks, settings of the methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from szoht import algorithms
from szoht.applications.attack import AttackResult, attack
from szoht.applications.attack.datasets import (
    ClassifiedImages,
    load_cifar10,
    load_imagenet,
    load_mnist,
)
from szoht.applications.attack.layout import Unit
from szoht.core.algorithm import Algorithm
from szoht.errors import SzohtError
from szoht.paper.methods import PAPER_METHODS

__all__ = [
    "DATASETS",
    "VERTEX_SEARCHES",
    "Dataset",
    "attack_image",
    "attack_measures",
    "why_unavailable",
]

VERTEX_SEARCHES = ("corner_search", "sparse_rs", "auto")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Images, and the settings of the paper's methods on them.

    k, q, support size and the radius of SZOHT are the paper's. Its step sizes are for networks that
    were never published; the step sizes here are the best of a few tried per method on the first
    images, eight of MNIST and four of CIFAR-10, and untuned at the size of ImageNet.
    """

    title: str
    d: int
    k: int
    load: Callable[[], ClassifiedImages]
    budget: int
    quick_budget: int
    seconds: float
    """Estimated time of one query."""
    batch_size: int
    scores: str = "logits"
    settings: Mapping[str, Mapping[str, Any]]


def _settings(
    *,
    mu: float,
    penalty: float,
    szoht: Mapping[str, float],
    zoro: Mapping[str, float],
    rspgf_step_size: float,
    zscg_radius: float,
) -> dict[str, dict[str, float]]:
    """Return the options of each method; the baselines share the radius mu and the penalty."""
    return {
        "szoht": {"q": 100, **szoht},
        "rspgf": {"penalty": penalty, "q": 100, "mu": mu, "step_size": rspgf_step_size},
        "zoro": {"penalty": penalty, "mu": mu, "tol": 0.5, **zoro},
        "zscg": {"radius": zscg_radius, "q": 100, "mu": mu},
    }


DATASETS = {
    "mnist": Dataset(
        title="MNIST",
        d=784,
        k=20,
        load=load_mnist,
        budget=10_000,
        quick_budget=3_000,
        seconds=2e-4,
        batch_size=64,
        settings=_settings(
            mu=0.01,
            penalty=0.01,
            szoht={"support_size": 100, "mu": 0.3, "step_size": 0.1},
            zoro={"sparsity": 40, "n_measurements": 100, "step_size": 0.5},
            rspgf_step_size=0.1,
            zscg_radius=100.0,
        ),
    ),
    "cifar10": Dataset(
        title="CIFAR-10",
        d=3072,
        k=60,
        load=load_cifar10,
        budget=4_000,
        quick_budget=1_000,
        seconds=3e-3,
        batch_size=32,
        settings=_settings(
            mu=0.003,
            penalty=0.01,
            szoht={"support_size": 100, "mu": 1e-3, "step_size": 0.01},
            zoro={"sparsity": 60, "n_measurements": 180, "step_size": 0.05},
            rspgf_step_size=0.001,
            zscg_radius=30.0,
        ),
    ),
    "imagenet": Dataset(
        title="ImageNet size",
        d=268_203,
        k=100_000,
        load=lambda: load_imagenet(8),
        budget=2_020,
        quick_budget=404,
        seconds=0.08,
        batch_size=4,
        scores="probs",
        settings=_settings(
            mu=1e-3,
            penalty=1e-5,
            szoht={"support_size": 1000, "mu": 0.01, "step_size": 0.015},
            zoro={"sparsity": 50, "n_measurements": 100, "step_size": 0.5, "max_passes": 3},
            rspgf_step_size=1e-3,
            zscg_radius=1000.0,
        ),
    ),
}


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


def attack_image(
    dataset: str, method: str, image: int, *, budget: int, seed: int, unit: Unit, k: int
) -> AttackResult:
    """Attack the ``image``-th correctly classified image with one of the methods.

    The paper's methods clip inside the loss; the others keep the bounds as a constraint.
    """
    data, chosen = load_dataset(dataset), DATASETS[dataset]
    images, labels = data.correct(image + 1)
    shared: dict[str, Any] = {
        "k": k,
        "max_queries": budget,
        "batch_size": chosen.batch_size,
        "rng": seed,
        "margin_on": chosen.scores,
    }
    if method in PAPER_METHODS:
        shared["method"] = _algorithm(method, chosen, k)
    else:
        shared |= {"method": method, "unit": unit}
    return attack(data.network, images[image], int(labels[image]), **shared)


def _algorithm(method: str, dataset: Dataset, k: int) -> Algorithm:
    settings = dict(dataset.settings[method])
    if method == "szoht":
        return algorithms.szoht(k=k, iterate="last", **settings)
    return algorithms.METHODS[method](iterate="last", **settings)


def attack_measures(result: AttackResult) -> dict[str, float]:
    """Return one row of the table; the norms are of the change before clipping, as in the paper."""
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
