"""The answer of a run: what the method says, or the best point that was evaluated."""

import math
from collections.abc import Sequence

import numpy as np

from szoht.core.algorithm import Algorithm, Measured, PathPoint, State
from szoht.core.ledger import Ledger
from szoht.operators import Identity
from szoht.result import Status
from szoht.types import Vector

__all__ = ["best_so_far", "make_ledger", "path_of", "solution"]

CHANGED_ONE_IN = 10
"""Where k is not given and the path is not complete, an answer changes one in so many variables."""


def make_ledger(algorithm: Algorithm, start: Vector, *, maximize: bool) -> Ledger:
    """Return the empty ledger of a run; it knows the best point where that is the answer."""
    sign = -1.0 if maximize else 1.0
    if not getattr(algorithm, "answers_best", False):
        return Ledger(start, sign=sign)
    allowed = getattr(algorithm.operator, "contains", None)
    if not isinstance(algorithm.operator, Identity):
        return Ledger(start, allowed=allowed, sign=sign)
    free = np.array(getattr(algorithm, "always", ()), dtype=np.intp)

    def count(x: Vector) -> int:
        return int(np.count_nonzero(x)) - int(np.count_nonzero(x[free]))

    return Ledger(start, allowed=lambda _: True, count=count, sign=sign)


def best_so_far(state: State, ledger: Ledger) -> Measured | None:
    """Return the best point so far: of repeatable values the lowest that may be an answer."""
    if not ledger.is_repeatable or ledger.counts_changes:
        return state.best
    best = ledger.best()
    if best is None or (state.best is not None and _is_as_good(state.best, best)):
        return state.best
    return best


def solution(algorithm: Algorithm, state: State, status: Status, ledger: Ledger) -> Measured:
    """Return the answer.

    Of the default method, where values are repeatable, it is the best allowed point evaluated.
    After a target it is the point that reached it.
    """
    if status is Status.TARGET and state.best is not None:
        own = best_so_far(state, ledger) or state.best
    else:
        own = algorithm.solution(state)
    best = ledger.best(_most(state, own) if ledger.counts_changes else None)
    if best is None or (ledger.is_repeatable and _is_as_good(own, best)):
        return own
    if ledger.is_repeatable:
        return best
    # one value of a function that has several there is more than none
    return best._replace(exact=False) if math.isnan(own.value) else own


def path_of(state: State, ledger: Ledger) -> Sequence[PathPoint]:
    """Return the path over k, with the best point evaluated for each k."""
    if not (ledger.is_repeatable and ledger.counts_changes):
        return state.path
    path = []
    for point in state.path:
        best = ledger.best(point.k)
        better = best is not None and best.value < point.fun
        path.append(PathPoint(point.k, best.x, best.value) if best and better else point)
    return path


def _is_as_good(own: Measured, best: Measured) -> bool:
    """Tell whether the method's own point is no worse than the best evaluated, and was measured."""
    return own.exact and own.error == 0 and own.value <= best.value


def _most(state: State, own: Measured) -> int:
    """Return how many changes an answer may have where k is not given."""
    if state.knee is not None:
        return state.knee
    return max(1, math.ceil(own.x.size / CHANGED_ONE_IN), int(np.count_nonzero(own.x)))
