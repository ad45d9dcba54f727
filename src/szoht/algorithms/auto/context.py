"""The context through which every step of the solver measures, remembers and explains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.auto.budget import BudgetedContext, BudgetSpentError
from szoht.algorithms.auto.known_derivatives import GradientMemory, KnownHessian
from szoht.algorithms.auto.location import agreed
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.structure import Structure
from szoht.core.directions import Directions, ScaledDirections
from szoht.core.known import KnownEvaluations
from szoht.core.query import Answer, Plan, Query
from szoht.core.repeats import same_value
from szoht.core.validation import frozen
from szoht.estimators.sensing.noise_test import REPEATS, from_repeats, mostly_equal
from szoht.types import Indices, Sample, Vector

__all__ = ["BudgetSpentError", "FreshNoiseError", "SearchContext"]

FAR_OFF, MIN_VALUES_FOR_OUTLIERS = 45.0, 6
"""A difference this many median deviations off is suspected to be an outlier, among this many."""

MOST_REPEATS = 5
"""A point of a function with outliers is asked at most this many times."""


class FreshNoiseError(Exception):
    """The same point gives another value each time, although the start gives the same."""

    def __init__(self, noise: NoiseModel) -> None:
        super().__init__(noise.describe())
        self.noise = noise


@dataclass(kw_only=True)
class SearchContext(BudgetedContext):
    """Measures f at points given in the solver's coordinates, and keeps count.

    Where there are ``outliers``, each point is asked until two values agree. ``doubts`` is how many
    suspicious values may still be asked again to find that out. ``kinks`` counts, from the first
    kink on, the rounds since. ``effort`` multiplies patience. ``on_part``: values are about part of
    a finite sum, so that no point is an answer yet; ``reserve`` evaluations are kept to validate
    one. ``noise_expected``: the caller is prepared to hear that values away from the start have
    noise; at ``gain_checked`` this was looked for. ``gradients``: the objective has them, and
    slopes are taken from there; ``gradients_at_points`` asks for them together with the values of
    single points, most of which need both. ``known`` are evaluations from before the run,
    ``known_checked`` whether one of them was measured again, and ``known_too_far`` whether those
    farther away have told nothing. The rest is in `BudgetedContext`.
    """

    structure: Structure
    policy: Policy
    effort: float = 1.0
    on_part: bool = False
    last_gain: int = 1
    mark: float = math.inf
    gains: int = -1
    first_value: float = math.nan
    best: EvaluatedPoint | None = field(default=None)
    roughness_checked: bool = False
    units_equalized: bool = False
    doubts: int = 4
    noise_expected: bool = False
    gain_checked: float = 0.0
    kinks: int = 0
    gradients: bool = False
    gradients_at_points: bool = True
    known_gradients: GradientMemory = field(default_factory=GradientMemory)
    hessian: KnownHessian = field(default_factory=KnownHessian)
    known: KnownEvaluations | None = None
    known_checked: bool = False
    known_too_far: bool = False

    @property
    def is_small(self) -> bool:
        """Whether what is left must be planned query by query."""
        policy, structure = self.policy, self.structure
        rows = 0.0 if structure.waves else 2 * structure.look
        return self.left < max(
            policy.small_budget * structure.size, 3.5 * policy.small_budget, rows
        )

    def value(self, z: Vector) -> Steps[float]:
        """Measure f at one point, and its gradient if there is one; NaN if it failed."""
        if not (self.gradients and self.gradients_at_points) or self.outliers:
            return float((yield from self.values([z]))[0])
        return (yield from self._value_and_gradient(self.structure.to_x(z)))

    def _value_and_gradient(self, x: Vector) -> Steps[float]:
        query = replace(self.outer.query(x), gradient=True)
        (answer,) = yield from self._ask_once(Plan(queries=(query,)))
        if answer.gradient is not None:
            self.known_gradients.add(x, query.sample, answer.gradient)
        return float(answer.values[0])

    def gradient_at(self, point: EvaluatedPoint) -> Steps[Vector | None]:
        """Return the slopes along all axes, asked for unless known; None if that failed."""
        gradient = yield from self.users_gradient(self.structure.to_x(point.z))
        return None if gradient is None else self.structure.axis_slopes(point.z, gradient)

    def users_gradient(self, x: Vector) -> Steps[Vector | None]:
        """Return the gradient with respect to x, asked for unless known; None if that failed."""
        known = self.known_gradients.find(x, self.outer.sample)
        if known is None:
            yield from self._value_and_gradient(x)
            known = self.known_gradients.find(x, self.outer.sample)
        return known

    def values_on_one_seed(self, points: Sequence[Vector]) -> Steps[Vector]:
        """Measure f at several points in one plan, all on a fresh seed where f takes one."""
        return (yield from self.values(points, self.outer.next_sample()))

    def values(self, points: Sequence[Vector], sample: Sample = None) -> Steps[Vector]:
        """Measure f at several points in one plan, on a given sample or those that are due."""
        if not len(points):
            return np.empty(0)
        queries = tuple(self.outer.query(self.structure.to_x(z)) for z in points)
        if sample is not None:
            queries = tuple(replace(query, sample=sample) for query in queries)
        answers = yield from self._ask(Plan(queries=queries))
        return np.array([float(answer.values[0]) for answer in answers])

    def point(self, z: Vector) -> Steps[EvaluatedPoint]:
        """Measure a point, and remember it if it may be an answer."""
        value = yield from self.value(z)
        if self._is_suspicious(value):
            self.doubts -= 1
            again = yield from self.value(z)
            if not same_value(again, value):
                yield from self.distrust(z, [value, again])
                value = yield from self.value(z)
        point = EvaluatedPoint(z, value)
        self.note(point)
        return point

    def _is_suspicious(self, value: float) -> bool:
        """Tell whether a value is so much lower than all others that it may be an outlier."""
        if self.best is None or self.outliers or self.doubts == 0 or self.left <= 1:
            return False
        gained = self.first_value - self.best.value
        return self.best.value - value > self.policy.outlying_factor * gained > 0

    def differences(
        self, base: EvaluatedPoint, directions: Directions, length: float = 1.0
    ) -> Steps[Vector]:
        """Measure ``f(base + length u) - f(base)`` for all directions u, in one plan.

        The caller answers for the points being inside the bounds (`Structure.base`). Where the
        objective takes a seed, f(base) is measured again with the seed of the plan.
        """
        x = self.structure.to_x(base.z)
        if self.structure.unit is not None:
            directions = ScaledDirections(inner=directions, scale=self.structure.unit)
        return (yield from self._differences(x, base.value, directions, length))

    def _differences(
        self, x: Vector, value: float, directions: Directions, length: float
    ) -> Steps[Vector]:
        if directions.count == 0:
            return np.empty(0)
        seeded = self.outer.seeded
        query = Query(
            base=x,
            sample=self.outer.next_sample(),
            directions=directions,
            radius=length,
            with_base=seeded,
        )
        (answer,) = yield from self._ask(Plan(queries=(query,)))
        if seeded:
            return np.asarray(answer.values[1:] - answer.values[0])
        found = np.array(answer.values)
        yield from self._judge(query, found)
        return found - value

    def _judge(self, query: Query, found: Vector) -> Steps[None]:
        """Ask a value again that is far off the others: outliers differ. Corrects ``found``."""
        far = _far(found)
        if self.outliers or far.size == 0 or self.left < 1 or self.doubts == 0:
            return
        self.doubts -= 1
        points = query.points()
        again = yield from self._ask_once(Plan(queries=(self.outer.query(points[far[0]]),)))
        if same_value(float(again[0].values[0]), found[far[0]]):
            return
        z = self.structure.to_z(points[far[0]])
        yield from self.distrust(z, [found[far[0]], float(again[0].values[0])])
        if self.left >= 2 * far.size:
            plan = Plan(queries=tuple(self.outer.query(points[i]) for i in far))
            answers = yield from self._ask(plan)
            found[far] = [float(answer.values[0]) for answer in answers]

    def check_repeatable(self, point: EvaluatedPoint) -> Steps[None]:
        """Ask a point again whenever what was gained has doubled: there, noise may begin."""
        gain = self.first_value - point.value
        unchecked = self.noise_expected and not self.outliers
        if unchecked and gain > 2 * self.gain_checked and self.left > 1:
            self.gain_checked = gain
            again = yield from self.value(point.z)
            if math.isfinite(again) and not same_value(again, point.value):
                yield from self.distrust(point.z, [point.value, again])

    def distrust(self, z: Vector, values: list[float]) -> Steps[None]:
        """Ask a point again whose values differ. Most values agree if single ones are wrong.

        Raises `FreshNoiseError` otherwise, where the caller expects it.
        """
        if self.noise_expected and self.left > REPEATS:
            more = yield from self.values([z] * REPEATS)
            everything = np.array([*values, *more[np.isfinite(more)]])
            if mostly_equal(everything) is None:
                raise FreshNoiseError(from_repeats(everything))
        self.outliers = True
        self.explain("a value differs when it is asked again: from now on all are asked twice.")

    def axis_differences(
        self, base: EvaluatedPoint, support: Indices, steps: Vector
    ) -> Steps[Vector]:
        """Measure ``f(base + steps_i e_i) - f(base)`` for the coordinates of ``support``."""
        x = self.structure.to_x(base.z)
        axes = self.structure.axes(x, support, np.asarray(steps, dtype=float))
        return (yield from self._differences(x, base.value, axes, 1.0))

    def note(self, point: EvaluatedPoint) -> None:
        """Remember a point, if it satisfies the constraint and is the best so far."""
        if math.isnan(point.value) or not self.structure.contains(point.z):
            return
        if not self.on_part:
            self.outer.note(self.structure.to_x(point.z), point.value)
        if self.best is None or point.value < self.best.value:
            self._count_gain(point)
            self.best = point

    def accept(self, point: EvaluatedPoint) -> None:
        """Make a point the iterate if it satisfies the constraint, and count an iteration."""
        if not self.structure.contains(point.z):
            return
        self.note(point)
        x = self.structure.to_x(point.z)
        if self.on_part:
            self.outer.x, self.outer.iteration = frozen(x), self.outer.iteration + 1
        else:
            self.outer.move(x, point.value)

    def settle(self, point: EvaluatedPoint, error: float) -> None:
        """Make a point the answer so far, whatever its value: it is an estimate with an error."""
        self.outer.settle(self.structure.to_x(point.z), point.value, error)
        self.best = point

    def forget(self) -> None:
        """Forget the best point: from now on values are those of another function."""
        self.outer.forget()
        self.best = None

    def begin_part(self, sample: Sample, *, on_part: bool) -> None:
        """Go on with other components: what was counted and found is about another function."""
        self.outer.sample, self.on_part = sample, on_part
        self.speculation.forget()
        self.hessian = KnownHessian()
        self.best, self.mark, self.gains = None, math.inf, -1
        self.spent, self.failures, self.last_gain = 0, 0, 1

    def _count_gain(self, point: EvaluatedPoint) -> None:
        """Remember when more was gained than rounding, since the last time that it was."""
        whole = abs(self.first_value - point.value)
        least = self.policy.gain_counted * whole + 1e-14 * abs(point.value)
        if not self.mark - point.value <= least:
            self.mark = point.value
            self.last_gain = max(self.spent, 1)
            self.gains += 1

    def _ask(self, plan: Plan) -> Steps[Sequence[Answer]]:
        answers = yield from self._ask_once(plan)
        if not self.outliers:
            return answers
        seen = np.concatenate([answer.values for answer in answers])[:, np.newaxis]
        points = plan.points()
        undecided = np.arange(len(points))
        result = seen[:, 0].copy()
        while undecided.size and seen.shape[1] < MOST_REPEATS and self.left >= undecided.size:
            queries = tuple(self.outer.query(points[i]) for i in undecided)
            again = yield from self._ask_once(Plan(queries=queries))
            seen = np.column_stack([seen, [answer.values[0] for answer in again]])
            pairs = [agreed(row) for row in seen]
            result[undecided] = [
                float(np.median(row)) if pair is None else pair
                for row, pair in zip(seen, pairs, strict=True)
            ]
            keep = np.array([pair is None for pair in pairs])
            undecided, seen = undecided[keep], seen[keep]
        if undecided.size and seen.shape[1] == MOST_REPEATS and self.noise_expected:
            noise = from_repeats(seen[0])
            if math.isfinite(noise.sigma):  # otherwise f is undefined there, which is no noise
                raise FreshNoiseError(noise)
        yield from self._doubt(result, points)
        return plan.answered(result)

    def _doubt(self, result: Vector, points: Vector) -> Steps[None]:
        """Ask values that would be the best so far twice more: two outliers may agree."""
        if self.best is None:
            return
        low = np.flatnonzero(result < self.best.value)
        if low.size == 0 or self.left < 2 * low.size:
            return
        queries = tuple(self.outer.query(points[i]) for i in low for _ in range(2))
        answers = yield from self._ask_once(Plan(queries=queries))
        more = np.array([answer.values[0] for answer in answers]).reshape(low.size, 2)
        for i, pair in zip(low, more, strict=True):
            if same_value(*pair):
                result[i] = pair[0]

    def _keep(self, points: list[Vector], values: Vector) -> None:
        """Keep values that may be asked for; the best of them may be an answer already."""
        super()._keep(points, values)
        if np.isfinite(values).any():
            best = int(np.nanargmin(values))
            z = self.structure.to_z(points[best])
            if self.structure.contains(z) and not np.isinf(values[best]):
                self.note(EvaluatedPoint(z, float(values[best])))

    def points_along_axes(self, z: Vector, support: Indices, steps: Vector) -> list[Vector]:
        """Return the points of `axis_differences` at a point that is not measured yet."""
        x = self.structure.to_x(z)
        axes = self.structure.axes(x, support, np.asarray(steps, dtype=float))
        return list(Query(base=x, directions=axes, with_base=False).points())


def _far(values: Vector) -> Indices:
    """Return the values that lie far off the others, the farthest first."""
    finite = values[np.isfinite(values)]
    if finite.size < MIN_VALUES_FOR_OUTLIERS:
        return np.empty(0, dtype=np.intp)
    distance = np.abs(values - np.median(finite))
    far = np.flatnonzero(distance > FAR_OFF * np.median(distance[np.isfinite(distance)]))
    return np.asarray(far[np.argsort(-distance[far])])
