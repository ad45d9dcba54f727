"""Exchange by a model: second derivatives tell what exchanges gain."""

from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.hessian import hessian_cost, measure_hessian
from szoht.algorithms.auto.records import Curvature, Steps
from szoht.algorithms.auto.restricted.best_subset import (
    Quadratic,
    best_subset,
    exchanged,
    ranked_exchanges,
)
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.scale_free import check_scale, held_direction
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.structure import Structure
from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.algorithms.auto.structures.free_coordinates import FreeCoordinates
from szoht.types import Indices, Vector

__all__ = ["ModelExchange", "is_free", "is_plain"]

KEPT_PROMISE = 0.01
"""A point whose gain is within this share of what the model promised needs no further solve."""

USABLE_PROMISE = 0.5
"""A model whose promises are kept to this share at least is reliable elsewhere, too."""

MODEL_RESTARTS = 30
"""Perturbed supports from which the model is searched again; they cost no query."""

FARTHEST = 100.0
"""A step of more units, or sizes of the point, leads to where no model holds: f is not asked."""

SINGLE_EXCHANGES = 3
"""Exchanges of one coordinate for another that are tried where several at once gain nothing."""


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

    The model is that of the support and the ``width`` steepest coordinates besides. If what it
    promises does not come true, single exchanges are tried, of which it says more.
    """

    width: int
    name: str = "exchange by a model"

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return the solution on a support that the model prefers, or the incumbent."""
        structure = context.structure
        support = structure.active(state.point.z)
        room = structure.size - structure.count(support)
        filled = np.union1d(support, state.steepest(context, room)) if room > 0 else support
        among = np.union1d(filled, state.steepest(context, self.width))
        solution = yield from _exchange(context, state, among, filled)
        reliable = context.hessian.reliable or context.hessian.is_of(structure.to_x(state.point.z))
        if not (reliable or state.gains(solution.point)):
            context.hessian.forget()
            solution = yield from _exchange(context, state, among, filled)
        return solution


def _exchange(
    context: SearchContext, state: SearchState, among: Indices, filled: Indices
) -> Steps[Solution]:
    """Return a better solution, or the incumbent."""
    assert state.slopes is not None, "slopes have just been measured"  # noqa: S101
    incumbent, structure = Solution(state.point, state.curvature), context.structure
    if not context.gradients and hessian_cost(context, among) > _affordable(context):
        return incumbent
    yield from check_scale(context, state.point)
    hessian = yield from measure_hessian(context, state, among)
    if hessian is None:
        return incumbent
    here = state.point
    z, slopes = here.z[among], state.slopes.values[among]
    kept = np.flatnonzero(~np.isin(among, np.concatenate(structure.atoms(among))))
    held = held_direction(context, here.z)
    model = Quadratic.around(z, slopes, hessian, kept, None if held is None else held[among])
    for chosen in _chosen(context, model, np.searchsorted(among, filled)):
        if np.array_equal(among[chosen], structure.active(here.z)):
            continue
        solution = yield from _solve(context, state, model, among, chosen)
        if state.gains(solution.point):
            context.explain(f"a model of {among.size} coordinates exchanged some of them.")
            return solution
    return incumbent


def _affordable(context: SearchContext) -> float:
    """Return what a model may cost: twice of what was spent, and half of what is left."""
    return min(2 * context.spent, 0.5 * context.left)


def _chosen(context: SearchContext, model: Quadratic, start: Indices) -> list[Indices]:
    """Return the supports to try: the best one, and those of the best single exchanges."""
    generator = context.generator()
    best, _ = best_subset(model, start, restarts=MODEL_RESTARTS, generator=generator)
    pairs, gains = ranked_exchanges(model, start, SINGLE_EXCHANGES)
    return [best, *(exchanged(start, pair) for pair in pairs[gains > 0])]


def _solve(
    context: SearchContext, state: SearchState, model: Quadratic, among: Indices, chosen: Indices
) -> Steps[Solution]:
    """Return the solution on a support, from where the model is least on it."""
    known, here, support = context.hessian, state.point, among[chosen]
    z, inverse, gain = model.minimum(chosen)
    promised = here.value - gain - model(here.z[among])
    there = np.zeros(here.z.size)
    there[support] = z
    far = np.abs(there - here.z).max() / max(1.0, float(np.abs(here.z).max()))
    if not far <= FARTHEST:
        return Solution(here, None)
    point = yield from context.point(context.structure.clip(there))
    curvature = Curvature(support, inverse)
    hoped = here.value - promised
    known.reliable = bool(here.value - point.value >= USABLE_PROMISE * hoped)
    refuted = known.sums and known.scale_free and not known.reliable
    # where only the direction matters, and not by way of a sum, the Hessian is another everywhere
    known.reliable = known.reliable and (known.sums or not known.scale_free)
    if refuted:
        known.sums = False
        known.forget()  # what is the same everywhere is something else
    if abs(point.value - promised) <= KEPT_PROMISE * hoped:
        return Solution(point, curvature)
    if not np.isfinite(point.value):
        return Solution(here, None)
    goal = Goal(accuracy=context.policy.accuracy_narrow, value=here.value)
    return (yield from minimize_on(context, point, support, state.noise, goal, curvature=curvature))
