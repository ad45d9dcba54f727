"""SZOHT tuned by hand: the best of a grid over q and the step size, found on a seed of its own.

The tuning is free: its queries are not counted. It is done once per problem and kept in a file,
whose folder the environment variable PEERS_TUNED names.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from asking import Ask, Stop
from problems import Problem

from solvers.library import solve
from szoht.algorithms.defaults import default_directions
from szoht.operators import Sparse

__all__ = ["run"]

TUNING_SEED = 1_000
TUNING_BUDGET, TUNING_SECONDS = 10_000, 1.5
SHARES = (0.2, 0.5, 2.0)
STEPS = (0.01, 0.1, 0.3, 0.5, 1.0, 3.0)


def run(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    setting = _setting(problem, min(budget, problem.budget, TUNING_BUDGET))
    ask.start()
    solve(ask, "szoht", seed, budget, options=setting)


def _setting(problem: Problem, budget: int) -> dict[str, Any]:
    kept = Path(os.environ.get("PEERS_TUNED", ".")) / f"tuned-{problem.name}-{budget}.json"
    if not kept.exists():
        setting = min(_grid(problem), key=lambda options: _score(problem, budget, options))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(setting))
    tuned: dict[str, Any] = json.loads(kept.read_text())
    return tuned


def _grid(problem: Problem) -> list[dict[str, Any]]:
    usual = default_directions(problem.d, Sparse(problem.k))
    directions = sorted({min(problem.d, max(1, round(share * usual))) for share in SHARES})
    return [{"q": q, "step_size": step, "mu": problem.radius} for q in directions for step in STEPS]


def _score(problem: Problem, budget: int, options: dict[str, Any]) -> tuple[float, float]:
    ask = Ask(problem, TUNING_SEED, budget, TUNING_SECONDS)
    with suppress(Stop):
        solve(ask, "szoht", TUNING_SEED, ask.budget, options=options)
    return (float("inf") if ask.solved_at is None else ask.solved_at), ask.best
