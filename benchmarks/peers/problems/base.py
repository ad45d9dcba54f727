"""What a benchmark problem is."""

from collections.abc import Callable
from dataclasses import dataclass

from szoht.types import Vector

__all__ = ["BUDGET", "Problem", "Unavailable", "reach"]

BUDGET = 200_000


class Unavailable(Exception):  # noqa: N818  (not an error: the problem is left out, visibly)
    """A problem needs data or a package that is not there."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Minimise ``fun`` over x with at most ``k`` non-zeros, from ``x0``.

    Parameters
    ----------
    name, d, k, x0
        The name, the dimension, the number of non-zeros and the start, itself k-sparse.
    fun : callable
        The objective without noise; solvers see it with noise of standard deviation ``noise``.
    best : float
        The best k-sparse value known, and ``source`` says where it is from.
    target : float
        The problem counts as solved at a k-sparse point with ``fun(x) <= target``.
    noise : float
        Standard deviation of the noise added to each answer; judging is without noise.
    budget : int
        Queries.
    whole : bool
        Spend the whole budget even when the target is reached, to report the final gap.
    radius : float
        A good length for differences. Competitors that need one are told; `auto` is not.
    """

    name: str
    d: int
    k: int
    x0: Vector
    fun: Callable[[Vector], float]
    best: float
    source: str
    target: float
    noise: float = 0.0
    budget: int = BUDGET
    whole: bool = False
    radius: float = 1e-6


def reach(start: float, best: float, tau: float) -> float:
    """Return the value at which all but a fraction ``tau`` of the possible decrease is made.

    >>> reach(2.0, 1.0, 0.125)
    1.125
    """
    return start - (1.0 - tau) * (start - best)
