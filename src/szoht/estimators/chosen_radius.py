"""A radius chosen by testing f for noise at the start, where none was given."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from szoht.core.algorithm import Memory
from szoht.core.parts import Estimator
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key, Purpose
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import frozen
from szoht.estimators.differences import CENTRAL_LENGTH, FORWARD_LENGTH
from szoht.estimators.sensing.radius_test import MAX_LENGTH, LengthChoice, choose_length
from szoht.estimators.within_bounds import WithinBounds
from szoht.types import Sample, Vector

__all__ = ["ChosenRadius"]

PARTS = ("estimator", "snapshot", "initial")
"""Fields that hold estimators inside others."""


class RadiusMemory(NamedTuple):
    """The estimator with the radius chosen, or None; its memory; the test's values by round."""

    estimator: Estimator | None
    inner: Memory
    values: tuple[Vector, ...] = ()
    explanation: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class TestedPlan(Plan):
    """The points of a round of the test, and after them ``planned``, those of the estimator."""

    planned: Plan | None


@dataclass(frozen=True)
class ChosenRadius:
    """Another estimator, whose radius is lengthened if values of f err over the default one.

    With the first estimate, f is asked twice at x0 and along a short random line, the noise test of
    the default solver. If f is exact over the default length, nothing changes. Else a few values
    over longer distances tell the curvature, and the radius becomes the one over which error
    and curvature contribute as much to a difference (`choose_length`); the first estimate is
    made again with it.

    Parameters
    ----------
    estimator : Estimator
        With its default radius.
    low, high : float or array of shape (d,)
        Bounds that the line respects.

    Notes
    -----
    Costs 7 queries once, or, where f errs, 18 and a second first estimate; none if x0 is a
    `SparseVector`, since no sparse line meets the coordinates that matter.
    """

    estimator: Estimator
    low: float | Vector = -math.inf
    high: float | Vector = math.inf

    @property
    def requires(self) -> frozenset[str]:
        """The capabilities of the objective that the estimator needs."""
        return self.estimator.requires

    def within(self, low: float | Vector, high: float | Vector) -> Self:
        """Return the same for points with ``low <= x <= high``."""
        return replace(self, estimator=WithinBounds(self.estimator, low, high), low=low, high=high)

    def check(self, d: int) -> None:
        """Raise unless the estimator fits dimension ``d``."""
        self.estimator.check(d)

    def init(self, x: Vector) -> RadiusMemory:
        """Nothing is known of f; a sparse start is not tested."""
        memory = RadiusMemory(None, self.estimator.init(x))
        if isinstance(x, SparseVector):
            memory = memory._replace(estimator=self.estimator)
        return memory

    def plan(self, x: Vector, sample: Sample, memory: RadiusMemory, key: Key) -> Plan:
        """Return the points of the estimator, and those of the test until it has ended."""
        if memory.estimator is not None:
            return memory.estimator.plan(x, sample, memory.inner, key)
        lengths = _advance(_default(self.estimator, x.size), memory.values)
        assert not isinstance(lengths, LengthChoice), "the test goes on"  # noqa: S101
        line = self._line(x, key.seed)
        points = (x if t == 0 else np.clip(x + t * line, self.low, self.high) for t in lengths)
        queries = tuple(Query(base=frozen(point), sample=sample) for point in points)
        planned = None
        if not memory.values:
            planned = self.estimator.plan(x, sample, memory.inner, key)
        return TestedPlan(
            queries=queries + (() if planned is None else planned.queries), planned=planned
        )

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: RadiusMemory
    ) -> tuple[Estimate | None, RadiusMemory]:
        """Return the estimate, or None if the test goes on or has found another radius."""
        estimator = memory.estimator
        if isinstance(plan, TestedPlan):
            query, planned = plan.queries[0], plan.planned
            n_tested = len(answers) - (0 if planned is None else len(planned.queries))
            values = frozen(np.array([float(a.values[0]) for a in answers[:n_tested]]))
            memory = memory._replace(values=(*memory.values, values))
            choice = _advance(_default(self.estimator, query.base.size), memory.values)
            if not isinstance(choice, LengthChoice):
                return None, memory
            estimator, told = self._chosen(choice, query)
            memory = memory._replace(estimator=estimator, explanation=(told,))
            if planned is None or estimator is not self.estimator:
                return None, memory._replace(inner=estimator.init(query.base))
            plan, answers = planned, answers[n_tested:]
        assert estimator is not None, "a plan without a test is the estimator's"  # noqa: S101
        estimate, inner = estimator.combine(plan, answers, memory.inner)
        return estimate, memory._replace(inner=inner)

    def _chosen(self, choice: LengthChoice, query: Query) -> tuple[Estimator, str]:
        """Return the estimator with the radius that was chosen, and what was found in words."""
        found = choice.noise.describe()
        if choice.length is None:
            return self.estimator, f"{found}; the default radius is kept."
        default = _default(self.estimator, query.base.size)
        radius = default.radius * choice.length / default.length
        told = f"{found}; differences are taken over {choice.length:.1e}, mu = {radius:.1e}."
        return _with_radius(self.estimator, default.radius, radius), told

    def _line(self, x: Vector, seed: int) -> Vector:
        """Return random signs of unit length, inward and shorter where bounds are near."""
        signs = Key(seed=seed).generator(Purpose.NOISE).choice(np.array([-1.0, 1.0]), x.size)
        longest = MAX_LENGTH / math.sqrt(x.size)
        above, below = self.high - x, x - self.low
        inward = np.where(above > below, 1.0, -1.0)
        signs = np.where(np.where(signs > 0, above, below) < longest, inward, signs)
        room = np.where(signs > 0, above, below)
        return np.asarray(signs * np.minimum(room, longest))


class _Default(NamedTuple):
    """The default radius, how far it moves a point, and whether curvature cancels."""

    radius: float
    length: float
    linear: bool


def _default(estimator: Any, d: int) -> _Default:
    """Return the radius that an estimator, or the one inside it, has by default."""
    while hasattr(estimator, "estimator"):
        estimator = estimator.estimator
    central = bool(getattr(estimator, "central", False))
    # the mean over signs, which ZORO takes off, holds nearly all of the curvature
    linear = central or bool(getattr(estimator, "centered", False))
    length = CENTRAL_LENGTH if central else FORWARD_LENGTH
    return _Default(length / math.sqrt(d) if estimator.mu is None else estimator.mu, length, linear)


def _advance(default: _Default, values: Sequence[Vector]) -> Vector | LengthChoice:
    """Return the lengths that the test asks for after some rounds, or its result."""
    test = choose_length(default.length, linear=default.linear)
    lengths = next(test)
    try:
        for answered in values:
            lengths = test.send(answered)
    except StopIteration as end:
        choice: LengthChoice = end.value
        return choice
    return lengths


def _with_radius(estimator: Any, default: float, radius: float) -> Any:
    """Return the estimator, and those inside it, with another radius in place of the default."""
    changed: dict[str, Any] = {}
    for entry in fields(estimator):
        value = getattr(estimator, entry.name)
        if entry.name == "mu" and (value is None or value == default):
            changed["mu"] = radius
        elif entry.name in PARTS:
            changed[entry.name] = _with_radius(value, default, radius)
    return replace(estimator, **changed)
