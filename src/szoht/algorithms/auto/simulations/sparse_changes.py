"""A sparse direction that is improved by few random changes, judged where it does badly."""

from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.simulations.strategy import GENERATION
from szoht.algorithms.auto.simulations.trials import Trials
from szoht.types import Vector

__all__ = ["SparseChanges"]

FIRST_SEEDS, ALL_SEEDS = 4, 8
"""On which the leader is known before it is challenged, and on which a challenger is compared."""

REACH = 2.0
"""The decimal logarithm of how much larger and smaller a new entry may be than those there are: its
unit is not known."""

ALTERED, DROPPED, FACTOR_SPREAD = 0.2, 0.25, 0.5
"""The share of changes that concern an entry there is, of these how many drop it, and the spread
of the decimal logarithm of the factor for the others."""


@dataclass(eq=False)
class SparseChanges:
    """The leader so far and its values; ``chances`` are those of coordinates to be changed.

    A generation of challengers is asked on a seed on which the leader does badly, since nothing can
    be gained where it does well, and the best one then on the leader's other seeds, whose values
    are known. Only what is better on these too becomes the leader.
    """

    context: SearchContext
    leader: Trials
    scale: Vector
    chances: Vector
    rng: np.random.Generator

    def run(self, spend: int) -> Steps[None]:
        """Spend so many values at most."""
        stop = self.context.spent + spend
        while stop - self.context.spent >= GENERATION + ALL_SEEDS:
            values, challenger = np.array(self.leader.values), None
            if values.size >= FIRST_SEEDS and np.any(values != values[0]):
                challenger = yield from self._challenger(self._hard_seed(values))
            if challenger is None:
                yield from self._ask(self.leader)
                continue
            self.leader = challenger
            while len(challenger.values) < min(ALL_SEEDS, stop - self.context.spent):
                yield from self._ask(challenger)

    def answers(self) -> list[Vector]:
        """Return the points that may be the answer."""
        return [self.leader.z]

    def _hard_seed(self, values: Vector) -> int:
        """Return one of the third of the leader's seeds on which it is worst."""
        order = np.argsort(-values, kind="stable")
        return int(order[self.rng.integers(max(1, values.size // 3))])

    def _challenger(self, hard: int) -> Steps[Trials | None]:
        """Return a point that is better than the leader on its seeds, if there is one."""
        leader, rng = self.leader, self.rng
        points = [self._changed(leader.z) for _ in range(GENERATION)]
        values = yield from self.context.values(points, leader.samples[hard])
        best = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
        gain = leader.values[hard] - values[best]
        if not gain > 0:
            return None
        challenger = Trials(points[best])
        challenger.add(leader.samples[hard], values[best])
        others = np.delete(np.arange(len(leader.values)), hard)
        lost = 0.0
        for count, place in enumerate(rng.permutation(others)[:ALL_SEEDS]):
            value = yield from self._ask(challenger, int(place))
            lost += value - leader.values[place]
            # the gain that it was chosen by counts a little: it may make up for one other seed
            if not lost <= (gain if count == 0 else 0.0):
                return None
        return challenger

    def _ask(self, trials: Trials, place: int | None = None) -> Steps[float]:
        """Ask for one more value, on a seed of the leader or on a fresh one."""
        outer = self.context.outer
        sample = outer.next_sample() if place is None else self.leader.samples[place]
        values = yield from self.context.values([trials.z], sample)
        trials.add(sample, values[0])
        return trials.values[-1]

    def _changed(self, z: Vector) -> Vector:
        """Return the direction with one to three entries changed, added or dropped."""
        structure, rng = self.context.structure, self.rng
        new = z / self.scale
        size = 10 ** rng.uniform(-REACH, REACH) * float(
            np.median(np.abs(new[new != 0])) if new.any() else 1.0
        )
        for _ in range(int(4 ** rng.random())):
            on = np.flatnonzero(new)
            if on.size > 1 and rng.random() < ALTERED:
                factor = 10 ** rng.normal(0.0, FACTOR_SPREAD) if rng.random() >= DROPPED else 0.0
                new[rng.choice(on)] *= factor
            else:
                new[rng.choice(new.size, p=self.chances)] = size * rng.standard_normal()
        on = np.flatnonzero(new)
        if on.size > structure.size:
            new[rng.choice(on, on.size - structure.size, replace=False)] = 0.0
        return structure.clip(self.scale * new / np.abs(new).max())
