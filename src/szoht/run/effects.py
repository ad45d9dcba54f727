"""What each change of a solution is worth: f with one variable put back to its nominal value.

An effect is measured, by one last plan where the budget allows, or it is not shown: models of f
that were fitted to what had been evaluated were wrong by orders of magnitude where f is no
quadratic (conditional value at risk of a portfolio: -1.6e6 in place of +0.06).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from szoht.core.query import Answer, Plan, Query, Stage
from szoht.core.variables import Variables
from szoht.result import Status
from szoht.types import Indices, Sample, Vector

__all__ = ["EffectMeasurement"]

MEASURED_AFTER = frozenset(
    {
        Status.TARGET,
        Status.STALLED,
        Status.CONVERGED,
        Status.EXHAUSTED,
        Status.QUERIES,
        Status.ITERATIONS,
    }
)
"""Endings after which effects are measured, if the budget allows."""

MOST_CHANGES = 50
"""Effects of more changes than this are not measured."""


class EffectMeasurement:
    """One last plan that puts back each changed variable, and why the run ended before it.

    Where values depend on a sample, the solution is measured again on that of the plan. Points that
    were evaluated before are not evaluated again.

    Parameters
    ----------
    variables : Variables or None
        Without variables, nothing is measured.
    z : array of shape (d,)
        The solution, in the solver's numbers.
    value : float
        Its value.
    sample : Sample
        What values depend on, if anything.
    status : Status
        Why the run has ended.
    find : callable
        ``find(z)`` is the value of a point that was evaluated before, else None.
    """

    def __init__(
        self,
        variables: Variables | None,
        z: Vector,
        value: float,
        sample: Sample,
        status: Status,
        *,
        find: Callable[[Vector], float | None],
    ) -> None:
        self.status = status
        self._value = value
        self._has_base = sample is not None
        changed: Indices = np.empty(0, dtype=np.intp)
        if variables is not None and status in MEASURED_AFTER and math.isfinite(value):
            changed = variables.changed(variables.to_x(z))
        self._known: dict[int, float] = {}
        self._asked: list[int] = []
        points = []
        for i in changed[: MOST_CHANGES if changed.size <= MOST_CHANGES else 0].tolist():
            point = np.array(z)
            point[i] = 0.0
            found = None if self._has_base else find(point)
            if found is None:
                self._asked.append(i)
                points.append(point)
            else:
                self._known[i] = found
        if points and self._has_base:
            points.insert(0, z)
        self._queries = tuple(Query(base=point, sample=sample) for point in points)

    @property
    def plan(self) -> Plan | None:
        """The plan that measures what is not known, None if everything is."""
        return Plan(queries=self._queries, stage=Stage.MEASURE) if self._queries else None

    def effects(self, answers: Sequence[Answer] = ()) -> dict[int, float]:
        """Return the effect of each variable whose point was evaluated."""
        values = [float(answer.values[0]) for answer in answers]
        base = values.pop(0) if self._has_base and values else self._value
        measured = self._known | dict(zip(self._asked, values, strict=False))
        return {
            i: measured[i] - base for i in sorted(measured) if math.isfinite(measured[i] - base)
        }
