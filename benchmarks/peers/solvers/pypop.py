"""PyPop7's separable CMA-ES and Gaussian smoothing."""

from typing import Any

import numpy as np
from asking import Ask
from problems import Problem
from pypop7.optimizers.es.sepcmaes import SEPCMAES  # type: ignore[import-not-found, import-untyped, unused-ignore]
from pypop7.optimizers.rs.gs import GS  # type: ignore[import-not-found, import-untyped, unused-ignore]

__all__ = ["separable", "smoothing"]


def _solve(optimizer: Any, seed: int, budget: int, ask: Ask, options: dict[str, Any]) -> None:
    d = ask.problem.d
    described = {
        "fitness_function": ask,
        "ndim_problem": d,
        "lower_boundary": np.full(d, -10.0),
        "upper_boundary": np.full(d, 10.0),
    }
    usual = {"max_function_evaluations": budget, "seed_rng": seed, "verbose": 0}
    result = optimizer(described, {**usual, **options}).optimize()
    ask.propose(np.asarray(result["best_so_far_x"]))


def separable(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    _solve(SEPCMAES, seed, budget, ask, {"mean": problem.x0, "sigma": 0.01})


def smoothing(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    options = {"x": problem.x0, "lr": 0.1, "c": 1e-4, "n_individuals": 100}
    _solve(GS, seed, budget, ask, options)
