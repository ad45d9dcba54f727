"""Join and prune: let coordinates join, solve well, drop the least important a few at a time."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.moves.extend import keep_only
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.state import SearchState

__all__ = ["JoinAndPrune", "drop_least"]


@dataclass(frozen=True)
class JoinAndPrune:
    """Let ``times`` as many atoms join as may stay, or one in ``share`` of that, at least one.

    With many of them the solve is one without a limit on their number: over weights, what stands
    out there is a better guess than any exchange.

    Which coordinates can go is seen only once the others have taken over what they did: hence
    a solve after each third of those that are too many.
    """

    share: int = 1
    times: int = 1

    @property
    def name(self) -> str:
        """What `explain` calls it."""
        if self.times > 1:
            return "join-many-and-prune"
        return "join-and-prune" if self.share == 1 else "join-few-and-prune"

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return the solution on the support that is left."""
        structure = context.structure
        size = structure.size
        support = structure.active(state.point.z)
        count = max(1, self.times * size // self.share)
        wide = np.union1d(support, state.steepest(context, count))
        solution = yield from minimize_on(
            context,
            state.point,
            wide,
            state.noise,
            Goal(accuracy=context.policy.accuracy_narrow, steps=3 * context.policy.steps_wide),
            slopes=state.known_slopes(context, wide) if state.exact else None,
            curvature=state.transfer_curvature(wide),
        )
        while not structure.fits(active := structure.active(solution.point.z)):
            excess = structure.count(active) - size
            solution = yield from drop_least(
                context, state.noise, solution, max(1, excess // 3), state.point.value
            )
        return solution


def drop_least(
    context: SearchContext,
    noise: NoiseModel,
    solution: Solution,
    count: int,
    value: float = -math.inf,
) -> Steps[Solution]:
    """Drop the least important coordinates of a solution and solve on the others."""
    policy, structure = context.policy, context.structure
    left = structure.count(structure.active(solution.point.z)) - count
    point, curvature = yield from keep_only(context, noise, solution, left)
    if math.isnan(point.value):
        return Solution(point, None)
    last = left <= structure.size
    goal = Goal(
        accuracy=policy.accuracy_narrow if last else policy.accuracy_wide,
        steps=20 if last else policy.steps_wide,
        value=value if last else -math.inf,
    )
    support = structure.active(point.z)
    if curvature is not None and curvature.support.size != support.size:
        curvature = curvature.transfer(support)
    return (yield from minimize_on(context, point, support, noise, goal, curvature=curvature))
