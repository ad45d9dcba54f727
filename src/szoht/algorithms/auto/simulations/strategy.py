"""An evolution strategy by ranks, whose points share a seed."""

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import Steps
from szoht.types import Indices, Vector

__all__ = ["GENERATION", "Strategy"]

GENERATION = 8
"""Points of one generation, in pairs x + s and x - s."""


@dataclass(eq=False)
class Strategy:
    """A mean ``z`` that moves by weighted ranks of pairs around it, all on one seed.

    The length of steps is adapted cumulatively (Ostermeier, Gawelczyk, Hansen 1994); weights are
    normal scores of the ranks, negative for the worse half (Arnold 2006).
    """

    context: SearchContext
    z: Vector
    on: Indices
    scale: Vector
    rng: np.random.Generator
    step: float = 1.0
    least: float = math.inf
    path: list[Vector] = field(default_factory=list)

    def run(self, spend: int) -> Steps[None]:
        """Spend so many values at most."""
        stop = self.context.spent + spend
        n, size = self.on.size, GENERATION
        shares = (np.arange(1, size + 1) - 0.375) / (size + 0.25)
        weights = np.array([NormalDist().inv_cdf(1 - share) for share in shares])
        weights /= weights[weights > 0].sum()
        mass = 1 / float(weights @ weights)
        memory = (mass + 2) / (n + mass + 5)
        trail = np.zeros(n)
        while n and self.context.spent + size <= stop:
            draws = self.rng.standard_normal((size // 2, n))
            draws = np.concatenate([draws, -draws])
            values = yield from self.context.values_on_one_seed(
                [self._moved(self.step * draw) for draw in draws]
            )
            values = np.where(np.isnan(values), math.inf, values)
            if np.all(values == values[0]):
                if not self.path or values[0] > self.least:  # a plateau, and not the best one
                    self.step *= 1.5
                continue
            self.least = min(self.least, float(values.min()))
            move = weights @ draws[np.argsort(values, kind="stable")]
            self.z = self._moved(self.step * move)
            self.path.append(self.z)
            trail = (1 - memory) * trail + math.sqrt(memory * (2 - memory) * mass) * move
            longer = float(np.linalg.norm(trail)) / math.sqrt(n) - 1
            self.step *= math.exp(min(1.0, memory / (1 + memory) * longer))

    def answers(self) -> list[Vector]:
        """Return the points that may be the answer: the mean, now and some steps before."""
        return [*self.path[-6:-5], self.z]

    def _moved(self, move: Vector) -> Vector:
        z = self.z.copy()
        z[self.on] += self.scale[self.on] * move
        return self.context.structure.clip(z)
