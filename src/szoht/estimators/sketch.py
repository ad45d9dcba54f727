"""Gradients by group testing: finds the few coordinates that matter among any number."""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from szoht.core.directions import ArrayDirections, Directions, weighted_sum
from szoht.core.implicit import NO_BIT, ImplicitSigns, hash_coordinates
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key, Purpose
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import check_integer
from szoht.estimators.differences import EPS, VALUE_ERROR_EPS, unscaled, without_scale
from szoht.schedules import Scheduled, at, check_scheduled
from szoht.types import Indices, Sample, Vector

__all__ = ["Sketch"]

BUCKETS_PER_COORDINATE = 4
"""k coordinates in 4 k buckets: four in five of them are alone in theirs."""

MAX_BUCKET_GROWTH = 16
"""The number of buckets grows at most by this factor when coordinates collide."""


class Step(enum.Enum):
    """What the next round of an iteration is for."""

    SCREEN = "which buckets respond"
    DECODE = "the binary digits of what responds in them"
    VERIFY = "the slopes along the coordinates that were decoded"


@dataclass(frozen=True, kw_only=True, eq=False)
class SketchState:
    """What is known between rounds; ``buckets`` for the run, the rest for one iteration.

    ``known`` are coordinates with measured ``slopes``; ``responding`` are buckets with non-zero
    responses ``totals``; ``decoded`` are coordinates yet to be measured.
    """

    buckets: int
    step: Step = Step.SCREEN
    value: float = math.nan
    known: Indices
    slopes: Vector
    responding: Indices
    totals: Vector
    decoded: Indices


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """The ``count`` largest partial derivatives, from O(count log d) values and no work in d.

    With central differences ``D(u) = [f(x + mu u) - f(x - mu u)] / (2 mu)``, in three rounds:

    1. a hash assigns a bucket and a sign s_i to each coordinate; the response of a bucket is
       ``D(u)`` with u_i = s_i on it. Coordinates in the support of x are left out of
       the buckets; their own slopes ``D(e_i)`` are measured now;
    2. in each of the ``count`` buckets of largest response, for every binary digit b: the same
       with the signs of those coordinates flipped whose digit is 0. If one coordinate dominates
       its bucket, the response keeps its sign exactly where its own digit is 1, which
       identifies it;
    3. the slope ``D(e_i)`` of each decoded coordinate that belongs to its bucket is measured
       before it is used.

    Coordinates that collide in one iteration are hashed anew in the next. If less than half of the
    responding buckets can be decoded, there are twice as many buckets next time.

    Parameters
    ----------
    count : int
        How many coordinates to look for per iteration, in [1, d].
    mu : float or Schedule
        How far a probed coordinate moves, > 0.
    buckets : int, optional
        To begin with, >= 1; by default ``4 * count``.

    Notes
    -----
    Costs ``1 + 2 (n + buckets)`` queries for a support of n, and while other coordinates respond,
    up to ``2 count (ceil(log2 d) + 1)`` more. Time and memory of the same order, if ``x0`` is a
    `SparseVector` and f reads its argument by ``x[indices]``. The estimate holds true partial
    derivatives, but only of coordinates that were found: it is not unbiased.

    References
    ----------
    Cormode, Muthukrishnan, Combinatorial algorithms for compressed sensing, SIROCCO 2006: hashing
    and bit tests for sparse recovery in time sublinear in d.
    """

    count: int
    mu: Scheduled
    buckets: int | None = None

    requires = frozenset[str]()
    central = True

    def __post_init__(self) -> None:
        check_integer("count", self.count, low=1, high_name="d")
        check_scheduled("mu", self.mu, low=0, open_low=True)
        if self.buckets is not None:
            check_integer("buckets", self.buckets, low=1)

    def check(self, d: int) -> None:
        """Raise unless count is in [1, d]."""
        check_integer("count", self.count, low=1, high=d, high_name="d")

    def stays_sparse(self, d: int) -> bool:
        """Directions are looked up, and the estimate holds what was found."""
        del d
        return True

    def init(self, x: Vector) -> SketchState:
        """Return the memory before the first iteration."""
        del x
        return _initial_state(self._min_buckets)

    def plan(self, x: Vector, sample: Sample, memory: SketchState, key: Key) -> Plan:
        """Return the points of one round."""
        radius = at(self.mu, key.iteration, "mu")

        def along(directions: Directions) -> Query:
            return Query(
                base=x,
                sample=sample,
                directions=directions,
                radius=radius,
                with_base=False,
                mirrored=True,
            )

        if memory.step is Step.VERIFY:
            return Plan(queries=(along(ArrayDirections.axes(memory.decoded, x.size)),))
        if memory.step is Step.DECODE:
            responding, digits = memory.responding, _digits(x.size)
            bits = np.tile(np.arange(digits), responding.size)
            signs = _signs(x, key, memory, np.repeat(responding, digits), bits)
            return Plan(queries=(along(signs),))
        every = np.arange(memory.buckets)
        signs = _signs(x, key, memory, every, np.full(every.size, NO_BIT))
        here = Query(base=x, sample=sample)
        support = np.flatnonzero(x)
        own = (along(ArrayDirections.axes(support, x.size)),) if support.size else ()
        return Plan(queries=(here, *own, along(signs)))

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: SketchState
    ) -> tuple[Estimate | None, SketchState]:
        """Return the estimate, or None while responding coordinates are not identified."""
        if memory.step is Step.SCREEN:
            memory = self._screen(plan, answers, memory)
            done = not memory.responding.size
        elif memory.step is Step.DECODE:
            memory = self._decode(plan, answers, memory)
            done = not memory.decoded.size
        else:
            slopes = _axis_slopes(plan.queries[-1], answers[-1], memory.value, memory.decoded)
            memory = _add_slopes(memory, memory.decoded, slopes)
            done = True
        if not done:
            return None, memory
        return _estimate(plan.queries[-1], memory), _initial_state(memory.buckets)

    @property
    def _min_buckets(self) -> int:
        return self.buckets or BUCKETS_PER_COORDINATE * self.count

    def _screen(self, plan: Plan, answers: Sequence[Answer], memory: SketchState) -> SketchState:
        value = float(answers[0].values[0])
        memory = replace(memory, value=value, step=Step.DECODE)
        if len(answers) > 2:  # noqa: PLR2004  (the base, the support, the buckets)
            own = plan.queries[1]
            support = np.flatnonzero(own.base)
            slopes = _axis_slopes(own, answers[1], value, support)
            memory = _add_slopes(memory, support, slopes)
        totals = _slopes(plan.queries[-1], answers[-1], value)
        spread = np.abs(answers[-1].values).max(initial=abs(value), where=_finite(answers[-1]))
        floor = VALUE_ERROR_EPS * EPS * spread / plan.queries[-1].radius
        largest = np.argsort(-np.abs(totals), kind="stable")[: self.count]
        responding = np.sort(largest[np.abs(totals[largest]) > floor])
        if math.isnan(value):
            responding = responding[:0]
        fewer = max(self._min_buckets, memory.buckets // 2)
        buckets = memory.buckets if responding.size else fewer
        return replace(memory, responding=responding, totals=totals[responding], buckets=buckets)

    def _decode(self, plan: Plan, answers: Sequence[Answer], memory: SketchState) -> SketchState:
        directions, _ = unscaled(cast(Directions, plan.queries[-1].directions))
        assert isinstance(directions, ImplicitSigns), "only buckets are decoded"  # noqa: S101
        slopes = _slopes(plan.queries[-1], answers[-1], memory.value)
        responses = slopes.reshape(memory.responding.size, -1)
        digits = responses * memory.totals[:, np.newaxis] > 0
        decoded = digits @ (1 << np.arange(digits.shape[1]))
        bucket = directions.bucket_of(hash_coordinates(decoded, directions.seed))
        consistent = (decoded < directions.d) & (bucket == memory.responding)
        consistent &= ~np.isin(decoded, directions.excluded)
        too_many_collisions = 2 * np.count_nonzero(consistent) < memory.responding.size
        more = min(2 * memory.buckets, MAX_BUCKET_GROWTH * self._min_buckets)
        buckets = more if too_many_collisions else memory.buckets
        return replace(
            memory, step=Step.VERIFY, decoded=np.sort(decoded[consistent]), buckets=buckets
        )


def _initial_state(buckets: int) -> SketchState:
    none, empty = np.empty(0, dtype=np.intp), np.empty(0)
    return SketchState(
        buckets=buckets, known=none, slopes=empty, responding=none, totals=empty, decoded=none
    )


def _add_slopes(memory: SketchState, coordinates: Indices, slopes: Vector) -> SketchState:
    return replace(
        memory,
        known=np.concatenate([memory.known, coordinates]),
        slopes=np.concatenate([memory.slopes, slopes]),
    )


def _estimate(query: Query, memory: SketchState) -> Estimate:
    """Return the vector of all slopes that were measured."""
    sparse = isinstance(query.base, SparseVector)
    axes = ArrayDirections.axes(memory.known, query.base.size)
    steepest = float(np.abs(memory.slopes).max(initial=0.0))
    return Estimate(
        gradient=weighted_sum(axes, memory.slopes, sparse=sparse),
        value=memory.value,
        measured=True,
        # without a response there is no slope to compare rounding with
        rounding=EPS * abs(memory.value) / query.radius if steepest else 0.0,
        slope=steepest,
    )


def _signs(
    x: Vector, key: Key, memory: SketchState, bucket: Indices, bit: Indices
) -> ImplicitSigns:
    # all rounds of an iteration share one hash
    first = Key(seed=key.seed, iteration=key.iteration)
    seed = first.generator(Purpose.DIRECTIONS).integers(2**64, dtype=np.uint64)
    return ImplicitSigns(
        d=x.size,
        seed=int(seed),
        buckets=memory.buckets,
        bucket=bucket,
        bit=bit,
        excluded=np.flatnonzero(x),
    )


def _slopes(query: Query, answer: Answer, value: float) -> Vector:
    """Return the slopes along the directions of a query, given f(x); unknown ones are zero.

    Where one side failed, its mirror image stands in: f(x + u) is about 2 f(x) - f(x - u). One
    missing digit would decode to another coordinate.
    """
    plus, minus = answer.values[: query.n_directions], answer.values[query.n_directions :]
    plus, minus = (
        np.where(np.isnan(plus), 2 * value - minus, plus),
        np.where(np.isnan(minus), 2 * value - plus, minus),
    )
    slopes: Vector = (plus - minus) / (2 * query.radius)
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _axis_slopes(query: Query, answer: Answer, value: float, coordinates: Indices) -> Vector:
    """Return the slopes along the axes at ``coordinates``, which may have been scaled."""
    _, scale = unscaled(cast(Directions, query.directions))
    return without_scale(
        _slopes(query, answer, value), None if scale is None else scale[coordinates]
    )


def _finite(answer: Answer) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.isfinite(answer.values)


def _digits(d: int) -> int:
    return max(1, (d - 1).bit_length())
