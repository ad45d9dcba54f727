"""Which of a few points has the least mean, from values on common seeds."""

import math
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.records import Steps
from szoht.types import Vector

__all__ = ["PairedRace"]

FEWEST_TURNS, STANDARD_ERRORS = 3, 2.0
"""Values of a point before it can lose, and by how many standard errors of the difference."""


@dataclass(eq=False)
class PairedRace:
    """Values of points that compete: on a seed all points are asked that are still in the race.

    What a seed does to all points alike cancels in their differences. Means are compared, not
    robust centers: the mean is what is minimized, and a rare disaster is part of it.
    """

    context: SearchContext
    points: list[Vector]
    taken: list[list[float]] = field(init=False)

    def __post_init__(self) -> None:
        self.points = list({point.tobytes(): point for point in self.points}.values())
        self.taken = [[] for _ in self.points]

    def run(self, total: int) -> Steps[Vector]:
        """Spend up to ``total`` values, until one point is left; return the leader."""
        alive = list(range(len(self.points)))
        while total >= len(alive):
            yield from self._turn(alive)
            total -= len(alive)
            if len(self.taken[alive[0]]) >= FEWEST_TURNS:
                alive = self._survivors(alive)
                if len(alive) == 1:
                    break
        return self.points[min(alive, key=self._mean)]

    def measure(self, point: Vector, count: int) -> Steps[Location]:
        """Return the mean of ``count`` more values of a point, and its standard error.

        Those of the race are left out, for a point may have won it by them.
        """
        values = []
        for _ in range(count):
            values += (yield from self.context.values_on_one_seed([point])).tolist()
        deviation = float(np.std(values, ddof=1)) if count > 1 else math.inf
        return Location(float(np.mean(values)), deviation / math.sqrt(count))

    def _turn(self, alive: list[int]) -> Steps[None]:
        values = yield from self.context.values_on_one_seed([self.points[i] for i in alive])
        for i, value in zip(alive, values, strict=True):
            self.taken[i].append(math.inf if math.isnan(value) else float(value))

    def _mean(self, place: int) -> float:
        values = self.taken[place]
        return float(np.mean(values)) if values else np.inf

    def _survivors(self, alive: list[int]) -> list[int]:
        values = np.array([self.taken[i] for i in alive])
        whole = np.isfinite(values).all(axis=1)
        if not whole.any():
            return alive
        alive, values = [i for i, one in zip(alive, whole, strict=True) if one], values[whole]
        behind = values - values[int(np.argmin(values.mean(axis=1)))]
        error = behind.std(axis=1, ddof=1) / math.sqrt(values.shape[1])
        lost = behind.mean(axis=1) > STANDARD_ERRORS * error
        return [i for i, out in zip(alive, lost, strict=True) if not out]
