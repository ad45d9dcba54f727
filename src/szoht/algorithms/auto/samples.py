"""Which part of a finite sum values are about: a few components first, then more, then all."""

import math

import numpy as np

from szoht.core.random import Key, Purpose
from szoht.types import Sample

__all__ = ["fresh_part", "part", "sizes", "validated_size"]

FEWEST, SAMPLE_GROWTH = 32, 3
"""Components to begin with, at least, and by how much parts grow."""

LEAST_PASSES = 10
"""The answer is measured on all components where the budget is at least this many passes."""


def part(seed: int, n_samples: int, size: int) -> Sample:
    """Return the first ``size`` components in a random order; larger parts contain smaller ones.

    >>> small, large = part(0, 50, 3), part(0, 50, 5)
    >>> set(small) < set(large)
    True
    """
    return np.arange(n_samples) if size >= n_samples else _range(seed, n_samples, 0, size)


def fresh_part(seed: int, n_samples: int, size: int) -> Sample:
    """Return as many components that `part` does not contain.

    >>> set(part(0, 50, 5)) & set(fresh_part(0, 50, 5))
    set()
    """
    return _range(seed, n_samples, size, 2 * size)


def _range(seed: int, n_samples: int, start: int, stop: int) -> Sample:
    order = Key(seed=seed).generator(Purpose.SAMPLE).permutation(n_samples)
    return np.sort(order[start:stop])


def validated_size(n_samples: int, budget: int | None) -> int:
    """Return how many components the answer is measured on: all if the budget allows.

    >>> validated_size(1000, 10_000), validated_size(1000, 5_000)
    (1000, 500)
    """
    if budget is None or budget >= LEAST_PASSES * n_samples:
        return n_samples
    return max(budget // LEAST_PASSES, 1)


def sizes(whole: int, queries: float, budget: float) -> list[int]:
    """Return the sizes of the parts to search on before ``whole`` components; none if they are few.

    ``queries`` are what a search on a part takes: parts are so small that the budget allows it.

    >>> sizes(10_000, 360, math.inf), sizes(200, 360, math.inf), sizes(10_000, 360, 30_000)
    ([180, 540, 1620, 4860], [], [84, 252, 756, 2268])
    """
    affordable = budget / queries
    if affordable < FEWEST:
        return []
    size, found = math.ceil(min(max(FEWEST, queries / 2), affordable)), []
    while 2 * size < whole:
        found.append(size)
        size *= SAMPLE_GROWTH
    return found
