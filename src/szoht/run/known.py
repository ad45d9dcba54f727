"""Known evaluations: points and values from before a run, the best of which may be its start."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from szoht.core.algorithm import Algorithm, Measured
from szoht.core.known import KnownEvaluations
from szoht.core.query import Answer, Plan, Query, Stage
from szoht.core.sparse_vector import SparseVector
from szoht.core.validation import frozen
from szoht.core.variables import Variables
from szoht.errors import CapabilityError, KnownPointWarning, ParameterError, warn
from szoht.estimators.sensing.noise_test import robust_scale
from szoht.operators import Identity
from szoht.run.known_sources import Known, read_known
from szoht.types import Indices, Mask, Sample, Vector

__all__ = [
    "CHECK_POINTS",
    "Known",
    "KnownCheck",
    "KnownStart",
    "Prepared",
    "prepare_known",
    "tell_known",
    "uses_known",
]

CHECK_POINTS = 2
"""Before a run begins at a known point, that point and x0 are measured."""

STATED_ROUNDING, CONTRADICTION = 1e-8, 0.1
"""A stated value is wrong if it is off by more than the first share of itself and the second share
of what it promises to gain."""

ON_GRID = 1e-9
"""A point that is not on the grid of its integers differs by more than this from its nearest, and
one that is out of bounds from them."""

CLOSE_TO_START = 0.3
"""Points around x0 tell its slopes that are closer than this share of the best point's distance."""

LUCK = 0.5
"""A best known point is a better start if it gains more than this share of the values' spread."""

PATH_STARTS = 10
"""Where k is not given, a start has non-zeros at one in so many variables."""

SHOWN_ROWS = 5


class Prepared(NamedTuple):
    """The best known point that may be a start, its value as the user states it, and all."""

    best: Measured | None
    evaluations: KnownEvaluations


def prepare_known(
    known: Known,
    start: Vector,
    *,
    variables: Variables | None,
    algorithm: Algorithm,
    maximize: bool,
) -> Prepared | None:
    """Return what is known in the solver's numbers, None if nothing is.

    The best point that the constraint allows is left out if ``start`` is as good.
    """
    if known is None:
        return None
    if "n_outputs" in algorithm.requires:
        raise CapabilityError(
            f"`known` values are single numbers, and {algorithm!r} takes several."
        )
    if isinstance(start, SparseVector):
        raise CapabilityError(
            "`known` points are dense, and `x0` is sparse. Pass `x0` as an array."
        )
    points, values = read_known(known, start.size, variables)
    _check_bounds(points, variables, algorithm.operator)
    z, usable = _to_z(points, variables)
    usable &= np.isfinite(values)
    _warn_of_dropped(points, usable)
    z, values = z[usable], values[usable]
    evaluations = KnownEvaluations(
        points=frozen(z), values=frozen(-values if maximize else values)
    ).without(_in_conflict(z, values))
    if not values.size:
        return None
    best = _best(z, values, start, _contains(algorithm, start), maximize=maximize)
    if best is None and not (uses_known(algorithm) or (z == start).all(axis=1).any()):
        warn(
            f"None of the {values.size} `known` points satisfies {algorithm.operator!r}; the run "
            "starts from `x0`.",
            KnownPointWarning,
        )
    return Prepared(best, evaluations)


def uses_known(algorithm: Algorithm) -> bool:
    """Tell whether an algorithm takes known evaluations as measurements."""
    return hasattr(algorithm, "known")


def _contains(algorithm: Algorithm, start: Vector) -> Callable[[Vector], bool]:
    """Return what tells whether a point may be a start.

    Where k is not given, the path over it begins at few non-zeros.
    """
    if uses_known(algorithm) and isinstance(algorithm.operator, Identity):
        most = max(int(np.count_nonzero(start)), start.size // PATH_STARTS)
        return lambda x: int(np.count_nonzero(x)) <= most
    contains: Callable[[Vector], bool] = getattr(algorithm.operator, "contains", lambda _: True)
    return contains


def _best(
    z: Vector,
    values: Vector,
    start: Vector,
    contains: Callable[[Vector], bool],
    *,
    maximize: bool,
) -> Measured | None:
    for i in np.argsort(-values if maximize else values, kind="stable").tolist():
        if np.array_equal(z[i], start):
            return None
        if contains(z[i]):
            return Measured(frozen(z[i].copy()), float(values[i]))
    return None


class KnownStart(NamedTuple):
    """Where a run begins after all, the answer that was measured there, and why.

    ``elsewhere`` is the other point that was measured, None if it failed; ``contradicted`` says
    that the best known point has another value than stated.
    """

    x: Vector
    answer: Answer
    reason: str
    elsewhere: Measured | None
    contradicted: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownCheck:
    """One plan that measures x0 and the best known point, which begins the run if it is better.

    Values that depend on a sample are measured on one, and are not compared with stated ones.
    ``keep_start``: the run begins at x0 all the same; ``least_gain``: or unless this is gained.
    """

    start: Vector
    known: Measured
    sample: Sample
    maximize: bool
    keep_start: bool = False
    least_gain: float = 0.0

    @classmethod
    def of(
        cls,
        algorithm: Algorithm,
        start: Vector,
        known: Measured,
        *,
        sample: Sample,
        maximize: bool,
    ) -> Self:
        """Return the check for an algorithm, which may know better than to begin at the best."""
        evaluations: KnownEvaluations | None = getattr(algorithm, "known", None)
        check = cls(start=start, known=known, sample=sample, maximize=maximize)
        if evaluations is None:
            return check
        return replace(
            check,
            keep_start=_keeps_start(evaluations, start, known.x),
            least_gain=_least_gain(evaluations, _contains(algorithm, start)),
        )

    @property
    def plan(self) -> Plan:
        """The start first: it must not fail."""
        points = (self.start, self.known.x)
        queries = tuple(Query(base=point, sample=self.sample) for point in points)
        return Plan(queries=queries, stage=Stage.MEASURE)

    def choose(self, answers: Sequence[Answer]) -> KnownStart:
        """Return the better of both, by values as the user has them."""
        at_start, found = (float(answer.values[0]) for answer in answers)
        gain = found - at_start if self.maximize else at_start - found
        keep = self.keep_start or gain <= self.least_gain
        if (math.isnan(at_start) and math.isfinite(found)) or (gain > 0 and not keep):
            x, answer, where, other = self.known.x, answers[1], "it", self.start
            reason = (
                f"the best known point is the start: f = {found:.6g}, and {at_start:.6g} at x0."
            )
        else:
            x, answer, where, other = self.start, answers[0], "`x0`", self.known.x
            why = ", around which most is known" if self.keep_start and gain > 0 else ""
            reason = (
                f"x0 is the start{why}: f = {at_start:.6g}, and {found:.6g} at the best known "
                "point."
            )
        there = at_start if other is self.start else found
        contradicted = self._contradicts(at_start, found)
        if contradicted:
            warn(
                f"`known` says that its best point has the value {self.known.value:.10g}, and "
                f"{found:.10g} was measured there: it is of another function, or noisy. The run "
                f"starts from {where}.",
                KnownPointWarning,
            )
        elsewhere = Measured(other, there) if math.isfinite(there) else None
        return KnownStart(x, answer, reason, elsewhere, contradicted)

    def _contradicts(self, at_start: float, found: float) -> bool:
        stated = self.known.value
        if self.sample is not None:
            return False
        promise = abs(at_start - stated) if math.isfinite(at_start) else 0.0
        tolerance = max(STATED_ROUNDING * max(abs(stated), abs(found)), CONTRADICTION * promise)
        return not abs(found - stated) <= tolerance


def tell_known(algorithm: Algorithm, check: KnownCheck, chosen: KnownStart) -> Algorithm:
    """Return the algorithm, told what the check has found if it uses known evaluations."""
    evaluations: KnownEvaluations | None = getattr(algorithm, "known", None)
    if evaluations is None:
        return algorithm
    if chosen.contradicted:
        evaluations = evaluations.without((evaluations.points == check.known.x).all(axis=1))
    other = chosen.elsewhere
    if other is not None and check.maximize:
        other = other._replace(value=-other.value)
    known = replace(evaluations, elsewhere=other)
    return cast(Algorithm, replace(cast(Any, algorithm), known=known))


def _least_gain(evaluations: KnownEvaluations, contains: Callable[[Vector], bool]) -> float:
    """Return what the best known point must gain to be no matter of luck.

    The best of many random points says little: its support is as random as theirs.
    """
    allowed = np.array([contains(x) for x in evaluations.points], dtype=bool)
    values = evaluations.values[allowed]
    return LUCK * robust_scale(values) if values.size else 0.0


def _keeps_start(evaluations: KnownEvaluations, start: Vector, best: Vector) -> bool:
    """Tell whether a solver that uses slopes should begin at x0, the best known point aside.

    So it should where many points around x0 tell its slopes, and the best point is no result of a
    search: then other points would share its support.
    """
    steps = evaluations.points - start
    distances = np.linalg.norm(steps, axis=1)
    single = np.count_nonzero(steps, axis=1) == 1
    close = single | (distances <= CLOSE_TO_START * float(np.linalg.norm(best - start)))
    support = np.flatnonzero(best)
    elsewhere = np.delete(evaluations.points, support, axis=1).any(axis=1)
    searched = ~elsewhere & ~single & (distances > 0)
    return int(close.sum()) > 2 * support.size >= int(searched.sum())


def _check_bounds(points: Vector, variables: Variables | None, operator: Any) -> None:
    """Raise if a point is outside the bounds of the variables or of the constraint."""
    source = operator if variables is None else variables
    low, high = getattr(source, "low", None), getattr(source, "high", None)
    if low is None or high is None or not points.size:
        return
    shape = points.shape[1:]
    low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
    off = np.maximum(low - points, points - high)
    outside = np.argwhere(off > ON_GRID * np.maximum(np.abs(points), 1e-300))
    if outside.size:
        row, i = outside[0].tolist()
        name = f"x[{i}]" if variables is None else variables.labels[i]
        raise ParameterError(
            f"`known` points must lie within the bounds; got {points[row, i]:g} for {name} in row "
            f"{row} (from 0), and its bounds are {low[i]:g} and {high[i]:g}. Leave "
            f"{'that point' if len(np.unique(outside[:, 0])) == 1 else 'such points'} out, or "
            "widen the bounds."
        )


def _in_conflict(z: Vector, values: Vector) -> Mask:
    """Mark the points that are stated several times, with values that differ."""
    _, place = np.unique(z, axis=0, return_inverse=True)
    place = place.reshape(-1)
    order = np.lexsort((values, place))
    first = np.flatnonzero(np.diff(place[order], prepend=-1))
    if first.size == values.size:
        return np.zeros(values.size, dtype=bool)
    low, high = (function.reduceat(values[order], first) for function in (np.minimum, np.maximum))
    differ = high - low > STATED_ROUNDING * np.maximum(np.abs(low), np.abs(high))
    if differ.any():
        warn(
            f"{differ.sum()} `known` points are stated more than once, with different values; none "
            "of them is used as a measurement.",
            KnownPointWarning,
        )
    return np.asarray(differ[place])


def _to_z(points: Vector, variables: Variables | None) -> tuple[Vector, Any]:
    """Return the points in the solver's numbers, and which of them the variables can be."""
    if variables is None:
        return points, np.ones(len(points), dtype=bool)
    z = variables.to_z(points)
    scale = np.maximum(np.abs(points), variables.scale)
    near = np.abs(variables.to_x(z) - points) <= ON_GRID * np.where(
        variables.log, np.abs(points), scale
    )
    return z, near.all(axis=1)


def _warn_of_dropped(points: Vector, usable: Any) -> None:
    dropped: Indices = np.flatnonzero(~usable)
    if dropped.size:
        more = ", ..." if dropped.size > SHOWN_ROWS else ""
        shown = ", ".join(map(str, dropped[:SHOWN_ROWS])) + more
        warn(
            f"{dropped.size} of {len(points)} `known` points are left out (rows {shown}, from 0): "
            "between integers, or with a value that is not finite.",
            KnownPointWarning,
        )
