"""The problems, by name; each is built when it is asked for."""

from functools import cache

from problems import attack, portfolios, quadratics, statistics
from problems.base import BUDGET, Problem, Unavailable

__all__ = ["BUDGET", "NAMES", "Problem", "Unavailable", "make"]

_MAKERS = {
    **quadratics.PROBLEMS,
    **statistics.PROBLEMS,
    **attack.PROBLEMS,
    **portfolios.PROBLEMS,
}

NAMES = tuple(_MAKERS)


@cache
def make(name: str) -> Problem:
    """Build a problem; raises `Unavailable` if it needs something that is not there."""
    return _MAKERS[name](name)
