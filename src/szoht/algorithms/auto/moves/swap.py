"""Swap: exchange the least important coordinates for the steepest ones."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.state import SearchState
from szoht.types import Indices

__all__ = ["Swap"]

LOOKED_AT = 4
"""So many times the pairs that are tried are looked at where not all go together."""


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
        structure = context.structure
        drops = structure.atoms(structure.active(state.point.z))
        adds = structure.atoms(
            state.steepest(context, max(2 * structure.size, context.policy.swap_pairs))
        )
        if not (drops and adds):
            return Solution(state.point, state.curvature)
        cost = structure.importance(state.point.z, drops, state.curvature)
        promise = structure.promise(state.slopes.values)
        gain = np.array([np.linalg.norm(promise[atom]) for atom in adds])
        drops = [drops[i] for i in np.argsort(cost, kind="stable")]
        adds = [adds[i] for i in np.argsort(-gain, kind="stable")]
        support, at_once = structure.active(state.point.z), _at_once(context)

        def fits(out: Indices, new: Indices) -> bool:
            return structure.independent or structure.fits(
                structure.whole(np.union1d(np.setdiff1d(support, out), new))
            )

        pairs = _exchanges(drops, adds, context.policy.swap_pairs, fits)
        for first in range(0, len(pairs), at_once):
            some = pairs[first : first + at_once]
            tasks = [self._exchange(context, state, out, new) for out, new in some]
            solutions = yield from context.together(tasks)
            best = min(range(len(some)), key=lambda i: solutions[i].point.value)
            if state.gains(solutions[best].point):
                out, new = some[best]
                context.explain(f"coordinates {out} exchanged for {new}.")
                return solutions[best]
        return Solution(state.point, state.curvature)

    def _exchange(
        self, context: SearchContext, state: SearchState, out: Indices, new: Indices
    ) -> Steps[Solution]:
        structure = context.structure
        z = structure.exchanged(state.point.z, out, new)
        support = np.union1d(structure.active(z), new)
        if not structure.fits(support):
            return Solution(state.point, state.curvature)
        start = EvaluatedPoint(z, (yield from context.value(z)))
        if math.isnan(start.value):
            return Solution(state.point, state.curvature)
        goal = Goal(accuracy=context.policy.accuracy_narrow, value=state.point.value)
        curvature = None if self.cold else state.transfer_curvature(support)
        return (
            yield from minimize_on(context, start, support, state.noise, goal, curvature=curvature)
        )


def _at_once(context: SearchContext) -> int:
    """Return how many exchanges share their plans: one, or about half as many as plans are wide."""
    return max(1, context.speculation.width // 2)


def _exchanges(
    drops: list[Indices],
    adds: list[Indices],
    n_pairs: int,
    fits: Callable[[Indices, Indices], bool],
) -> list[tuple[Indices, Indices]]:
    """Return what to exchange for what: a half, a quarter, ... of the support, then pairs."""
    found, count = [], min(len(drops) // 2, len(adds))
    while count > 1:
        found.append((np.concatenate(drops[:count]), np.concatenate(adds[:count])))
        count //= 2
    near = sorted(np.ndindex(len(drops), len(adds)), key=sum)[: LOOKED_AT * n_pairs]
    pairs = ((drops[i], adds[j]) for i, j in near)
    return found + list(islice((pair for pair in pairs if fits(*pair)), n_pairs))
