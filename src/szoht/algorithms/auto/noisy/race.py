"""Which of a few points is best under noise: successive elimination (Maron and Moore 1997)."""

from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.location import Location, huber_location, survivors
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import Steps
from szoht.types import Vector

__all__ = ["Race"]


@dataclass(kw_only=True, eq=False)
class Race:
    """Values of points that compete, kept from race to race.

    Where the error is fixed, a value is taken at a point displaced on its support by up to
    ``jitter``, so that values err independently.
    """

    values: Values
    rng: np.random.Generator
    jitter: float
    taken: dict[bytes, list[float]] = field(default_factory=dict)

    def location(self, x: Vector) -> Location:
        """Return the value at ``x`` and its standard error."""
        return huber_location(np.array(self.taken.get(x.tobytes(), [])))

    def measure(self, points: list[Vector], count: int) -> Steps[None]:
        """Take ``count`` more values of each point."""
        rows = np.repeat(np.array(points), count, axis=0)
        if self.jitter > 0:
            moved = self.jitter * self.rng.uniform(-1, 1, rows.shape)
            rows = self.values.clip(np.where(rows != 0, rows + moved, 0.0))
        found = yield from self.values.at(rows)
        for row, value in zip(rows, found, strict=True):
            support = np.flatnonzero(row)
            self.values.keep(support, row[support], float(value))
        for point, taken in zip(points, found.reshape(len(points), count), strict=True):
            self.taken.setdefault(point.tobytes(), []).extend(taken.tolist())

    def run(self, points: list[Vector], total: int) -> Steps[Vector]:
        """Spend up to ``total`` values in turns; return the leader. None leaves after one turn."""
        policy = self.values.policy.noise
        alive = list({point.tobytes(): point for point in points}.values())
        total = self.values.affordable(total)
        while total >= len(alive):
            count = min(policy.pairs, total // len(alive))
            yield from self.measure(alive, count)
            total -= count * len(alive)
            locations = [self.location(point) for point in alive]
            if min(len(self.taken[point.tobytes()]) for point in alive) > policy.pairs:
                alive = [alive[i] for i in survivors(locations, policy.standard_errors)]
        measured = [point for point in alive if point.tobytes() in self.taken] or alive[-1:]
        return min(measured, key=lambda point: self.location(point).value)
