"""Every axis by a long step: extend by the best, and select forward from zero."""

import math

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.pattern_search import pattern_search
from szoht.types import Indices, Vector

__all__ = ["scan_axes", "try_axes"]


def scan_axes(search: Exploration) -> Steps[None]:
    """Try every axis by a long step, extend by the best, and select forward from zero."""
    context, k = search.context, search.context.structure.size
    here = search.incumbent
    unit = search.unit * (0.3 if here.z.any() else 1.0)
    outside = np.setdiff1d(search.pool, here.support)
    gains, at = yield from try_axes(context, here, unit, outside)
    order = np.argsort(-gains, kind="stable")
    best = order[:k][gains[order[:k]] > -math.inf]
    search.scores[order[: 2 * k]] = np.maximum(search.scores[order[: 2 * k]], 0.5)
    context.explain(f"all axes tried by long steps: best are {best}.")
    if here.z.any() and best.size:
        yield from search.extend(context.structure.whole(np.union1d(here.support, best)))
    d = context.structure.free.size
    if d > 4 * search.look and here.z.any():
        return
    zero = EvaluatedPoint(np.zeros_like(here.z), context.first_value)
    if search.incumbent.z.any():
        zero = yield from context.point(np.zeros_like(here.z))
        gains, at = yield from try_axes(context, zero, search.unit, search.pool)
        order = np.argsort(-gains, kind="stable")
    yield from _select_forward(search, zero, order[: 2 * k], at)


def _select_forward(
    search: Exploration, zero: EvaluatedPoint, order: Indices, at: Vector
) -> Steps[None]:
    """Greedy forward selection: the best axis, then one after the other with a short solve."""
    context, k = search.context, search.context.structure.size
    structure = context.structure
    z = zero.z.copy()
    z[order[0]] = at[order[0]]
    here = yield from context.point(structure.clip(z))
    for _ in range(k - 1):
        trials = []
        for i in order:
            for step in (1.0, -1.0, 0.3, -0.3):
                if here.z[i] == 0:
                    z = here.z.copy()
                    z[i] = step * search.unit[i]
                    trials.append(structure.clip(z))
        if not trials:
            return
        values = yield from context.values(trials)
        if not np.isfinite(values).any():
            return
        best = int(np.nanargmin(values))
        here = EvaluatedPoint(trials[best], float(values[best]))
        context.note(here)
        support = here.support
        face = search.face(support, 12 * support.size)
        local = yield from pattern_search(
            face, face.local(here), 0.3 * search.unit[support], context.generator(), smallest=1e-2
        )
        here = face.point(local)


def try_axes(
    context: SearchContext, point: EvaluatedPoint, unit: Vector, coordinates: Indices
) -> Steps[tuple[Vector, Vector]]:
    """Try each coordinate one unit up and down; return the gains, best of both, and where."""
    structure = context.structure
    gains = np.full(point.z.size, -math.inf)
    best = np.zeros(point.z.size)
    for sign in (1.0, -1.0):
        z = point.z[coordinates]
        low, high = structure.low[coordinates], structure.high[coordinates]
        steps = np.clip(z + sign * unit[coordinates], low, high) - z
        moving = steps != 0
        where = coordinates[moving]
        if not where.size:
            continue
        changes = yield from context.axis_differences(point, where, steps[moving])
        changes = np.where(np.isfinite(changes), changes, math.inf)
        better = -changes > gains[where]
        gains[where[better]] = -changes[better]
        best[where[better]] = (z + steps)[moving][better]
    return gains, best
