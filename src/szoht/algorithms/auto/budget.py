"""Plans are asked within a budget, and filled up where they are wide."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.wide_plans import Speculation, together
from szoht.algorithms.generator import SolverContext
from szoht.core.query import Answer, Plan
from szoht.core.random import Key, Purpose
from szoht.types import Vector

__all__ = ["BudgetSpentError", "BudgetedContext"]

T = TypeVar("T")


class BudgetSpentError(Exception):
    """A plan would cost more than what is left of a known budget."""


@dataclass(kw_only=True)
class BudgetedContext:
    """Asks plans as long as they can be paid for, and keeps count.

    ``budget`` is the number of evaluations that the run may spend, if it is known; a point on a
    sample of size b costs b of them. ``spent`` counts points. A plan that costs more than what is
    left raises `BudgetSpentError` instead of being asked, so that what is left can be spent on
    something smaller; ``reserve`` evaluations are kept for the end. ``outliers`` says that single
    values are grossly wrong.
    """

    outer: SolverContext
    budget: int | None = None
    reserve: int = 0
    spent: int = 0
    evaluations: int = 0
    failures: int = 0
    outliers: bool = False
    speculation: Speculation = field(default_factory=Speculation)

    @property
    def left(self) -> float:
        """Points that can be paid for; infinite if the budget is unknown or was extended."""
        if self.budget is None or self.evaluations >= self.budget:
            return math.inf
        sample = self.outer.sample
        price = 1 if sample is None else sample.size
        return max(self.budget - self.reserve - self.evaluations, 0) // price

    def generator(self) -> np.random.Generator:
        """Return a generator at an address that was not used before."""
        return self.outer.key().generator(Purpose.EXCHANGE)

    def key(self) -> Key:
        """Return an address that was not used before."""
        return self.outer.key()

    def explain(self, line: str) -> None:
        """Say what is done and why, for the user to read."""
        self.outer.explain(line)

    def _ask_once(self, plan: Plan) -> Steps[Sequence[Answer]]:
        known = self.speculation.known(plan)
        if known is None:
            return (yield from self._ask_filled(plan))
        missing = np.flatnonzero(np.isnan(known))
        if missing.size:
            points = plan.points()
            rest = Plan(queries=tuple(self.outer.query(points[i]) for i in missing))
            answers = yield from self._ask_filled(rest)
            known[missing] = [answer.values[0] for answer in answers]
        return plan.answered(known)

    def _ask_filled(self, plan: Plan) -> Steps[Sequence[Answer]]:
        """Ask a plan, filled up with points that may be asked next where plans are wide."""
        self._check_left(plan.n_points)
        extra: list[Vector] = []
        if not (self.outliers or self.outer.seeded):  # a value is one of many there
            extra = self.speculation.take(plan.n_points, self.left)
        n = len(plan.queries)
        if extra:
            queries = (*plan.queries, *(self.outer.query(x) for x in extra))
            plan = replace(plan, queries=queries)
        answers = yield plan
        self.spent += plan.n_points
        self.evaluations += plan.cost
        self.failures += sum(int(np.isnan(answer.values).sum()) for answer in answers)
        if extra:
            self._keep(extra, np.array([answer.values[0] for answer in answers[n:]]))
        return answers[:n]

    def _keep(self, points: list[Vector], values: Vector) -> None:
        """Keep values that may be asked for."""
        self.speculation.keep(points, values.tolist())

    def _check_left(self, n_points: int) -> None:
        if n_points > self.left >= (0 if self.reserve else 1):
            raise BudgetSpentError

    def together(self, tasks: Sequence[Steps[T]]) -> Steps[list[T]]:
        """Run several parts of the algorithm side by side: their plans are asked as one."""
        self.speculation.paused += 1  # the plans fill up each other
        try:
            steps = together(tasks)
            plan = next(steps)
            while True:
                self._check_left(plan.n_points)
                plan = steps.send((yield plan))
        except StopIteration as end:
            results: list[T] = end.value
            return results
        finally:
            self.speculation.paused -= 1
