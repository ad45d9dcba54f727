"""One long step down the steepest slopes: it costs a query, and now and then it is all it takes."""

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.types import Vector

__all__ = ["line_probe"]


def line_probe(context: SearchContext, point: EvaluatedPoint, slopes: Vector) -> Steps[None]:
    """Move the atoms that look steepest as far as the point is large, or one unit: one query.

    Where any large move in the right direction is enough, as when a classifier is to be
    misled, it ends the search early.
    """
    structure = context.structure
    steepest = structure.head(slopes, structure.size, np.empty(0, dtype=np.intp))
    if steepest.size == 0:
        return
    length = max(1.0, float(np.abs(point.z).max()))
    z = point.z.copy()
    z[steepest] -= length * np.sign(slopes[steepest])
    z = structure.prune(structure.clip(z), None, structure.size)
    if context.speculation.active:
        context.speculation.propose(fitting=[structure.to_x(z)])
        return
    yield from context.point(z)
