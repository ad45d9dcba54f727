"""When k is not given: go up until more non-zeros gain little, come down, choose one.

The one is the knee, or that of an information criterion or of cross-validation.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from szoht.algorithms.auto.context import BudgetSpentError, SearchContext
from szoht.algorithms.auto.criteria import best_by, blocks, dispersion
from szoht.algorithms.auto.descent import descend
from szoht.algorithms.auto.gradients import judge_start
from szoht.algorithms.auto.moves.join import drop_least
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.goal import Solution
from szoht.algorithms.auto.samples import part
from szoht.algorithms.auto.sensing.round import SensingMemory
from szoht.algorithms.auto.solver import begin
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext
from szoht.core.algorithm import Measured, PathPoint, State
from szoht.core.known import KnownEvaluations
from szoht.operators import Identity, Sparse
from szoht.types import Indices, Sample, Vector

__all__ = ["AutoPath", "find_knee"]

FIRST, GROWTH = 4, 2
"""The first k on the way up, and by how much it grows."""

ONE_BY_ONE, DROPPED_ONE_IN = 40, 10
"""On the way down, one non-zero in so many is dropped at a time, and just one below this many."""

NEGLIGIBLE_GAIN_SHARE = 1e-4
"""A non-zero that gains less than this share of all that was gained gains nothing."""

FEWEST_POINTS = 3

FOLDS = 5
"""Parts of a finite sum that cross-validation leaves out in turn."""


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

    With a ``criterion``, "aic", "bic", "ebic" or "cv", the k that it says.

    On the way up k doubles, each solve from the last, until that gains little; on the way down the
    least important non-zeros are dropped and the others solved for again, which costs no search.
    At the knee the search is taken up once more.
    """

    answers_best: ClassVar[bool] = True

    operator: Identity = field(default_factory=Identity)
    always: tuple[int, ...] = ()
    criterion: str | None = None
    seeded: bool = False
    max_queries: int | None = None
    policy: Policy | None = None
    has_units: bool = field(default=False, repr=False)
    effort: float = field(default=1.0, repr=False)
    use_gradient: bool = False
    plan_width: int = field(default=1, repr=False)
    known: KnownEvaluations | None = field(default=None, repr=False)

    @property
    def requires(self) -> frozenset[str]:  # type: ignore[override]
        """A gradient, where it is used."""
        return frozenset({"gradient"}) if self.use_gradient else frozenset()

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Take a finite sum as a whole: values for different k must be values of one function."""
        return None if n_samples is None else part(seed, n_samples, n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Go up, come down, and search on at the knee."""
        search = begin(context, Sparse(1, always=self.always), self)
        start = yield from search.point(search.structure.to_z(context.x))
        if math.isnan(start.value):
            return
        search.first_value = start.value
        search.note(start)
        noise: NoiseModel | None = None
        while True:
            try:
                if noise is None:
                    start, noise = yield from judge_start(search, start)
                yield from _walk(search, SearchState(point=start, noise=noise), self.criterion)
            except BudgetSpentError:
                # what is asked next meets the limit of the run, unless that has been raised
                search.budget, noise = None, noise or NoiseModel()
                start = search.best or start
            else:
                return

    def solution(self, state: State) -> Measured:
        """Return the point at the knee, or at that of what is known so far."""
        if not state.path:
            return super().solution(state)
        chosen = [point for point in state.path if point.k == state.knee]
        knee = chosen[0] if chosen else state.path[find_knee(state.path)[0]]
        return Measured(knee.x, knee.fun)


def _walk(context: SearchContext, state: SearchState, criterion: str | None) -> Steps[None]:
    outer = context.outer
    path = outer.path
    if _size(context, state.point) == 0:
        _record(context, path, 0, state.point)
    most = context.structure.d if criterion is None else _most(context)
    state = yield from _up(context, path, state, criterion, most=most)
    yield from _down(context, path, state)
    chosen = yield from _choose(context, state, criterion)
    outer.knee = chosen.k
    if chosen.k > 0:
        context.structure = context.structure.with_size(chosen.k)
        state = _at(context, state, chosen)
        state = yield from descend(context, state, context.policy.gain_share)
        _record(context, path, chosen.k, state.point)
        context.accept(state.point)


def _choose(context: SearchContext, state: SearchState, criterion: str | None) -> Steps[PathPoint]:
    """Return the point at the knee, or that a criterion says."""
    path = context.outer.path
    sigma = 0.0 if state.noise.exact else state.noise.sigma
    knee = path[find_knee(path, sigma)[0]]
    if criterion is None:
        context.explain(f"k = {knee.k}: after it, the gain per non-zero drops most.")
        return knee
    if criterion == "cv":
        return (yield from _by_cross_validation(context, state))
    chosen = yield from _by_criterion(context, _at(context, state, knee).point, criterion)
    chosen = yield from _by_criterion(context, _at(context, state, chosen).point, criterion)
    context.explain(f"k = {chosen.k}: {criterion.upper()} is least.")
    return chosen


def _by_criterion(
    context: SearchContext, point: EvaluatedPoint, criterion: str
) -> Steps[PathPoint]:
    """Return the point that a criterion says, with the dispersion at some point."""
    n, structure = context.outer.n_samples, context.structure
    assert n is not None, "a criterion is for a finite sum"  # noqa: S101
    scale = yield from dispersion(context, point)
    context.explain(f"components differ as those of -log p do, times {scale:.3g}.")
    d = structure.count(structure.free)
    return best_by(context.outer.path, criterion, n=n, d=d, scale=scale)


def _by_cross_validation(context: SearchContext, state: SearchState) -> Steps[PathPoint]:
    """Return the point whose k has the least mean loss on components that were left out.

    Until that is known, the answer is what BIC says.
    """
    outer, path, whole = context.outer, context.outer.path, context.outer.sample
    n = outer.n_samples or 1
    knee = path[find_knee(path)[0]]
    bic = yield from _by_criterion(context, _at(context, state, knee).point, "bic")
    outer.knee = bic.k
    context.explain(f"k = {bic.k} by BIC, until {FOLDS} folds are searched.")
    best, structure, scores = context.best, context.structure, np.zeros(len(path))
    context.on_part = True
    try:
        for number, fold in enumerate(blocks(context, FOLDS)):
            before = context.evaluations
            scores += yield from _left_out(context, state, fold)
            if number == 0:
                each = (context.evaluations - before) / n
                context.explain(f"a fold takes {each:.0f} passes: {FOLDS * each:.0f} in all.")
    finally:
        outer.sample, context.on_part = whole, False
        context.best, context.structure = best, structure
    chosen = path[int(np.argmin(scores))]
    context.explain(f"k = {chosen.k}: the loss on components that were left out is least.")
    return chosen


def _left_out(context: SearchContext, state: SearchState, fold: Indices) -> Steps[Vector]:
    """Return the summed loss on a fold of a path over the others, for each k of the whole path.

    One descent to the largest k is enough, for that path goes down from there.
    """
    outer, wanted, path = context.outer, context.outer.path, list[PathPoint]()
    outer.sample = np.setdiff1d(np.arange(outer.n_samples or 0), fold)
    start = yield from context.point(np.zeros_like(state.point.z))
    _record(context, path, 0, start)
    at_start = SearchState(point=start, noise=state.noise)
    most = wanted[-1].k
    yield from _down(
        context, path, (yield from _up(context, path, at_start, "cv", most=most, least=most))
    )
    outer.sample = fold
    losses = yield from context.values([context.structure.to_z(point.x) for point in path])
    sizes = [point.k for point in path]
    places = np.searchsorted(sizes, [point.k for point in wanted], side="right") - 1
    return np.asarray(fold.size * losses[places])


def _at(context: SearchContext, state: SearchState, point: PathPoint) -> SearchState:
    """Return the state at a point of the path."""
    evaluated = EvaluatedPoint(context.structure.to_z(point.x), point.fun)
    return replace(state, point=evaluated, curvature=None, slopes=None, least=0.0)


def _most(context: SearchContext) -> int:
    """Return the largest k that makes sense: all coordinates, or half as many as components."""
    n = context.outer.n_samples
    return context.structure.d if n is None else min(context.structure.d, max(1, n // 2))


def _up(
    context: SearchContext,
    path: list[PathPoint],
    state: SearchState,
    criterion: str | None,
    *,
    most: int,
    least: int = FIRST,
) -> Steps[SearchState]:
    """Solve for k = 4, 8, 16, ..., each time from the solution before.

    Cross-validation compares many solutions, so that each of them is a greedy one.
    """
    first, k = state.point, min(most, least)
    # a round on the way up that gains less, of f or of all gains, is stalled
    enough = 100 * context.policy.gain_share
    while True:
        context.structure = context.structure.with_size(k)
        before = state.point
        start = yield from _start(context, before)
        memory = SensingMemory(scale=state.memory.scale)
        state = replace(
            state,
            point=start,
            least=enough * (first.value - start.value),
            memory=memory,
            curvature=None,
            slopes=None,
        )
        state = yield from descend(context, state, enough, greedy=criterion == "cv")
        _record(context, path, k, state.point)
        context.explain(f"k = {k}: f = {state.point.value:.6g}.")
        if k >= most or (
            k > FIRST and (yield from _enough(context, state, first, before, criterion))
        ):
            return state
        k = min(most, GROWTH * k)


def _enough(
    context: SearchContext,
    state: SearchState,
    first: EvaluatedPoint,
    before: EvaluatedPoint,
    criterion: str | None,
) -> Steps[bool]:
    """Tell whether fewer non-zeros than these are enough; folds go as far as the whole sum does."""
    if criterion is None:
        gained = first.value - state.point.value
        return before.value - state.point.value <= context.policy.gain_share_coarse * gained
    if context.on_part:
        return False
    chosen = yield from _by_criterion(
        context, state.point, "bic" if criterion == "cv" else criterion
    )
    return chosen.k < context.structure.size


def _start(context: SearchContext, point: EvaluatedPoint) -> Steps[EvaluatedPoint]:
    """Return the point if it has few enough non-zeros, else the largest of them, measured."""
    if context.structure.contains(point.z):
        return point
    return (
        yield from context.point(context.structure.prune(point.z, None, context.structure.size))
    )


def _down(context: SearchContext, path: list[PathPoint], state: SearchState) -> Steps[None]:
    """Drop the least important non-zeros and solve again, from the largest k down to 1.

    Down to 0, where coordinates that are not counted are left to solve for.
    """
    largest = path[-1]
    point = EvaluatedPoint(context.structure.to_z(largest.x), largest.fun)
    curvature = state.curvature
    if curvature is not None and not np.array_equal(curvature.support, point.support):
        curvature = None
    solution = Solution(point, curvature)
    last = int(context.structure.active(np.zeros(context.structure.d)).size == 0)
    while (size := _size(context, solution.point)) > last:
        count = 1 if size <= ONE_BY_ONE else math.ceil(size / DROPPED_ONE_IN)
        context.structure = context.structure.with_size(size - count)
        solution = yield from drop_least(context, state.noise, solution, count)
        if math.isnan(solution.point.value):
            return
        _record(context, path, size - count, solution.point)


def _record(context: SearchContext, path: list[PathPoint], k: int, point: EvaluatedPoint) -> None:
    """Keep the better of what is known for ``k``, and for fewer if fewer are not zero."""
    known = {other.k: other for other in path}
    for number in {k, _size(context, point)}:
        if number not in known or point.value < known[number].fun:
            known[number] = PathPoint(number, context.structure.to_x(point.z), point.value)
    path[:] = [known[number] for number in sorted(known)]


def _size(context: SearchContext, point: EvaluatedPoint) -> int:
    """Return how many coordinates that count are not zero."""
    return context.structure.count(point.support)
