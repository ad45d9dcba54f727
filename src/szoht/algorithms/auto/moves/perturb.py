"""Perturb: replace a third of the support by coordinates that nearly made it, and solve."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.structure import Structure
from szoht.types import Indices

__all__ = ["PerturbSupport"]


@dataclass(frozen=True)
class PerturbSupport:
    """A start elsewhere for an iterated local search over supports."""

    name: str = "perturb"

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return a solution on a perturbed support, better than the incumbent or not."""
        structure, generator = context.structure, context.generator()
        here = structure.atoms(structure.active(state.point.z))
        lost = _drawn(here, max(1, len(here) // 3), generator)
        near = structure.atoms(state.steepest(context, math.ceil(structure.look)))
        new = _drawn(near, structure.count(lost), generator)
        z = structure.exchanged(state.point.z, lost, new)
        support = np.union1d(structure.active(z), new)
        if not structure.fits(support):  # what is lost or new connects others, or does not connect
            support = _fitting(structure, support, lost, generator)
            z = structure.without(z, np.setdiff1d(structure.free, support))
            if not np.isin(np.flatnonzero(z), support).all():
                return Solution(state.point, state.curvature)
        start = EvaluatedPoint(z, (yield from context.value(z)))
        if math.isnan(start.value):
            return Solution(state.point, state.curvature)
        goal = Goal(accuracy=context.policy.accuracy_narrow)
        return (yield from minimize_on(context, start, support, state.noise, goal))


def _drawn(atoms: list[Indices], count: int, generator: np.random.Generator) -> Indices:
    """Return the coordinates of ``count`` atoms, or of all if there are not so many."""
    chosen = generator.choice(len(atoms), size=min(len(atoms), count), replace=False)
    return np.concatenate([atoms[i] for i in chosen] or [np.empty(0, dtype=np.intp)])


def _fitting(
    structure: Structure, wanted: Indices, lost: Indices, generator: np.random.Generator
) -> Indices:
    """Return coordinates that may stay, many of those that are wanted and few that are lost."""
    worth = np.zeros(structure.d)
    worth[wanted] = generator.uniform(0.5, 1.0, wanted.size)
    worth[lost] = 0.0
    atoms = structure.atoms(np.union1d(wanted, lost))
    each = np.array([worth[atom].sum() for atom in atoms])
    return structure.kept(atoms, each, structure.size)
