"""Change a few pixels of a digit until a small network misreads it."""

import os
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from problems.base import Problem, Unavailable

from szoht.types import Vector

__all__ = ["PROBLEMS"]

HIDDEN, EPOCHS, RATE = 32, 300, 0.02
SMOKE_EPOCHS = 20
PIXELS = {"attack-k3": 3, "attack-k5": 5, "attack-k8": 8}


class Network(NamedTuple):
    """Two layers, and the images on which they were trained."""

    inner: Vector
    inner_bias: Vector
    outer: Vector
    outer_bias: Vector
    images: Vector
    labels: Vector

    def logits(self, x: Vector) -> Vector:
        """Return ten scores per image."""
        hidden = np.maximum(x @ self.inner + self.inner_bias, 0.0)
        scores: Vector = hidden @ self.outer + self.outer_bias
        return scores


@cache
def network() -> Network:
    """Train on scikit-learn's digits with Adam, always the same way."""
    try:
        from sklearn.datasets import (  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415
            load_digits,
        )
    except ImportError as error:
        raise Unavailable("scikit-learn is not installed") from error
    data = load_digits()
    images, labels = np.asarray(data.data) / 16.0, np.asarray(data.target)
    rng = np.random.default_rng(31)
    weights = [
        rng.standard_normal((64, HIDDEN)) / 8.0,
        np.zeros(HIDDEN),
        rng.standard_normal((HIDDEN, 10)) / np.sqrt(HIDDEN),
        np.zeros(10),
    ]
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    wanted = np.eye(10)[labels]
    for epoch in range(1, (SMOKE_EPOCHS if "PEERS_SMOKE" in os.environ else EPOCHS) + 1):
        for i, slope in enumerate(_slopes(weights, images, wanted)):
            first[i] = 0.9 * first[i] + 0.1 * slope
            second[i] = 0.999 * second[i] + 0.001 * slope**2
            scale = np.sqrt(second[i] / (1.0 - 0.999**epoch)) + 1e-8
            weights[i] = weights[i] - RATE * first[i] / (1.0 - 0.9**epoch) / scale
    inner, inner_bias, outer, outer_bias = weights
    return Network(inner, inner_bias, outer, outer_bias, images, labels)


def _slopes(weights: list[Vector], images: Vector, wanted: Vector) -> list[Vector]:
    inner, inner_bias, outer, outer_bias = weights
    hidden = np.maximum(images @ inner + inner_bias, 0.0)
    scores = hidden @ outer + outer_bias
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    error = (scores / scores.sum(axis=1, keepdims=True) - wanted) / len(images)
    back = (error @ outer.T) * (hidden > 0)
    return [images.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0)]


def _problem(name: str) -> Problem:
    k = PIXELS[name]
    net = network()
    scores = net.logits(net.images)
    own = scores[np.arange(len(scores)), net.labels]
    scores[np.arange(len(scores)), net.labels] = -np.inf
    margins = own - scores.max(axis=1)
    # the more pixels, the surer the image that is to be misread
    place = int(np.argsort(margins)[len(margins) * k // 12])
    image, label = net.images[place], int(net.labels[place])

    def fun(x: Vector) -> float:
        out = net.logits(np.clip(image + x, 0.0, 1.0))
        own = float(out[label])
        out[label] = -np.inf
        return max(own - float(out.max()), 0.0)

    return Problem(
        name=name,
        d=64,
        k=k,
        x0=np.zeros(64),
        fun=fun,
        best=0.0,
        source="the smallest value there is; found by a solver of this benchmark",
        target=0.0,
        budget=20_000,
    )


PROBLEMS: dict[str, Callable[[str], Problem]] = dict.fromkeys(PIXELS, _problem)
