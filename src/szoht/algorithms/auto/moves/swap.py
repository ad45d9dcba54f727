"""Swap: exchange the least important coordinates for the steepest ones."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.bfgs import Goal, Solution, minimize_on
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.structures.coordinates import importance
from szoht.types import Indices

__all__ = ["Swap"]

PAIRS = 15
"""Exchanges of one for one that are tried at a time."""


@dataclass(frozen=True)
class Swap:
    """Exchange several at once, then one by one.

    If ``cold``, each solve begins with a long step, whatever is known of the curvature: that is
    how a coordinate is found whose slope shows little of what lies behind it.
    """

    cold: bool = False

    @property
    def name(self) -> str:
        """What `explain` calls it."""
        return "cold swap" if self.cold else "swap"

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return the first exchange that gains, or the incumbent."""
        assert state.slopes is not None, "slopes have just been measured"  # noqa: S101
        support = state.point.support
        cost = importance(state.point.z, support, state.curvature)
        drops = support[np.argsort(cost, kind="stable")]
        adds = state.steepest(context, max(2 * context.structure.size, PAIRS))
        adds = adds[np.argsort(-np.abs(state.slopes.values[adds]), kind="stable")]
        for out, new in _exchanges(drops, adds):
            solution = yield from self._exchange(context, state, out, new)
            if state.gains(solution.point):
                context.explain(f"coordinates {out} exchanged for {new}.")
                return solution
        return Solution(state.point, state.curvature)

    def _exchange(
        self, context: SearchContext, state: SearchState, out: Indices, new: Indices
    ) -> Steps[Solution]:
        z = state.point.z.copy()
        z[out] = 0.0
        start = EvaluatedPoint(z, (yield from context.value(z)))
        if math.isnan(start.value):
            return Solution(state.point, state.curvature)
        support = np.union1d(np.flatnonzero(z), new)
        goal = Goal(accuracy=context.policy.accuracy_narrow, value=state.point.value)
        curvature = None if self.cold else state.carried(support)
        return (
            yield from minimize_on(context, start, support, state.noise, goal, curvature=curvature)
        )


def _exchanges(drops: Indices, adds: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Yield what to exchange for what: a half, a quarter, ... of the support, then single pairs."""
    count = min(drops.size // 2, adds.size)
    while count > 1:
        yield drops[:count], adds[:count]
        count //= 2
    for i, j in sorted(np.ndindex(drops.size, adds.size), key=sum)[:PAIRS]:
        yield drops[i : i + 1], adds[j : j + 1]
