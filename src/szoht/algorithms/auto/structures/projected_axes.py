"""Steps along axes that a projection brings back into a set."""

from collections.abc import Callable

import numpy as np

from szoht.core.directions import ArrayDirections, Directions
from szoht.types import Indices, Vector

__all__ = ["projected_axes"]


def projected_axes(
    x: Vector, support: Indices, offsets: Vector, project: Callable[[Vector], Vector]
) -> Directions:
    """Return what steps along axes add to ``x`` if their ends are projected.

    A projection keeps zeros, so that a step changes the non-zeros of ``x`` and its own coordinate.
    """
    here = np.flatnonzero(x)
    indices = np.empty((len(support), here.size + 1), dtype=np.intp)
    values = np.zeros(indices.shape)
    outside = np.setdiff1d(np.arange(x.size), here, assume_unique=True)
    for row, (i, offset) in enumerate(zip(support, offsets, strict=True)):
        moved = x.copy()
        moved[i] += offset
        moved = project(moved)
        # one more column: the coordinate itself, or any other that stays zero
        own = i if x[i] == 0 else outside[0] if outside.size else here[0]
        indices[row] = np.append(here, own)
        values[row, :-1] = moved[here] - x[here]
        values[row, -1] = moved[i] if x[i] == 0 else 0.0
    if not outside.size:  # no column is left over
        indices, values = indices[:, :-1], values[:, :-1]
    return ArrayDirections(d=x.size, indices=indices, values=values)
