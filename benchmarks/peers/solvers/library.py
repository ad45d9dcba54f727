"""This library's own methods, with their defaults."""

import warnings
from collections.abc import Mapping
from typing import Any

from szoht import minimize
from szoht.result import Progress

from asking import Ask
from problems import Problem

__all__ = ["ada_zoro", "auto", "hzo_ht", "rspgf", "solve", "szoht", "truncated_zsgd", "zoro"]


def solve(
    method: str,
    problem: Problem,
    seed: int,
    budget: int,
    ask: Ask,
    options: Mapping[str, Any] | None = None,
    *,
    sparse: bool = True,
) -> None:
    """Run a method by name; its iterates are queried points, so nothing needs to be proposed."""

    def watch(progress: Progress) -> None:
        ask.propose(progress.x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = minimize(
            ask,
            problem.x0,
            k=problem.k if sparse else None,
            method=method,
            options=options,
            max_queries=budget,
            rng=seed,
            on_error="skip",
            callback=None if sparse else watch,
        )
    ask.propose(result.x)


def auto(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    solve("auto", problem, seed, budget, ask)


def szoht(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    solve("szoht", problem, seed, budget, ask)


def hzo_ht(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    solve("hzo_ht", problem, seed, budget, ask)


def truncated_zsgd(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    solve("truncated_zsgd", problem, seed, budget, ask, {"iterate": "best"})


def rspgf(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    """Gaussian smoothing without penalty: judged by the k largest entries."""
    solve("rspgf", problem, seed, budget, ask, sparse=False)


def zoro(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    solve("zoro", problem, seed, budget, ask)


def ada_zoro(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    solve("ada_zoro", problem, seed, budget, ask)
