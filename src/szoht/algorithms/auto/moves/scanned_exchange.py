"""Exchange one atom for the best of all others, each tried by a long step: needs no slopes."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.moves.axis_scan import try_axes
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.pattern_search import pattern_search
from szoht.types import Indices, Vector

__all__ = ["ScannedExchange"]

ENTERING = 3
"""Coordinates that get a solve of their own, the best of those that were tried."""


@dataclass
class ScannedExchange:
    """One atom leaves, the cheapest first, then the next; all others are tried in its place.

    On functions that change in steps, which coordinates are chosen matters more than their exact
    values: solves are short, and go on only where they have gained.
    """

    name: str = "scanned exchange"
    keeps_support: bool = False
    turns: int = 0
    support: tuple[int, ...] = ()

    @property
    def all_tried(self) -> bool:
        """Whether every atom of the incumbent has left once without a gain."""
        return self.turns >= max(1, len(self.support))

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        context, structure = search.context, search.context.structure
        before = search.incumbent
        support = structure.active(before.z)
        atoms = structure.atoms(support)
        if not atoms:
            return
        key = tuple(support.tolist())
        self.turns = self.turns + 1 if key == self.support else 0
        self.support = key
        losses = yield from search.losses(before, atoms)
        out = atoms[int(np.argsort(losses, kind="stable")[self.turns % len(atoms)])]
        z = structure.without(before.z, out)
        point = EvaluatedPoint(z, (yield from context.value(z)))
        if math.isnan(point.value):
            return
        left = structure.active(z)
        if left.size:
            point = yield from self._solve(search, point, left, 0.1, 6)
        outside = np.setdiff1d(search.pool, support)
        most = max(1, int(search.slice()))
        if outside.size > most:
            outside = search.random_support(most, support)
        length = 10 ** context.generator().uniform(-1, 0)
        gains, at = yield from try_axes(context, point, length * search.unit, outside)
        for i in np.argsort(-gains, kind="stable")[:ENTERING]:
            if gains[i] == -math.inf:
                return
            yield from self._enter(search, point, int(i), at[i])
        if search.incumbent.value < before.value:
            support = structure.active(search.incumbent.z)
            yield from self._solve(search, search.incumbent, support, 0.1, 24)

    def _enter(self, search: Exploration, point: EvaluatedPoint, i: int, at: float) -> Steps[None]:
        structure = search.context.structure
        z = point.z.copy()
        z[i] = at
        support = structure.whole(structure.active(z))
        if not structure.fits(support):
            return
        start = yield from search.context.point(z)
        if math.isfinite(start.value):
            yield from self._solve(search, start, support, 0.1, 12)

    def _solve(
        self, search: Exploration, start: EvaluatedPoint, support: Indices, length: float, n: int
    ) -> Steps[EvaluatedPoint]:
        """Run a pattern search of ``n`` queries per coordinate."""
        face = search.face(support, n * support.size)
        steps: Vector = length * search.unit[support]
        generator = search.context.generator()
        local = yield from pattern_search(face, face.local(start), steps, generator, smallest=1e-2)
        return face.point(local)
