"""Which part of a finite sum values are about: a few components first, then more, then all."""

import math
from collections.abc import Iterator

import numpy as np

from szoht.core.random import Key, Purpose
from szoht.types import Sample

__all__ = ["first_size", "part", "sizes"]

FEWEST, PER_NONZERO = 32, 12
"""Components to begin with: at least so many, and so many for each non-zero."""

SAMPLE_GROWTH = 4


def part(seed: int, n_samples: int, size: int) -> Sample:
    """Return the first ``size`` components in a random order; larger parts contain smaller ones.

    >>> small, large = part(0, 50, 3), part(0, 50, 5)
    >>> set(small) < set(large)
    True
    """
    if size >= n_samples:
        return np.arange(n_samples)
    return np.sort(Key(seed=seed).generator(Purpose.SAMPLE).permutation(n_samples)[:size])


def first_size(n_samples: int, k: int) -> int:
    """Return how many components to begin with.

    >>> first_size(10_000, 10), first_size(200, 10)
    (120, 200)
    """
    size = max(FEWEST, math.ceil(PER_NONZERO * k))
    return n_samples if 2 * size >= n_samples else size


def sizes(n_samples: int, k: int) -> Iterator[int]:
    """Yield the sizes to go on with after the first, up to the whole sum.

    >>> list(sizes(10_000, 10))
    [480, 1920, 10000]
    """
    size = first_size(n_samples, k)
    while size < n_samples:
        size = SAMPLE_GROWTH * size if 2 * SAMPLE_GROWTH * size < n_samples else n_samples
        yield size
