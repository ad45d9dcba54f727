"""nevergrad's NGOpt and DiagonalCMA."""

import warnings
from typing import Any

import nevergrad  # type: ignore[import-not-found, import-untyped, unused-ignore]
from asking import Ask
from problems import Problem

__all__ = ["diagonal", "ngopt"]


def _solve(method: str, problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    warnings.simplefilter("ignore")
    space: Any = nevergrad.p.Array(init=problem.x0)
    space.set_mutation(sigma=0.1)
    space.random_state.seed(seed)
    optimizer = nevergrad.optimizers.registry[method](parametrization=space, budget=budget)
    ask.propose(optimizer.minimize(ask).value)


def ngopt(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    _solve("NGOpt", problem, seed, budget, ask)


def diagonal(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    _solve("DiagonalCMA", problem, seed, budget, ask)
