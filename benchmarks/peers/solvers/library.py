"""Our own methods, with their defaults."""

import warnings
from collections.abc import Mapping
from typing import Any

from asking import Ask
from problems import Problem

from solvers import Run
from szoht import minimize
from szoht.result import Progress

__all__ = ["ada_zoro", "auto", "hzo_ht", "rspgf", "solve", "szoht", "truncated_zsgd", "zoro"]


def solve(
    ask: Ask,
    method: str,
    seed: int,
    budget: int,
    *,
    options: Mapping[str, Any] | None = None,
    sparse: bool = True,
) -> None:
    """Run a method by name; its iterates are queried points, so nothing needs to be proposed."""

    def watch(progress: Progress) -> None:
        ask.propose(progress.x)

    problem = ask.problem
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


def _named(method: str, *, sparse: bool = True, **options: Any) -> Run:
    def run(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
        del problem
        solve(ask, method, seed, budget, options=options, sparse=sparse)

    return run


auto = _named("auto")
szoht = _named("szoht")
hzo_ht = _named("hzo_ht")
truncated_zsgd = _named("truncated_zsgd", iterate="best")
zoro = _named("zoro")
ada_zoro = _named("ada_zoro")
rspgf = _named("rspgf", sparse=False)  # no penalty: judged by the k largest entries
