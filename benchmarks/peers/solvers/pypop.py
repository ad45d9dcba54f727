"""PyPop7's separable CMA-ES and Gaussian smoothing."""

from typing import Any

import numpy as np

from asking import Ask
from problems import Problem

__all__ = ["separable", "smoothing"]


def _solve(
    optimizer: Any, problem: Problem, seed: int, budget: int, ask: Ask, options: dict[str, Any]
) -> None:
    d = problem.d
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
    from pypop7.optimizers.es.sepcmaes import (  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
        SEPCMAES,
    )

    _solve(SEPCMAES, problem, seed, budget, ask, {"mean": problem.x0, "sigma": 0.01})


def smoothing(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    from pypop7.optimizers.rs.gs import (  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
        GS,
    )

    options = {"x": problem.x0, "lr": 0.1, "c": 1e-4, "n_individuals": 100}
    _solve(GS, problem, seed, budget, ask, options)
