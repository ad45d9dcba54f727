"""pycma with a diagonal covariance."""

from typing import Any

import cma  # type: ignore[import-not-found, import-untyped, unused-ignore]
from asking import Ask
from problems import Problem

__all__ = ["run"]


def run(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    options: dict[str, Any] = {
        "CMA_diagonal": True,
        "seed": seed + 1,
        "verbose": -9,
        "maxfevals": budget,
        "tolx": 1e-12,
    }
    es: Any = cma.CMAEvolutionStrategy(problem.x0, 0.1, options)
    while not es.stop():
        points = es.ask()
        es.tell(points, [ask(point) for point in points])
    ask.propose(es.mean)
