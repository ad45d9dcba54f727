"""Good supports of a fixed size by greedy growth and swaps, each scored by an exact minimum."""

from collections.abc import Callable

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["Score", "search"]

Score = Callable[[Indices], Vector]
"""From a stack of supports, shape (m, k), to the minimum on each."""


def search(score: Score, d: int, k: int, starts: int, seed: int = 0) -> tuple[float, Indices]:
    """Return the best value and support over a greedy and several random starts."""
    rng = np.random.default_rng(seed)
    supports = [_greedy(score, d, k)]
    supports += [np.sort(rng.choice(d, size=k, replace=False)) for _ in range(starts)]
    found = [_swap(score, support, d) for support in supports]
    return min(found, key=lambda pair: pair[0])


def _greedy(score: Score, d: int, k: int) -> Indices:
    support = np.empty(0, dtype=np.intp)
    while support.size < k:
        free = np.setdiff1d(np.arange(d), support)
        trials = np.hstack([np.tile(support, (free.size, 1)), free[:, None]])
        support = trials[np.argmin(score(trials))]
    return np.sort(support)


def _swap(score: Score, support: Indices, d: int) -> tuple[float, Indices]:
    """Exchange one coordinate for another as long as the best exchange helps."""
    value = float(score(support[None])[0])
    while True:
        free = np.setdiff1d(np.arange(d), support)
        trials = np.repeat(support[None], support.size * free.size, axis=0)
        places = np.repeat(np.arange(support.size), free.size)
        trials[np.arange(len(trials)), places] = np.tile(free, support.size)
        values = score(trials)
        best = int(np.argmin(values))
        if not values[best] < value * (1.0 - 1e-9):
            return value, np.sort(support)
        value, support = float(values[best]), trials[best]
