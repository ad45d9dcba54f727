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
from szoht.estimators.sensing.radius_test import MAX_LENGTH, LengthChoice, choose_length
from szoht.estimators.within_bounds import WithinBounds
from szoht.types import Sample, Vector

__all__ = ["CENTRAL_LENGTH", "FORWARD_LENGTH", "ChosenRadius"]

FORWARD_LENGTH, CENTRAL_LENGTH = 1e-6, 1e-4
"""How far a difference moves by default. Rounding contributes eps |f| / length to a quotient,
curvature L length / 2, or, for central differences, a multiple of length^2: both stay small."""

PARTS = ("estimator", "snapshot", "initial")
"""Fields that hold estimators inside others."""


class RadiusMemory(NamedTuple):
    """The values of the test, round by round; then the estimator chosen and its own memory."""

    values: tuple[Vector, ...] = ()
    estimator: Estimator | None = None
    inner: Memory = None
    explanation: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChosenRadius:
    """Another estimator, whose radius is lengthened if values of f err over the default one.

    Before the first iteration, f is asked twice at x0 and along a short random line, the noise
    test of the default solver; where f is exact over the default length, nothing changes. Else a
    few values over longer distances tell the curvature, and the radius is where error and
    curvature contribute as much to a difference (`choose_length`).

    Parameters
    ----------
    estimator : Estimator
        With its default radius.
    low, high : float or array of shape (d,)
        Bounds that the line respects.

    Notes
    -----
    Costs 7 queries once, or 17 to 18 where f errs; none if x0 is a `SparseVector`, which has no
    random line that is sparse and meets the coordinates that matter.
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
        if isinstance(x, SparseVector):
            return self._with(RadiusMemory(), self.estimator, x)
        return RadiusMemory()

    def plan(self, x: Vector, sample: Sample, memory: RadiusMemory, key: Key) -> Plan:
        """Return the points of the test's next round, or those of the estimator."""
        rounds = len(memory.values) if key.iteration == 0 else 0
        key = replace(key, round=key.round - rounds)  # directions are those without a test
        if memory.estimator is not None:
            return memory.estimator.plan(x, sample, memory.inner, key)
        default = self._default(x, sample, key)
        lengths = _advance(default, memory.values)
        assert not isinstance(lengths, LengthChoice), "the test goes on"  # noqa: S101
        line = self._line(x, key.seed)
        points = (x if t == 0 else np.clip(x + t * line, self.low, self.high) for t in lengths)
        return Plan(queries=tuple(Query(base=frozen(p), sample=sample) for p in points))

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: RadiusMemory
    ) -> tuple[Estimate | None, RadiusMemory]:
        """Return the estimate, or None while the test goes on."""
        if memory.estimator is not None:
            estimate, inner = memory.estimator.combine(plan, answers, memory.inner)
            return estimate, memory._replace(inner=inner)
        values = frozen(np.array([float(answer.values[0]) for answer in answers]))
        memory = memory._replace(values=(*memory.values, values))
        query = plan.queries[0]
        default = self._default(query.base, query.sample, Key(seed=0))
        choice = _advance(default, memory.values)
        if not isinstance(choice, LengthChoice):
            return None, memory
        estimator, told = self.estimator, "the default radius is kept"
        if choice.length is not None:
            radius = default.radius * choice.length / default.length
            estimator = _with_radius(estimator, default.radius, radius)
            told = f"differences are taken over {choice.length:.1e}, mu = {radius:.1e}"
        memory = memory._replace(explanation=(f"{choice.noise.describe()}; {told}.",))
        return None, self._with(memory, estimator, query.base)

    @staticmethod
    def _with(memory: RadiusMemory, estimator: Estimator, x: Vector) -> RadiusMemory:
        return memory._replace(estimator=estimator, inner=estimator.init(x))

    def _default(self, x: Vector, sample: Sample, key: Key) -> "_Default":
        """Return the radius that the estimator has by default."""
        plan = self.estimator.plan(x, sample, self.estimator.init(x), key)
        query = next(query for query in plan.queries if query.directions is not None)
        length = CENTRAL_LENGTH if query.mirrored else FORWARD_LENGTH
        # the mean over signs, which ZORO takes off, holds nearly all of the curvature
        return _Default(query.radius, length, query.mirrored or _is_centered(self.estimator))

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


def _is_centered(estimator: Any) -> bool:
    inner = getattr(estimator, "estimator", estimator)
    return bool(getattr(inner, "centered", False))


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
