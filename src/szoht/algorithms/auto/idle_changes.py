"""At the end: what the start had changed, and f does not depend on, is put back to zero."""

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.structures import Coordinates
from szoht.types import Vector

__all__ = ["put_back_idle"]


def put_back_idle(context: SearchContext, start: Vector) -> Steps[None]:
    """Set entries that are left of the start to zero, where that costs nothing.

    A search from zero changes nothing without a gain, one from elsewhere begins with changes.
    """
    best = context.best
    if best is None or not isinstance(context.structure, Coordinates):
        return
    left_over = np.flatnonzero((start != 0) & (best.z != 0))
    if not left_over.size or left_over.size + 1 > context.left:
        return
    values = yield from context.values([_without(best.z, [i]) for i in left_over.tolist()])
    idle = left_over[values <= best.value].tolist()
    if not idle:
        return
    point = _without(best.z, idle)
    value = float((yield from context.values([point]))[0])
    if not value <= best.value:  # any of them may go, but not all
        point, value = _without(best.z, idle[:1]), float(values[left_over == idle[0]][0])
    context.settle(EvaluatedPoint(point, value), 0.0)
    context.explain(f"changes that gain nothing were put back: {np.flatnonzero(best.z != point)}.")


def _without(z: Vector, places: list[int]) -> Vector:
    point = z.copy()
    point[places] = 0.0
    return point
