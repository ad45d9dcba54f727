"""What each change of a solution is worth: f with one variable put back to its nominal value.

Measured by one last plan where the budget allows, else estimated from what was evaluated before.
"""

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from szoht.core.changes import Effect
from szoht.core.query import Answer, Plan, Query, Stage
from szoht.core.variables import Variables
from szoht.result import Status
from szoht.types import Indices, Sample, Vector

__all__ = ["ChangeEffects", "EffectMeasurement", "EvaluationArchive"]

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
"""Effects of more changes than this are neither measured nor estimated."""

ARCHIVED = 400
"""So many of the newest points are kept to estimate effects from."""

POINTS_PER_UNKNOWN = 1.5
"""A model is fitted to at least so many points for each of its unknowns."""

EXPLAINED = 0.1
"""A model is believed whose errors are at most this share of the spread of the values."""


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


class EvaluationArchive:
    """The newest points with few non-zeros, and a quadratic model of f on those of a solution."""

    def __init__(self) -> None:
        self._points: deque[tuple[Indices, Vector, float]] = deque(maxlen=ARCHIVED)

    def add(self, plan: Plan, answers: Sequence[Answer]) -> None:
        """Keep the single points of a plan, with values as the user has them."""
        for query, answer in zip(plan.queries, answers, strict=True):
            if query.directions is None and query.base.size and math.isfinite(answer.values[0]):
                support = np.flatnonzero(query.base)
                if support.size <= MOST_CHANGES:
                    value = float(answer.values[0])
                    self._points.append((support, query.base[support], value))

    def effects(self, z: Vector, value: float) -> dict[int, Effect]:
        """Return what a model expects of putting back each variable; empty if none fits."""
        support = np.flatnonzero(z)
        inside = [one for one in self._points if np.isin(one[0], support).all()]
        if not support.size or support.size > MOST_CHANGES or not inside:
            return {}
        steps = np.zeros((len(inside), support.size))
        for row, (where, entries, _) in zip(steps, inside, strict=True):
            row[np.searchsorted(support, where)] = entries
        steps -= z[support]
        changes = np.array([one[2] for one in inside]) - value
        for with_interactions in (True, False):
            columns = _quadratic_terms(steps, with_interactions=with_interactions)
            if len(np.unique(steps, axis=0)) < POINTS_PER_UNKNOWN * columns.shape[1]:
                continue
            fit, *_ = np.linalg.lstsq(columns, changes, rcond=None)
            errors = float(np.std(columns @ fit - changes))
            if errors <= EXPLAINED * float(np.std(changes)):
                back = _quadratic_terms(np.diag(-z[support]), with_interactions=with_interactions)
                expected = (back @ fit).tolist()
                pairs = zip(support.tolist(), expected, strict=True)
                return {i: Effect(change, "estimated") for i, change in pairs}
        return {}


class ChangeEffects:
    """The effects of the changes of a run: measured by a last plan, else estimated.

    Without variables there are none.
    """

    def __init__(self, variables: Variables | None) -> None:
        self._variables = variables
        self._archive = None if variables is None else EvaluationArchive()
        self._measured: dict[int, Effect] = {}
        self.measurement: EffectMeasurement | None = None

    def observe(self, plan: Plan, answers: Sequence[Answer]) -> None:
        """Keep what was evaluated to estimate effects from."""
        if self._archive is not None:
            self._archive.add(plan, answers)

    def measure(
        self, z: Vector, value: float, sample: Sample, status: Status
    ) -> EffectMeasurement | None:
        """Return how the effects can be measured, None if they cannot."""
        if self._variables is None or status not in MEASURED_AFTER:
            return None
        measurement = EffectMeasurement(self._variables, z, value, sample, status)
        return measurement if measurement.is_worthwhile else None

    def receive(self, answers: Sequence[Answer]) -> None:
        """Take the answers of the last plan."""
        assert self.measurement is not None, "its plan was asked"  # noqa: S101
        self._measured = self.measurement.effects(answers)

    def at(self, z: Vector, value: float) -> dict[int, Effect]:
        """Return the effect of putting back each variable of a solution, as far as known."""
        if self._archive is None or self._measured or not math.isfinite(value):
            return self._measured
        return self._archive.effects(z, value)


def _quadratic_terms(steps: Vector, *, with_interactions: bool) -> Vector:
    """Return the columns t_i, t_i^2 and perhaps t_i t_j of a quadratic without a constant."""
    n = steps.shape[1]
    pairs = [(i, j) for i in range(n) for j in range(i)] if with_interactions else []
    products = [steps[:, i] * steps[:, j] for i, j in pairs]
    return np.column_stack([steps, steps**2, *products])
