"""When k is not given: go up until more non-zeros gain little, come down, choose the knee."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.auto.context import BudgetSpentError, SearchContext
from szoht.algorithms.auto.descent import descend
from szoht.algorithms.auto.moves.join import drop_least
from szoht.algorithms.auto.noise import estimate_noise
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.bfgs import Solution
from szoht.algorithms.auto.samples import part
from szoht.algorithms.auto.sensing.round import SensingMemory
from szoht.algorithms.auto.solver import begin
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.units import find_units
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext
from szoht.core.algorithm import Measured, PathPoint, State
from szoht.core.known import KnownEvaluations
from szoht.operators import Identity, Sparse
from szoht.types import Sample

__all__ = ["AutoPath", "find_knee"]

FIRST, GROWTH = 4, 2
"""The first k on the way up, and by how much it grows."""

ONE_BY_ONE, DROPPED_ONE_IN = 40, 10
"""On the way down, one non-zero in so many is dropped at a time, and just one below this many."""

NEGLIGIBLE_GAIN_SHARE = 1e-4
"""A non-zero that gains less than this share of all that was gained gains nothing."""

FEWEST_POINTS = 3


def find_knee(path: Sequence[PathPoint], noise: float = 0.0) -> tuple[int, float]:
    """Return the place in a path where gains per non-zero drop most, and by what factor they do.

    A value that is not lower than that of a smaller k counts as equal to it: the smaller k is
    feasible for the larger one, too.

    >>> curve = [8.0, 5.0, 2.5, 0.5, 0.45, 0.4]
    >>> find_knee([PathPoint(k, np.zeros(9), value) for k, value in enumerate(curve)])[0]
    3
    """
    k = np.array([point.k for point in path], dtype=float)
    values = np.minimum.accumulate([point.fun for point in path])
    if k.size < FEWEST_POINTS:
        return k.size - 1, 1.0
    gains = -np.diff(values) / np.diff(k)
    floor = max(
        NEGLIGIBLE_GAIN_SHARE * float(values[0] - values[-1]), noise, np.finfo(np.float64).tiny
    )
    drops = gains[:-1] / np.maximum(gains[1:], floor)
    place = int(np.argmax(drops))
    return place + 1, float(drops[place])


@dataclass(frozen=True, kw_only=True)
class AutoPath(GeneratorAlgorithm):
    """`Auto` for many k at once, and the k after which the gain per non-zero drops most.

    On the way up k doubles, each solve from the last, until that gains little; on the way down the
    least important non-zeros are dropped and the others solved for again, which costs no search.
    At the knee the search is taken up once more.
    """

    operator: Identity = field(default_factory=Identity)
    seeded: bool = False
    max_queries: int | None = None
    policy: Policy | None = None
    has_units: bool = field(default=False, repr=False)
    effort: float = field(default=1.0, repr=False)
    plan_width: int = field(default=1, repr=False)
    known: KnownEvaluations | None = field(default=None, repr=False)

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Take a finite sum as a whole: values for different k must be values of one function."""
        return None if n_samples is None else part(seed, n_samples, n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Go up, come down, and search on at the knee."""
        search = begin(context, Sparse(1), self)
        start = yield from search.point(search.structure.to_z(context.x))
        if math.isnan(start.value):
            return
        search.first_value = start.value
        search.note(start)
        try:
            noise = yield from estimate_noise(search, start)
            start, noise = yield from find_units(search, start, noise)
            yield from _walk(search, SearchState(point=start, noise=noise))
        except BudgetSpentError:
            # one more query than there is: the run ends with its limit
            yield from search.point(start.z)

    def solution(self, state: State) -> Measured:
        """Return the point at the knee, or at that of what is known so far."""
        if not state.path:
            return super().solution(state)
        chosen = [point for point in state.path if point.k == state.knee]
        knee = chosen[0] if chosen else state.path[find_knee(state.path)[0]]
        return Measured(knee.x, knee.fun)


def _walk(context: SearchContext, state: SearchState) -> Steps[None]:
    outer = context.outer
    if not state.point.z.any():
        _record(context, 0, state.point)
    state = yield from _up(context, state)
    yield from _down(context, state)
    sigma = 0.0 if state.noise.exact else state.noise.sigma
    knee = outer.path[find_knee(outer.path, sigma)[0]]
    outer.knee = knee.k
    context.explain(f"k = {knee.k}: after it, the gain per non-zero drops most.")
    if knee.k > 0:
        context.structure = context.structure.with_size(knee.k)
        point = EvaluatedPoint(context.structure.to_z(knee.x), knee.fun)
        state = replace(state, point=point, curvature=None, slopes=None, least=0.0)
        state = yield from descend(context, state, context.policy.gain_share)
        _record(context, knee.k, state.point)
        context.accept(state.point)


def _up(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    """Solve for k = 4, 8, 16, ..., each time from the solution before."""
    d, first = context.structure.d, state.point
    # a round on the way up that gains less, of f or of all gains, is stalled
    enough = 100 * context.policy.gain_share
    k = min(d, FIRST)
    while True:
        context.structure = context.structure.with_size(k)
        before = state.point
        start = yield from _start(context, before)
        memory = SensingMemory(scale=state.memory.scale)
        least = enough * (first.value - start.value)
        state = replace(state, point=start, least=least, memory=memory, curvature=None, slopes=None)
        state = yield from descend(context, state, enough)
        _record(context, k, state.point)
        context.explain(f"k = {k}: f = {state.point.value:.6g}.")
        gained = first.value - state.point.value
        if k >= d or (
            k > FIRST
            and before.value - state.point.value <= context.policy.gain_share_coarse * gained
        ):
            return state
        k = min(d, GROWTH * k)


def _start(context: SearchContext, point: EvaluatedPoint) -> Steps[EvaluatedPoint]:
    """Return the point if it has few enough non-zeros, else the largest of them, measured."""
    if context.structure.contains(point.z):
        return point
    return (
        yield from context.point(context.structure.prune(point.z, None, context.structure.size))
    )


def _down(context: SearchContext, state: SearchState) -> Steps[None]:
    """Drop the least important non-zeros and solve again, from the largest k down to 1."""
    last = context.outer.path[-1]
    point = EvaluatedPoint(context.structure.to_z(last.x), last.fun)
    curvature = state.curvature
    if curvature is not None and not np.array_equal(curvature.support, point.support):
        curvature = None
    solution = Solution(point, curvature)
    while (size := int(np.count_nonzero(solution.point.z))) > 1:
        count = 1 if size <= ONE_BY_ONE else math.ceil(size / DROPPED_ONE_IN)
        context.structure = context.structure.with_size(size - count)
        solution = yield from drop_least(context, state.noise, solution, count)
        if math.isnan(solution.point.value):
            return
        _record(context, size - count, solution.point)


def _record(context: SearchContext, k: int, point: EvaluatedPoint) -> None:
    """Keep the better of what is known for ``k``, and for fewer if fewer are not zero."""
    path = context.outer.path
    known = {other.k: other for other in path}
    for number in {k, int(np.count_nonzero(point.z))}:
        if number not in known or point.value < known[number].fun:
            known[number] = PathPoint(number, context.structure.to_x(point.z), point.value)
    path[:] = [known[number] for number in sorted(known)]
