"""Perturb: replace a third of the support by coordinates that nearly made it, and solve."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.bfgs import Goal, Solution, minimize_on
from szoht.algorithms.auto.state import SearchState

__all__ = ["PerturbSupport"]

PERTURBED_ONE_IN = 3
"""One in so many coordinates of the support is replaced."""

NEARLY = 4
"""Coordinates that may replace them, in units of k."""


@dataclass(frozen=True)
class PerturbSupport:
    """A start elsewhere for an iterated local search over supports."""

    name: str = "perturb"

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return a solution on a perturbed support, better than the incumbent or not."""
        support = state.point.support
        generator = context.generator()
        lost = generator.choice(
            support, size=max(1, support.size // PERTURBED_ONE_IN), replace=False
        )
        near = state.steepest(context, NEARLY * context.structure.size)
        new = generator.choice(near, size=min(near.size, lost.size), replace=False)
        z = state.point.z.copy()
        z[lost] = 0.0
        start = EvaluatedPoint(z, (yield from context.value(z)))
        if math.isnan(start.value):
            return Solution(state.point, state.curvature)
        goal = Goal(accuracy=context.policy.accuracy_narrow)
        return (
            yield from minimize_on(
                context, start, np.union1d(np.flatnonzero(z), new), state.noise, goal
            )
        )
