"""Attacks: the time of a query beyond the network's own forward pass, in the same run.

Run with ``make bench``. One iteration of SZOHT with the paper's q and support size; the forward
passes of that very iteration are what it is compared with. MNIST and CIFAR-10 need ``SZOHT_DATA``;
ImageNet's size needs the packages of the extra ``attack-experiments``.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from core import Row, Timed, report, seconds, sized

from szoht import AskTell, szoht
from szoht.applications.attack import AttackObjective, Batches, Margin
from szoht.applications.attack.datasets import (
    ClassifiedImages,
    load_cifar10,
    load_imagenet,
    load_mnist,
)
from szoht.applications.attack.torch_network import TorchNetwork
from szoht.core.objective import as_objective
from szoht.errors import SzohtError
from szoht.evaluation.oracle import Oracle


class Watched(torch.nn.Module):
    """A network that keeps account of the time of its forward passes."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.timer = Timed(network)

    def forward(self, images: torch.Tensor) -> Any:
        """Return the scores, on the clock."""
        return self.timer(images)


def beyond_the_network(
    what: str, data: ClassifiedImages, *, limit: float, batch: int, repeats: int, **options: Any
) -> Row:
    """Measure whole iterations, and how much of them is not spent in the network."""
    images, labels = data.correct(1)
    network = Watched(data.network).eval()
    objective = AttackObjective(
        network=TorchNetwork.of(network, images[0].shape),
        image=images[0].astype(np.float64).ravel(),
        margin=Margin(label=int(labels[0])),
        low=0.0,
        high=1.0,
        batches=Batches(batch),
    )
    d = objective.image.size
    method = szoht(mu=0.01, step_size=1e-9, **options)
    run = AskTell(np.zeros(d), method=method, max_iterations=10**9, rng=0)
    oracle = Oracle(objective=as_objective(objective))
    inside, beyond = np.inf, np.inf
    for _ in range(sized(repeats, 1)):
        network.timer.seconds = 0.0
        whole = seconds(lambda: run.receive(oracle(run.ask())))
        inside = min(inside, network.timer.seconds)
        beyond = min(beyond, whole - network.timer.seconds)
    n = options["q"] + 1
    detail = f"{1e6 * beyond / n:.1f} us/query beyond {1e6 * inside / n:.0f} us in it"
    return Row(what, 100 * beyond / inside, "% more", limit, detail)


def rows() -> list[Row]:
    """Measure what can be loaded here."""
    torch.set_num_threads(1)
    size = {"q": sized(100, 4), "support_size": 100}
    cases: list[tuple[str, Callable[[], ClassifiedImages], dict[str, Any]]] = [
        (
            "attack MNIST, q = s2 = 100",
            lambda: load_mnist(20),
            {"limit": 10, "batch": 64, "repeats": 60, "k": 20, **size},
        ),
        (
            "attack CIFAR-10, q = s2 = 100",
            lambda: load_cifar10(20),
            {"limit": 10, "batch": 32, "repeats": 5, "k": 60, **size},
        ),
        (
            "attack ImageNet size, q = 100, s2 = 1000",
            lambda: load_imagenet(2),
            {
                "limit": 5,
                "batch": 4,
                "repeats": 2,
                "k": 100_000,
                "q": sized(100, 4),
                "support_size": 1000,
            },
        ),
    ]
    table = []
    for what, load, settings in cases:
        try:
            data = load()
        except SzohtError as error:
            print(f"{what}: not measured. {error}", file=sys.stderr)
            continue
        table.append(beyond_the_network(what, data, **settings))
    return table


if __name__ == "__main__":
    report(rows())
