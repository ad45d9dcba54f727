"""Columns of the Hessian by differences of gradients."""

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.sensing.axis_slopes import axis_steps
from szoht.types import Indices

__all__ = ["ensure_columns"]

COLUMN_STEP = 1e-4
"""Length of a difference of gradients, in units or sizes of the point."""


def ensure_columns(
    context: SearchContext, point: EvaluatedPoint, coordinates: Indices
) -> Steps[bool]:
    """Measure the columns that are missing, one gradient each; False if a gradient is.

    They are those of wherever they were measured first: what a model promises is measured on f.
    """
    here = yield from context.gradient_at(point)
    size = max(1.0, float(np.abs(point.z).max()))
    for i in context.columns.missing(coordinates):
        step = axis_steps(context, point.z, np.array([i]), np.array([COLUMN_STEP * size]))
        z = point.z.copy()
        z[i] += step[0]
        there = yield from context.gradient_at(EvaluatedPoint(z, np.nan))
        if here is None or there is None or step[0] == 0:
            return False
        context.columns.add(int(i), (there - here) / step[0])
    return True
