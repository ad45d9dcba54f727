"""SciPy's L-BFGS-B on its own forward differences."""

from typing import Any

from asking import Ask
from problems import Problem
from scipy.optimize import minimize

__all__ = ["run"]


def run(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    del seed
    options: dict[str, Any] = {"maxfun": 10 * budget, "maxiter": budget}
    if problem.radius > 1e-6:
        options["eps"] = problem.radius
    result = minimize(ask, problem.x0, method="L-BFGS-B", callback=ask.propose, options=options)  # type: ignore[call-overload]
    ask.propose(result.x)
