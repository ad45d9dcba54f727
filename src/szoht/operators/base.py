"""What operators share: the check of their input, and the selection of the largest entries."""

import numpy as np

from szoht.errors import NonFiniteError
from szoht.types import Indices, Vector

__all__ = ["SET_TOLERANCE", "check_finite", "largest", "ranks_within"]

SET_TOLERANCE = 1e-9
"""Sums, norms and ranks hold up to this part of them, where rounding decides."""


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


def ranks_within(groups: Indices) -> Indices:
    """Return how many earlier entries have the same number.

    >>> ranks_within(np.array([1, 0, 1, 1, 0]))
    array([0, 0, 1, 2, 1])
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    ranks = np.empty(groups.size, dtype=np.intp)
    ranks[order] = np.arange(groups.size) - np.searchsorted(ordered, ordered)
    return ranks
