"""Points of a grid are measured within a budget; the best that is sparse enough is kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.budget import BudgetSpentError
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.generator import SolverContext
from szoht.core.query import Plan
from szoht.types import Vector

__all__ = ["GridValues"]


@dataclass(kw_only=True)
class GridValues:
    """Measures points within ``budget``, each for ``price``; ``best`` has at most k non-zeros."""

    context: SolverContext
    k: int
    budget: float
    best: EvaluatedPoint
    price: int
    first: float = math.nan
    spent: int = 0

    @property
    def left(self) -> float:
        """Points that can be paid for; infinite if the budget is unknown or was extended."""
        paid = self.spent * self.price
        return math.inf if paid >= self.budget else (self.budget - paid) // self.price

    def start(self) -> Steps[None]:
        """Measure the start; the value is infinite if it failed."""
        (self.first,) = (yield from self.values([self.best.z])).tolist()
        self.best = EvaluatedPoint(self.best.z, self.first)
        if math.isfinite(self.first):
            self.context.move(self.best.z, self.first)

    def gained(self, before: float, share: float) -> bool:
        """Tell whether more than this share of all that was gained has come since ``before``."""
        return before - self.best.value > share * abs(self.first - self.best.value)

    def measure(self, points: Sequence[Vector]) -> Steps[Vector]:
        """Measure points, and keep the best that satisfies the constraint."""
        values = yield from self.values(points)
        for i in np.argsort(values, kind="stable").tolist():
            if not values[i] < self.best.value:
                break
            if np.count_nonzero(points[i]) <= self.k:
                self.best = EvaluatedPoint(points[i], float(values[i]))
                self.context.note(points[i], float(values[i]))
                break
        return values

    def values(self, points: Sequence[Vector]) -> Steps[Vector]:
        """Return f at points, asked in one plan; infinite where it failed."""
        if not points:
            return np.empty(0)
        if len(points) > self.left:
            raise BudgetSpentError
        answers = yield Plan(queries=tuple(self.context.query(point) for point in points))
        self.spent += len(points)
        values = np.array([float(answer.values[0]) for answer in answers])
        return np.where(np.isnan(values), np.inf, values)
