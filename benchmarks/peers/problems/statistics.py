"""Sparse models: regression, counts, classes, and metrics that have no gradient."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from problems.base import Problem, reach, truth
from scipy.special import expit

from szoht.types import Vector

__all__ = ["LOSSES", "PROBLEMS", "Data", "Loss", "data_of", "loss_of"]


class Data(NamedTuple):
    """A design, what was observed, and the coefficients behind it."""

    design: Vector
    seen: Vector
    truth: Vector


Loss = Callable[[Vector, Vector], float]
"""From the linear predictor and what was seen to a value."""


def design(rng: np.random.Generator, n: int, d: int, correlation: float) -> Vector:
    """Return rows with covariance correlation^|i - j|."""
    z = rng.standard_normal((n, d))
    for j in range(1, d):
        z[:, j] = correlation * z[:, j - 1] + np.sqrt(1.0 - correlation**2) * z[:, j]
    return z


def squares(eta: Vector, seen: Vector) -> float:
    r = eta - seen
    return 0.5 * float(r @ r) / r.size


def absolute(eta: Vector, seen: Vector) -> float:
    return float(np.abs(eta - seen).mean())


def logistic(eta: Vector, seen: Vector) -> float:
    return float(np.logaddexp(0.0, -seen * eta).mean())


def counts(eta: Vector, seen: Vector) -> float:
    bounded = np.minimum(eta, 30.0)
    return float((np.exp(bounded) - seen * eta).mean())


def errors(eta: Vector, seen: Vector) -> float:
    return float((seen * eta <= 0.0).mean())


def disorder(eta: Vector, seen: Vector) -> float:
    """Return 1 - AUC; ties count one half."""
    positive, negative = eta[seen > 0], np.sort(eta[seen < 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(
        negative, positive, "right"
    )
    return 1.0 - 0.5 * float(below.mean()) / negative.size


LOSSES: dict[str, Loss] = {
    "squares": squares,
    "absolute": absolute,
    "logistic": logistic,
    "counts": counts,
    "errors": errors,
    "disorder": disorder,
}


class Spec(NamedTuple):
    """One problem in a line: sizes, correlation, loss, spread of the observations, accuracy."""

    loss: str
    n: int
    d: int
    k: int
    correlation: float
    spread: float
    tau: float
    best: float
    noise: float = 0.0
    ridge: float = 0.0


SPECS = {
    "regression": Spec("squares", 200, 1_000, 10, 0.0, 0.01, 1e-3, 5.265732497e-05),
    "regression-ar": Spec("squares", 300, 500, 8, 0.5, 0.1, 1e-3, 0.00513495919),
    "regression-d5000": Spec("squares", 300, 5_000, 8, 0.0, 0.05, 1e-3, 0.001175090375),
    "absolute-ar": Spec("absolute", 300, 300, 5, 0.5, 0.01, 2e-2, 0.007577201036),
    "logistic-ar": Spec("logistic", 500, 300, 6, 0.5, 0.0, 1e-2, 0.2276678497, ridge=1e-3),
    "logistic-d2000": Spec("logistic", 400, 2_000, 5, 0.0, 0.0, 1e-2, 0.232133353, ridge=1e-3),
    "poisson-ar": Spec("counts", 400, 300, 5, 0.5, 0.0, 1e-3, 0.07600352313),
    "errors": Spec("errors", 400, 100, 5, 0.5, 0.1, 1e-1, 0.0225),
    "auc": Spec("disorder", 400, 200, 5, 0.5, 0.1, 2e-2, 0.002033591926),
    "noisy-regression": Spec("squares", 200, 1_000, 10, 0.0, 0.01, 5e-2, 5.265732497e-05, 1e-3),
    "noisy-logistic": Spec("logistic", 500, 300, 6, 0.5, 0.0, 5e-2, 0.2276678497, 1e-3, 1e-3),
}

STEP_LOSSES = ("errors", "disorder")


def data_of(spec: Spec) -> Data:
    """Draw the design, the coefficients and the observations."""
    rng = np.random.default_rng(21)
    low, high = (0.2, 0.6) if spec.loss == "counts" else (0.5, 1.5)
    coefficients = truth(rng, spec.d, spec.k, low, high)
    rows = design(rng, spec.n, spec.d, spec.correlation)
    eta = rows @ coefficients
    if spec.loss == "counts":
        seen = rng.poisson(np.exp(eta)).astype(float)
    elif spec.loss == "logistic":
        seen = np.where(rng.random(spec.n) < expit(2.0 * eta), 1.0, -1.0)
    elif spec.loss in STEP_LOSSES:
        scale = spec.spread * float(eta.std())
        seen = np.where(eta + scale * rng.standard_normal(spec.n) > 0, 1.0, -1.0)
    else:
        seen = eta + spec.spread * rng.standard_normal(spec.n)
    return Data(rows, seen, coefficients)


def loss_of(spec: Spec, data: Data) -> Callable[[Vector], float]:
    """Return the objective."""
    loss, ridge = LOSSES[spec.loss], spec.ridge
    rows, seen = data.design, data.seen

    def fun(x: Vector) -> float:
        return loss(rows @ x, seen) + 0.5 * ridge * float(x @ x)

    return fun


def start_of(spec: Spec) -> Vector:
    """Return 0, or for losses that are constant along rays 1/k on the first k coordinates."""
    x0 = np.zeros(spec.d)
    if spec.loss in STEP_LOSSES:
        x0[: spec.k] = 1.0 / spec.k
    return x0


def _problem(name: str) -> Problem:
    spec = SPECS[name]
    fun = loss_of(spec, data_of(spec))
    x0 = start_of(spec)
    start = fun(x0)
    return Problem(
        name=name,
        d=spec.d,
        k=spec.k,
        x0=x0,
        fun=fun,
        best=spec.best,
        source="references.py",
        target=reach(start, spec.best, spec.tau),
        noise=spec.noise * start,
        radius=0.1 if spec.noise or spec.loss in STEP_LOSSES else 1e-6,
    )


PROBLEMS: dict[str, Callable[[str], Problem]] = dict.fromkeys(SPECS, _problem)
