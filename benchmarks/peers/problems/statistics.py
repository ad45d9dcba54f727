"""Sparse models: regression, counts, classes, and metrics that have no gradient."""

from collections.abc import Callable
from typing import NamedTuple

from problems.base import Problem, reach

import szoht.problems
from szoht.problems.recovery import STEP_LOSSES, LossName

__all__ = ["PROBLEMS", "SPECS", "Spec", "source_of"]

SEED = 21


class Spec(NamedTuple):
    """One problem in a line: sizes, correlation, loss, spread of the observations, accuracy."""

    loss: LossName
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
    "poisson-ar": Spec("poisson", 400, 300, 5, 0.5, 0.0, 1e-3, 0.07600352313),
    "errors": Spec("errors", 400, 100, 5, 0.5, 0.1, 1e-1, 0.0225),
    "auc": Spec("auc", 400, 200, 5, 0.5, 0.1, 2e-2, 0.002033591926),
    "noisy-regression": Spec("squares", 200, 1_000, 10, 0.0, 0.01, 5e-2, 5.265732497e-05, 1e-3),
    "noisy-logistic": Spec("logistic", 500, 300, 6, 0.5, 0.0, 5e-2, 0.2276678497, 1e-3, 1e-3),
}


def source_of(spec: Spec) -> szoht.problems.Problem:
    """Return the library's problem, whose ``reference`` is the model behind the data."""
    return szoht.problems.recovery(
        spec.n,
        spec.d,
        spec.k,
        noise=spec.spread,
        correlation=spec.correlation,
        loss=spec.loss,
        ridge=spec.ridge,
        rng=SEED,
    )


def _problem(name: str) -> Problem:
    spec = SPECS[name]
    source = source_of(spec)
    start = source.objective.value(source.x0)
    return Problem(
        name=name,
        d=spec.d,
        k=spec.k,
        x0=source.x0,
        fun=source.objective.value,
        best=spec.best,
        source="references.py",
        target=reach(start, spec.best, spec.tau),
        noise=spec.noise * start,
        radius=0.1 if spec.noise or spec.loss in STEP_LOSSES else 1e-6,
    )


PROBLEMS: dict[str, Callable[[str], Problem]] = dict.fromkeys(SPECS, _problem)
