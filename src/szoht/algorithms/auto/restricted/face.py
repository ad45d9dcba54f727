"""f on a few coordinates, the others being zero: what derivative-free solvers see."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.types import Indices, Vector

__all__ = ["Face", "Local"]


class Local(NamedTuple):
    """Coordinates on a face, and the value there; infinite where f failed."""

    y: Vector
    value: float


class Face(NamedTuple):
    """The coordinates ``support`` (sorted) of a context's structure; ``stop`` ends its solvers.

    A solver on a face goes on while ``context.spent < stop``.
    """

    context: SearchContext
    support: Indices
    stop: float = math.inf

    @property
    def n(self) -> int:
        """How many coordinates there are."""
        return int(self.support.size)

    @property
    def open(self) -> bool:
        """Whether more values may be asked."""
        return self.context.spent < self.stop

    def clip(self, y: Vector) -> Vector:
        """Return the nearest point within the bounds."""
        structure = self.context.structure
        return np.asarray(np.clip(y, structure.low[self.support], structure.high[self.support]))

    def embed(self, y: Vector) -> Vector:
        """Return the point of the whole space, one that may be an answer if the support fits."""
        z = np.zeros(self.context.structure.d)
        z[self.support] = y
        return self.context.structure.nearest(z)

    def at(self, y: Vector) -> Steps[Local]:
        """Measure f; the point is remembered if it satisfies the constraint."""
        z = self.embed(y)
        value = yield from self.context.value(z)
        if math.isnan(value):
            return Local(y, math.inf)
        self.context.note(EvaluatedPoint(z, value))
        return Local(y, value)

    def all_at(self, points: Sequence[Vector]) -> Steps[list[Local]]:
        """Measure f at several points in one plan; the best is remembered, if it may be."""
        embedded = [self.embed(y) for y in points]
        values = yield from self.context.values(embedded)
        values = np.where(np.isnan(values), np.inf, values)
        best = int(np.argmin(values)) if values.size else -1
        if best >= 0 and np.isfinite(values[best]):
            self.context.note(EvaluatedPoint(embedded[best], float(values[best])))
        return [Local(y, float(value)) for y, value in zip(points, values, strict=True)]

    def local(self, point: EvaluatedPoint) -> Local:
        """Return a point of the whole space as one on this face."""
        return Local(point.z[self.support], point.value)

    def point(self, local: Local) -> EvaluatedPoint:
        """Return a point of this face as one of the whole space."""
        return EvaluatedPoint(self.embed(local.y), local.value)
