"""Few candidates and all sets of them that may matter: which of these explain measurements."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from szoht.types import Indices, Vector

__all__ = ["AMBIGUOUS", "Sets", "connected_sets", "explaining_sets", "in_common", "small_sets"]

Sets = NDArray[np.bool_]
"""Sets of candidates, one per row of a mask."""

AMBIGUOUS = 10.0
"""Sets that miss by up to so many times the noise may still be the right ones."""


def small_sets(n: int, most: int) -> Sets:
    """Return all sets of at most ``most`` of n candidates.

    >>> small_sets(3, 1).astype(int).tolist()
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    chosen = [members for size in range(most + 1) for members in combinations(range(n), size)]
    sets = np.zeros((len(chosen), n), dtype=bool)
    for row, members in zip(sets, chosen, strict=True):
        row[list(members)] = True
    return sets


def connected_sets(
    block: Indices, start: Iterable[int], neighbors: Callable[[int], Sequence[int]]
) -> Sets:
    """Return all sets of candidates that can be reached from ``start``, each through the others.

    >>> connected_sets(np.array([4, 5]), [4], lambda i: [i + 1]).astype(int).tolist()
    [[0, 0], [1, 0], [1, 1]]
    """
    place = {int(node): i for i, node in enumerate(block)}

    def bits(nodes: Iterable[int]) -> int:
        return sum(1 << place[node] for node in set(nodes) if node in place)

    masks = np.arange(1 << block.size)
    ways = [bits(neighbors(int(node))) for node in block]
    before, reached = np.full_like(masks, -1), masks & bits(start)
    while not np.array_equal(before, reached):
        before = reached.copy()
        for i, way in enumerate(ways):
            reached |= np.where(reached >> i & 1, masks & way, 0)
    connected = masks[reached == masks]
    return np.asarray(connected[:, np.newaxis] >> np.arange(block.size) & 1, dtype=np.bool_)


def explaining_sets(sets: Sets, rows: Vector, y: Vector, noise: float) -> Sets:
    """Return the sets of columns, all of one size, that explain ``y``, and those that nearly do.

    None if no set explains it up to the noise.
    """
    if not len(sets):
        return sets
    error = _errors(sets, rows, y)
    nearly: Sets = sets[error <= AMBIGUOUS * noise]
    return nearly if (error <= noise).any() else sets[:0]


def in_common(sets: Sets, rows: Vector, y: Vector, noise: float) -> Sets:
    """Return what sets that explain ``y`` have in common, if that alone nearly does; else them."""
    common: Sets = np.atleast_2d(sets.all(axis=0))
    if len(sets) > 1 and _errors(common, rows, y)[0] <= AMBIGUOUS * noise:
        return common
    return sets


def _errors(sets: Sets, rows: Vector, y: Vector) -> Vector:
    """Return by how much each set of columns, all of one size, misses ``y`` at most."""
    columns = np.nonzero(sets)[1].reshape(len(sets), -1)
    basis = np.linalg.qr(rows.T[columns].transpose(0, 2, 1))[0]
    miss = y - np.einsum("nij,nj->ni", basis, np.einsum("nij,i->nj", basis, y))
    return np.asarray(np.abs(miss).max(axis=1))
