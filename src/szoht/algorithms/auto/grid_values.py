"""Points of a grid are measured within a budget; the best that is sparse enough is kept."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.budget import BudgetSpentError
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.generator import SolverContext
from szoht.core.query import Plan
from szoht.core.repeats import same_value
from szoht.types import Vector

__all__ = ["GridValues"]

ANSWER_VALUES = 10
"""Values of the answer of a noisy function."""


@dataclass(kw_only=True)
class GridValues:
    """Measures points within ``budget``, each for ``price``; ``best`` has at most k non-zeros.

    ``noisy``: a point has given two values, so that ``best`` looks better than it is, and part of
    the budget is a ``reserve`` to measure it; None if no point was asked twice.
    """

    context: SolverContext
    k: int
    budget: float
    best: EvaluatedPoint
    price: int
    first: float = math.nan
    noisy: bool | None = None
    reserve: int = 0
    spent: int = 0

    @property
    def left(self) -> float:
        """Points that can be paid for; infinite if the budget is unknown or was extended."""
        paid = self.spent * self.price
        if paid >= self.budget:
            return math.inf
        return max(self.budget - self.reserve - paid, 0) // self.price

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

    def check_noise(self) -> Steps[None]:
        """Ask the best point again; if its value differs, keep values for it until the end."""
        if self.noisy or self.left <= 2 * ANSWER_VALUES:
            return
        (again,) = (yield from self.values([self.best.z])).tolist()
        self.noisy = math.isfinite(again) and not same_value(again, self.best.value)
        if self.noisy:
            self.reserve = ANSWER_VALUES * self.price
            self.context.explain("values differ when asked again: the answer will be measured.")

    def settle(self) -> Steps[None]:
        """Measure the best point of a noisy function several times: it was chosen by its value."""
        self.noisy, self.reserve = None, 0
        values = yield from self.values([self.best.z] * ANSWER_VALUES)
        values = values[np.isfinite(values)]
        if values.size > 1:
            error = float(np.std(values, ddof=1)) / math.sqrt(values.size)
            self.context.settle(self.best.z, float(np.mean(values)), error)

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
