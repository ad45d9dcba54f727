"""A run as its user sees it: points in the user's numbers, values with the user's sign."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from szoht.core.algorithm import Measured, PathPoint
from szoht.core.query import Answer, Plan, Query
from szoht.core.validation import frozen
from szoht.core.variables import Variables
from szoht.result import Failure
from szoht.types import Vector

__all__ = ["View"]


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """Translates between the solver, which minimizes over z, and the user.

    Without variables z is x, and without ``maximize`` values are what they are.
    """

    variables: Variables | None = None
    maximize: bool = False
    _newest: deque[tuple[Vector, Vector]] = field(
        default_factory=lambda: deque(maxlen=2), init=False, repr=False
    )
    """The iterate and the best point are asked for several times in each round."""

    def x(self, z: Vector) -> Vector:
        """Return the user's numbers for a point."""
        if self.variables is None:
            return z
        for known, x in self._newest:
            if known is z:
                return x
        self._newest.append((z, frozen(self.variables.to_x(z))))
        return self._newest[-1][1]

    def value(self, value: float) -> float:
        """Return the user's value."""
        return -value if self.maximize else value

    def measured(self, measured: Measured | None) -> Measured | None:
        """Return a point and its value as the user has them."""
        if measured is None or (self.variables is None and not self.maximize):
            return measured
        return measured._replace(x=self.x(measured.x), value=self.value(measured.value))

    def path(
        self, path: Sequence[PathPoint], solution: Measured, found: Vector
    ) -> tuple[PathPoint, ...]:
        """Return the path; where the solution is on it, ``found`` is its x."""
        return tuple(
            point._replace(
                x=found if point.x is solution.x else self.x(point.x), fun=self.value(point.fun)
            )
            for point in path
        )

    def failure(self, failure: Failure) -> Failure:
        """Return a failure at the user's point."""
        if self.variables is None:
            return failure
        return replace(failure, point=self.x(failure.point), variables=self.variables)

    def explain(self, lines: tuple[str, ...]) -> tuple[str, ...]:
        """Return what the solver says, which knows of neither signs nor units."""
        if not (self.maximize and lines):
            return lines
        return ("f is maximized: values below are those of -f, which is minimized.", *lines)

    def plan(self, plan: Plan) -> Plan:
        """Return a plan with the user's points, one by one."""
        if self.variables is None:
            return plan
        queries = [
            Query(base=x, sample=query.sample, gradient=query.gradient and i == 0)
            for query in plan.queries
            for i, x in enumerate(self.variables.to_x(query.points()))
        ]
        return replace(plan, queries=tuple(queries))

    def answers(self, answers: Sequence[Answer]) -> Sequence[Answer]:
        """Return what the solver is told for the user's values."""
        if not self.maximize:
            return answers
        return [
            replace(
                answer,
                values=-answer.values,
                gradient=None if answer.gradient is None else -answer.gradient,
                outputs=None if answer.outputs is None else -answer.outputs,
            )
            for answer in answers
        ]

    def gradient(self, z: Vector, gradient: Vector) -> Vector:
        """Return the user's gradient, with respect to x, as one with respect to z."""
        return gradient if self.variables is None else gradient * self.variables.derivative(z)
