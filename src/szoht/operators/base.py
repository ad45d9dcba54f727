"""What an operator is, and the selection that the sparse ones share."""

from typing import Protocol, runtime_checkable

import numpy as np

from szoht.errors import NonFiniteError
from szoht.types import Indices, Vector

__all__ = ["Operator", "check_finite", "largest"]


@runtime_checkable
class Operator(Protocol):
    """The projection onto a set, or the proximal map of a penalty. Pure: input is not changed.

    Sets also offer ``contains(x)``; some offer ``lmo(gradient)``, the point of the set that
    minimises the inner product with ``gradient``; penalties offer ``value(x)``. Most offer
    ``weighted_prox(y, step, weights)``, the same map where squared distances are weighted,
    ``sum_i w_i (x_i - y_i)^2``.
    """

    def check(self, d: int) -> None:
        """Raise if the operator does not fit dimension ``d``."""
        ...

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the point nearest to ``y``: argmin_x ||x - y||^2 / 2 + step * penalty(x)."""
        ...


def check_finite(y: Vector) -> None:
    """Raise if ``y`` holds NaN or infinity: no ranking of its entries would mean anything."""
    finite = np.isfinite(y)
    if not finite.all():
        i = int(np.argmin(finite))
        raise NonFiniteError(f"An operator needs finite entries; got y[{i}]={y[i]}.")


def largest(score: Vector, k: int) -> Indices:
    """Return the sorted indices of the ``k`` largest positive scores; ties go to the lowest index.

    Entries whose score is 0 never count, so fewer than ``k`` indices may come back.

    >>> largest(np.array([1.0, 3.0, 0.0, 3.0, 3.0]), 2)
    array([1, 3])
    """
    # Partition only what can win: introselect degrades badly on an array that is mostly zeros.
    candidates = np.flatnonzero(score)
    if candidates.size <= k:
        return candidates
    scores = score if candidates.size == score.size else score[candidates]
    threshold = np.partition(scores, candidates.size - k)[candidates.size - k]
    winners = scores > threshold
    ties = np.flatnonzero(scores == threshold)
    winners[ties[: k - int(np.count_nonzero(winners))]] = True
    winning: Indices = candidates[winners]
    return winning
