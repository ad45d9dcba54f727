"""SciPy's L-BFGS-B on its own forward differences."""

from scipy.optimize import minimize

from asking import Ask
from problems import Problem

__all__ = ["run"]


def run(problem: Problem, seed: int, budget: int, ask: Ask) -> None:
    del seed
    options = {"maxfun": 10 * budget, "maxiter": budget}
    if problem.noise:
        options["eps"] = 0.1
    result = minimize(
        ask, problem.x0, method="L-BFGS-B", callback=lambda x: ask.propose(x), options=options
    )
    ask.propose(result.x)
