"""Estimates inside declared bounds: a base point from which no probe leaves them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from szoht.core.algorithm import Memory
from szoht.core.directions import ArrayDirections, Directions, ScaledDirections
from szoht.core.operator import Operator, declared_bounds
from szoht.core.parts import Estimator
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key
from szoht.core.validation import frozen
from szoht.types import Sample, Vector

__all__ = ["WithinBounds", "within_bounds"]

MAX_HALVINGS = 4
"""How often a probe is halved that rounding pushes out of an interval of a few floats."""


def within_bounds(estimator: Estimator, operator: Operator) -> Estimator:
    """Return the estimator, made to respect the bounds that the operator declares, if any."""
    bounds = declared_bounds(operator)
    if bounds is None:
        return estimator
    within: Callable[..., Estimator] | None = getattr(estimator, "within", None)
    return WithinBounds(estimator, *bounds) if within is None else within(*bounds)


class BoundsMemory(NamedTuple):
    """The estimator's own memory, and f(x) - f(base) of the iteration, NaN before it is known."""

    inner: Memory
    shift: float = math.nan


@dataclass(frozen=True, kw_only=True, eq=False)
class FeasiblePlan(Plan):
    """A plan of which some queries were moved; ``planned`` are those that the estimator made.

    The queries are those ``moved``, each after one at its ``planned`` base if ``measured`` says so.
    """

    planned: tuple[Query, ...]
    moved: tuple[Query, ...]
    measured: tuple[bool, ...]


@dataclass(frozen=True)
class WithinBounds:
    """Another estimator, evaluated at points with ``low <= x <= high`` only.

    Where a probe would leave the bounds, all probes of the query are taken around the nearest base
    from which none does, and f(x) costs one more query; differences are those at the new base,
    at most a radius away. A coordinate whose bounds are closer than the probes are wide is probed
    over as much as there is, and not at all if its bounds are equal. One-sided probes along single
    axes point inward instead, at the same cost as without bounds. No point is rounded out: the
    base is such that the sums that are evaluated, as floats, satisfy the bounds.

    Parameters
    ----------
    estimator : Estimator
        Any, whose gradients are sums over the directions that it probes.
    low, high : float or array of shape (d,)
        The bounds.

    Notes
    -----
    A deviation from the papers, whose estimators know no bounds and probe beyond them. Gradients
    are those of a point up to a radius away, so that where many coordinates are at bounds, slopes
    below the radius times the curvature are not those at x. Queries
    that stay inside anyway, and all queries without bounds, are left as they are, bit for bit.
    """

    estimator: Estimator
    low: float | Vector
    high: float | Vector

    @property
    def requires(self) -> frozenset[str]:
        """The capabilities of the objective that the estimator needs."""
        return self.estimator.requires

    def check(self, d: int) -> None:
        """Raise unless the estimator fits dimension ``d``."""
        self.estimator.check(d)

    def init(self, x: Vector) -> BoundsMemory:
        """Return the memory before the first iteration."""
        return BoundsMemory(self.estimator.init(x))

    def plan(self, x: Vector, sample: Sample, memory: BoundsMemory, key: Key) -> Plan:
        """Return the estimator's plan, moved inside."""
        plan = self.estimator.plan(x, sample, memory.inner, key)
        moved = tuple(self._inside(query) for query in plan.queries)
        if all(new is old for new, old in zip(moved, plan.queries, strict=True)):
            return plan
        # f(x) itself is lost with the base, unless it is asked for or known anyway
        known = not math.isnan(memory.shift) or any(q.directions is None for q in plan.queries)
        measured = tuple(
            not known and old.base is x and new.base is not x and (new.with_base or new.mirrored)
            for new, old in zip(moved, plan.queries, strict=True)
        )
        queries: list[Query] = []
        for new, old, is_measured in zip(moved, plan.queries, measured, strict=True):
            queries += [Query(base=old.base, sample=old.sample)] * is_measured + [new]
        return FeasiblePlan(
            queries=tuple(queries),
            stage=plan.stage,
            planned=plan.queries,
            moved=moved,
            measured=measured,
        )

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: BoundsMemory
    ) -> tuple[Estimate | None, BoundsMemory]:
        """Return the estimate from values that are shifted as if they had been taken around x."""
        shift = memory.shift
        if isinstance(plan, FeasiblePlan):
            plan, answers, shift = _as_planned(plan, answers, shift)
        elif any(query.directions is not None for query in plan.queries):
            shift = 0.0
        estimate, inner = self.estimator.combine(plan, answers, memory.inner)
        return estimate, BoundsMemory(inner, shift if estimate is None else math.nan)

    def _inside(self, query: Query) -> Query:
        """Return the query with a base, and perhaps scaled directions, that keep it inside."""
        if query.directions is None:
            return query
        down, up, scale = self._reach(query, query.directions)
        low, high, scale = self._interval(query.radius, down, up, scale)
        base = np.clip(query.base, low, high)
        if np.array_equal(base, query.base):
            base = query.base
        if (scale != 1).any():
            directions: Directions = ScaledDirections(inner=query.directions, scale=frozen(scale))
        elif base is query.base:
            return query
        else:
            directions = query.directions
        return replace(query, base=frozen(base), directions=directions)

    def _reach(self, query: Query, directions: Directions) -> tuple[Vector, Vector, Vector]:
        """Return how far the directions go down and up in each coordinate, and factors for them."""
        axes = isinstance(directions, ArrayDirections) and directions.values.shape[1] == 1
        up, scale = _largest_entries(directions), np.ones(directions.d)
        if not axes or query.mirrored:
            return -up, up, scale
        length = query.radius * up
        above, below = self.high - query.base, query.base - self.low
        inward = (above < length) & (below > above)
        room = np.where(inward, below, above)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(room < length, room / length, 1.0) * np.where(inward, -1.0, 1.0)
        return np.zeros(directions.d), up, scale

    def _interval(
        self, radius: float, down: Vector, up: Vector, scale: Vector
    ) -> tuple[Vector, Vector, Vector]:
        """Return between which numbers a base must be, and factors with which there are any.

        With b = fl(fl(up scale) radius), a base B keeps all points inside if fl(B + b) <= high,
        since rounding is monotone; the largest such B is fl(high - b) or the float before it.
        """
        low, high = np.asarray(self.low), np.asarray(self.high)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            span, width = radius * (up - down) * np.abs(scale), high - low
            scale = np.where(span > width, scale * (width / span), scale)
            for _ in range(MAX_HALVINGS + 1):
                ends = np.sort([down * scale * radius, up * scale * radius], axis=0)
                lowest, highest = low - ends[0], high - ends[1]
                lowest = np.where(lowest + ends[0] < low, np.nextafter(lowest, np.inf), lowest)
                highest = np.where(
                    highest + ends[1] > high, np.nextafter(highest, -np.inf), highest
                )
                empty = lowest > highest
                if not empty.any():
                    return lowest, highest, scale
                scale = np.where(empty, scale / 2, scale)
        scale = np.where(empty, 0.0, scale)
        return np.where(empty, low, lowest), np.where(empty, high, highest), scale


def _largest_entries(directions: Directions) -> Vector:
    """Return the largest absolute entry of the directions in each coordinate."""
    largest = np.zeros(directions.d)
    for indices, values in directions.slices(0, directions.count):
        if indices is None:
            np.maximum(largest, np.abs(values).max(axis=0, initial=0.0), out=largest)
        else:
            np.maximum.at(largest, indices.ravel(), np.abs(values).ravel())
    return largest


def _as_planned(
    plan: FeasiblePlan, answers: Sequence[Answer], shift: float
) -> tuple[Plan, list[Answer], float]:
    """Return plan and answers as the estimator expects them, and f(x) - f(base)."""
    remaining = iter(answers)
    queries, seen = [], []
    for old, new, is_measured in zip(plan.planned, plan.moved, plan.measured, strict=True):
        value = float(next(remaining).values[0]) if is_measured else math.nan
        answer = next(remaining)
        if is_measured:
            shift = value - _base_value(new, answer.values)
        elif math.isnan(shift) and new.directions is not None:
            shift = 0.0
        if is_measured or _is_continued(old, new):
            values = answer.values + shift
            if is_measured and new.with_base:
                values[0] = value
            answer = replace(answer, values=values)
        queries.append(replace(old, directions=new.directions))
        seen.append(answer)
    return Plan(queries=tuple(queries), stage=plan.stage), seen, shift


def _is_continued(old: Query, new: Query) -> bool:
    """Tell whether a moved query goes on with differences from f(x) of an earlier round."""
    return new.base is not old.base and not new.with_base and not new.mirrored


def _base_value(query: Query, values: Vector) -> float:
    """Return f at the base, or, for central differences, what the pairs say of it."""
    if query.with_base:
        return float(values[0])
    middles = (values[: query.n_directions] + values[query.n_directions :]) / 2
    finite = middles[np.isfinite(middles)]
    return float(finite.mean()) if finite.size else math.nan
