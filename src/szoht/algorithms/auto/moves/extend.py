"""Extend and prune: solve with all candidates, keep the best, solve again."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import Confidence, Curvature, EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_in_box, minimize_on
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.sensing.axis_slopes import slope_points
from szoht.algorithms.auto.state import SearchState
from szoht.types import Indices

__all__ = ["ExtendAndPrune", "keep_only"]


@dataclass(frozen=True)
class ExtendAndPrune:
    """Let the candidates join, solve, hard-threshold by importance, solve on what is left."""

    name: str = "extend-and-prune"

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return the solution on the pruned support."""
        assert state.slopes is not None, "slopes have just been measured"  # noqa: S101
        policy, structure = context.policy, context.structure
        size = structure.size
        current = structure.active(state.point.z)
        new = state.slopes.candidates
        if state.slopes.confidence is Confidence.RECOVERED and new.size:
            new = np.concatenate(structure.atoms(new)[:size])
        support = np.union1d(current, new)
        curvature = state.transfer_curvature(support) if current.size else None
        slopes = state.known_slopes(context, support)
        trial = state.point
        if not structure.fits(support):
            wide = yield from self._wide(context, state, support)
            trial, curvature = yield from keep_only(context, state.noise, wide, size)
            support, slopes = structure.active(trial.z), None
        if support.size == 0 or math.isnan(trial.value):
            return Solution(state.point, state.curvature)
        # where others may be steeper than those that were tried, it is too early to polish
        polish = np.array_equal(support, current) and state.trusted
        goal = Goal(
            accuracy=policy.accuracy_polish if polish else policy.accuracy_narrow,
            value=state.point.value,
            patient=True,
            unequal=state.slopes.confidence is Confidence.RECOVERED,
        )
        if curvature is not None and curvature.support.size != support.size:
            curvature = curvature.transfer(support)
        return (
            yield from minimize_in_box(
                context, trial, support, state.noise, goal, slopes=slopes, curvature=curvature
            )
        )

    def _wide(
        self, context: SearchContext, state: SearchState, support: Indices
    ) -> Steps[Solution]:
        assert state.slopes is not None, "slopes have just been measured"  # noqa: S101
        policy = context.policy
        # more steps where sensing was much dearer than solving
        steps = state.slopes.cost // (policy.steps_wide * support.size)
        accuracy = policy.accuracy_narrow if steps > policy.steps_wide else policy.accuracy_wide
        goal = Goal(steps=max(policy.steps_wide, steps), accuracy=accuracy, settled=True)
        slopes = state.known_slopes(context, support)
        return (
            yield from minimize_on(context, state.point, support, state.noise, goal, slopes=slopes)
        )


def keep_only(
    context: SearchContext, noise: NoiseModel, solution: Solution, size: int
) -> Steps[tuple[EvaluatedPoint, Curvature | None]]:
    """Keep the most important atoms of a solution; the point is measured."""
    structure, curvature = context.structure, solution.curvature
    pruned = structure.prune(solution.point.z, curvature, size)
    if context.speculation.active:
        left = structure.active(pruned)
        steps = np.full(left.size, noise.axis_step)
        context.speculation.propose(fitting=slope_points(context, pruned, left, steps))
    point = EvaluatedPoint(pruned, (yield from context.value(pruned)))
    context.note(point)
    if curvature is None:
        return point, None
    kept = np.isin(curvature.support, structure.active(pruned))
    return point, curvature.restrict(np.flatnonzero(kept))
