"""What each change of a solution is worth: f with one variable put back to its nominal value."""

import math
from collections.abc import Sequence

import numpy as np

from szoht.core.changes import Effect
from szoht.core.query import Answer, Plan, Query, Stage
from szoht.core.variables import Variables
from szoht.result import Status
from szoht.types import Indices, Sample, Vector

__all__ = ["MEASURED_AFTER", "EffectMeasurement"]

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

    Where values depend on a sample, the solution is measured again on that of the plan.
    """

    def __init__(
        self, variables: Variables, z: Vector, value: float, sample: Sample, status: Status
    ) -> None:
        self.status = status
        self._value = value
        self._changed: Indices = variables.changed(variables.to_x(z))
        self._with_base = sample is not None
        points = [z] if self._with_base else []
        for i in self._changed:
            point = np.array(z)
            point[i] = 0.0
            points.append(point)
        queries = tuple(Query(base=point, sample=sample) for point in points)
        self.plan = Plan(queries=queries, stage=Stage.MEASURE)

    @property
    def is_worthwhile(self) -> bool:
        """Whether anything is changed, and not too much."""
        return 0 < self._changed.size <= MOST_CHANGES

    def effects(self, answers: Sequence[Answer]) -> dict[int, Effect]:
        """Return the effect of each variable whose point could be evaluated."""
        values = [float(answer.values[0]) for answer in answers]
        base = values.pop(0) if self._with_base else self._value
        return {
            i: Effect(value - base, "measured")
            for i, value in zip(self._changed.tolist(), values, strict=True)
            if math.isfinite(value - base)
        }
