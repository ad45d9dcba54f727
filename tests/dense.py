"""Directions as dense rows."""

import numpy as np


def dense(directions, start=0, stop=None):
    """Return the directions from ``start`` to ``stop``, by default all, as rows of an array."""
    rows = []
    stop = directions.count if stop is None else stop
    for indices, values in directions.slices(start, stop):
        block = np.zeros((len(values), directions.d))
        if indices is None:
            block[:] = values
        else:
            np.put_along_axis(block, indices, values, axis=1)
        rows.append(block)
    return np.concatenate(rows)
