"""Exchange by a model: columns of the Hessian, one gradient each, tell what exchanges gain."""

from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.hessian import ensure_columns
from szoht.algorithms.auto.records import Curvature, Steps
from szoht.algorithms.auto.restricted.best_subset import Quadratic, best_subset
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.structure import Structure
from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.algorithms.auto.structures.free_coordinates import FreeCoordinates
from szoht.types import Vector

__all__ = ["ModelExchange", "is_free", "is_plain"]

KEPT_PROMISE = 0.01
"""A point whose gain is within this share of what the model promised needs no further solve."""

MODEL_RESTARTS = 30
"""Perturbed supports from which the model is searched again; they cost no query."""


def is_plain(structure: Structure) -> bool:
    """Tell whether any coordinates may be together, and each is an atom."""
    return type(structure) in (Coordinates, FreeCoordinates)


def is_free(structure: Structure, z: Vector) -> bool:
    """Tell whether a model without bounds is right: atoms are coordinates, and none is at one."""
    if not is_plain(structure):
        return False
    free = structure.free
    one_sided = (structure.low[free] == 0) | (structure.high[free] == 0)
    at_bound = (z != 0) & ((z <= structure.low) | (z >= structure.high))
    return not (one_sided.any() or at_bound.any())


@dataclass(frozen=True)
class ModelExchange:
    """Search the supports of a quadratic model, and solve on the best of them.

    The model is that of the support and the ``width`` steepest coordinates besides.
    """

    width: int
    name: str = "exchange by a model"

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return the solution on the best support of the model, or the incumbent."""
        structure, incumbent = context.structure, Solution(state.point, state.curvature)
        support = structure.active(state.point.z)
        room = structure.size - structure.count(support)
        filled = np.union1d(support, state.steepest(context, room)) if room > 0 else support
        among = np.union1d(filled, state.steepest(context, self.width))
        if not (yield from ensure_columns(context, state.point, among)):
            return incumbent
        slopes = yield from context.gradient_at(state.point)
        if slopes is None:
            return incumbent
        kept = np.flatnonzero(~np.isin(among, np.concatenate(structure.atoms(among))))
        model = Quadratic.around(
            state.point.z[among], slopes[among], context.columns.block(among), kept
        )
        start = np.searchsorted(among, filled)
        chosen, gain = best_subset(
            model, start, restarts=MODEL_RESTARTS, generator=context.generator()
        )
        if np.array_equal(among[chosen], support):
            return incumbent
        promised = state.point.value - gain - model(state.point.z[among])
        z, inverse, _ = model.minimum(chosen)
        there = np.zeros(structure.d)
        there[among[chosen]] = z
        point = yield from context.point(structure.clip(there))
        if not np.isfinite(point.value):
            return incumbent
        curvature = Curvature(among[chosen], inverse)
        if abs(point.value - promised) <= KEPT_PROMISE * (state.point.value - promised):
            return Solution(point, curvature)
        goal = Goal(accuracy=context.policy.accuracy_narrow, value=state.point.value)
        return (
            yield from minimize_on(
                context, point, among[chosen], state.noise, goal, curvature=curvature
            )
        )
