"""OR-Library portfolios with the paper's objective, in its raw form."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from problems.base import Problem, Unavailable

import szoht.problems
from szoht.problems import Portfolio, portfolio
from szoht.problems.orlib import NAMES

__all__ = ["NAMES", "OPTIMA", "PROBLEMS", "SIZES", "load"]

OPTIMA = Path(szoht.problems.__file__).parent / "portfolio_optima.json"
SIZES = (5, 10, 20)
BUDGET = 20_000
GAP = 0.05


@cache
def load(name: str, k: int) -> Portfolio:
    """Return the library's problem."""
    return portfolio(name, k=k, form="raw")


def _problem(name: str) -> Problem:
    port, size = name.split("-k")
    source = load(port, int(size))
    best = source.best
    if best is None:
        raise Unavailable(f"no optimum is known for {name}: run portfolio_optima.py")
    return Problem(
        name=name,
        d=source.dimension,
        k=source.k,
        x0=source.x0,
        fun=source.objective.value,
        best=best,
        source=f"portfolio_optima.py: {source.best_source}",
        target=(1.0 + GAP) * best,
        budget=BUDGET,
        whole=True,
    )


PROBLEMS: dict[str, Callable[[str], Problem]] = {
    f"{port}-k{k}": _problem for port in NAMES for k in SIZES
}
