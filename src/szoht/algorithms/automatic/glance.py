"""One bold move on the way: it costs a query, and now and then it is all that was needed."""

import numpy as np

from szoht.algorithms.automatic.measure import Point, Talk, value_at
from szoht.algorithms.automatic.search import Search
from szoht.operators.base import largest
from szoht.types import Vector

__all__ = ["glance"]


def glance(search: Search, point: Point, slopes: Vector) -> Talk[None]:
    """Move the k coordinates that look steepest as far as the point is large: one query.

    It seldom helps, but costs next to nothing; and where any large move in the right direction
    is enough, as when a classifier is to be misled, it ends the search early.
    """
    steepest = largest(np.abs(slopes), search.k)
    if steepest.size == 0:
        return
    size = max(1.0, float(np.abs(point.x).max()))
    x = point.x.copy()
    x[steepest] -= size * np.sign(slopes[steepest])
    x = search.operator.prox(x, 0.0)
    search.context.note(x, (yield from value_at(search.context, x)))
