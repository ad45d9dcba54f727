"""SciPy's COBYQA: quadratic models, for few variables."""

from asking import Ask
from problems import Problem
from scipy.optimize import minimize

__all__ = ["run"]


def run(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    del seed
    result = minimize(
        ask,
        problem.x0,
        method="COBYQA",
        options={"maxfev": budget, "initial_tr_radius": 0.1},
    )
    ask.propose(result.x)
