"""The default solver: noise -> loop { sense -> propose -> solve -> accept } -> restart or end."""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from szoht.algorithms.auto.context import BudgetSpentError, FreshNoiseError, SearchContext
from szoht.algorithms.auto.descent import search_supports
from szoht.algorithms.auto.finite_sums import assumed_noise, solve_on_parts
from szoht.algorithms.auto.global_search import search_globally, spend_rest
from szoht.algorithms.auto.gradients import judge_start, search_by_gradients
from szoht.algorithms.auto.idle_changes import put_back_idle
from szoht.algorithms.auto.known import note_elsewhere
from szoht.algorithms.auto.noise import errs_less_nearby
from szoht.algorithms.auto.noisy.solve import solve_noisy
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.samples import part, validated_size
from szoht.algorithms.auto.sensing.dense import recall_filter
from szoht.algorithms.auto.simulations.evolution import evolve, needs_evolution
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.structures import Coordinates, Structured, structure_of
from szoht.algorithms.auto.wide_plans import Speculation
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext
from szoht.core.algorithm import Ending
from szoht.core.known import KnownEvaluations
from szoht.core.repeats import same_value
from szoht.types import Sample

if TYPE_CHECKING:
    from szoht.algorithms.auto.path import AutoPath

__all__ = ["Auto", "begin"]

LARGE_ERROR = 0.02
"""An error of more than this share of what was gained may be the shape of f."""


@dataclass(frozen=True, kw_only=True)
class Auto(GeneratorAlgorithm):
    """Sparse minimization that needs no parameter but the constraint. See `auto`."""

    answers_best: ClassVar[bool] = True

    operator: Structured
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
        """Return the components that the answer is measured on, all where the budget allows."""
        if n_samples is None:
            return None
        return part(seed, n_samples, validated_size(n_samples, self.max_queries))

    def steps(self, context: SolverContext) -> Steps[None]:
        """Search on growing parts of a finite sum, and then, or at once, on the whole of f."""
        search = begin(context, self.operator, self)
        if context.n_samples:
            yield from solve_on_parts(search)
        yield from solve(search)


def begin(outer: SolverContext, operator: Structured, solver: "Auto | AutoPath") -> SearchContext:
    """Return the context of a run."""
    outer.seeded = solver.seeded
    structure = structure_of(operator, outer.x.size)
    if solver.has_units and isinstance(structure, Coordinates):
        structure = replace(structure, has_units=True)
    return SearchContext(
        outer=outer,
        structure=structure,
        policy=solver.policy or Policy(),
        budget=solver.max_queries,
        effort=solver.effort,
        gradients=solver.use_gradient and not solver.seeded,
        speculation=Speculation(_plan_width(solver)),
        known=None if outer.sample is not None or outer.seeded else solver.known,
    )


def _plan_width(solver: "Auto | AutoPath") -> int:
    """Return the width of plans: one where points are asked with gradients, or on several parts."""
    return 1 if solver.use_gradient or getattr(solver, "criterion", None) else solver.plan_width


def solve(context: SearchContext) -> Steps[EvaluatedPoint | None]:
    """Minimize from the iterate of the context; None if f is undefined there."""
    x = context.outer.x
    start = yield from context.point(context.structure.to_z(x))
    if math.isnan(start.value):
        return None
    context.first_value = start.value
    note_elsewhere(context)
    try:
        return (yield from _solve_from(context, start))
    except FreshNoiseError as found:
        context.explain(f"away from the start, {found}.")
        context.noise_expected, context.outliers, noise = False, False, found.noise
    context.forget()
    start = EvaluatedPoint(context.structure.to_z(x), start.value)
    context.note(start)
    return (yield from _solve_under_noise(context, start, noise))


def _solve_under_noise(
    context: SearchContext, start: EvaluatedPoint, noise: NoiseModel
) -> Steps[EvaluatedPoint]:
    """Minimize a function with fresh noise; if a spent budget is raised, go on from the answer."""
    while True:
        try:
            return (yield from solve_noisy(context, start, noise))
        except BudgetSpentError:
            yield from spend_rest(context, noise)
            start = context.best or start


def _solve_from(  # noqa: C901  (one decision after the other)
    context: SearchContext, start: EvaluatedPoint
) -> Steps[EvaluatedPoint | None]:
    """Minimize by the search that fits the values; what is left of the budget is spent."""
    noise = NoiseModel()
    try:
        if needs_evolution(context):
            return (yield from evolve(context, start))
        context.noise_expected = not (context.gradients or context.outer.seeded)
        start, noise = yield from judge_start(context, start)
        context.noise_expected &= not noise.fresh
        if noise.fresh:
            return (yield from _solve_under_noise(context, start, noise))
        state = SearchState(point=start, noise=noise, memory=recall_filter(context, noise))
        if context.gradients:
            state = yield from search_by_gradients(context, state)
            if context.outer.ending is not None:
                return state.point
        elif noise.exact:
            state = yield from search_supports(context, state)
            noise = state.noise  # an error may have been found since
        if not (noise.exact or noise.stepwise):
            state = yield from _solve_with_error(context, state)
            if context.outer.ending is not None:
                return state.point
        yield from search_globally(context, state)
        yield from put_back_idle(context, start.z)
    except BudgetSpentError:
        yield from spend_rest(context, noise)
    return context.best


def _solve_with_error(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    """Minimize under a fixed error; the ending is set unless the search has to go on."""
    noise = state.noise
    yield from _ask_far_point(context, state.point)
    point = yield from solve_noisy(context, state.point, noise)
    ending, context.outer.ending = context.outer.ending, None
    z = context.structure.clip(2 * point.z)
    farther = EvaluatedPoint(z, (yield from context.value(z)))
    if farther.value < point.value - 10 * noise.sigma:
        # no minimum: what looked like an error is the shape of f
        context.note(farther)
        exact = SearchState(point=farther, noise=assumed_noise(context, farther))
        return (yield from search_supports(context, exact))
    if ending is Ending.CONVERGED and (yield from _is_no_error(context, noise, point)):
        context.explain("what was taken for an error of values may be the shape of f.")
        context.forget()
        return replace(state, point=(yield from context.point(point.z)))
    if ending is not Ending.NO_PROGRESS:
        context.outer.ending = ending
    return replace(state, point=point)


def _ask_far_point(context: SearchContext, point: EvaluatedPoint) -> Steps[None]:
    """Ask a point away from the start twice: what looks like an error there may be noise here."""
    structure = context.structure
    z = structure.clip(point.z + 0.5 * structure.line(point.z, np.ones(structure.d), 0.5))
    twice = [z, z]
    if not context.noise_expected or context.left <= len(twice):
        return
    values = yield from context.values(twice)
    if np.isfinite(values).all() and not same_value(*values.tolist()):
        yield from context.distrust(z, values.tolist())


def _is_no_error(context: SearchContext, noise: NoiseModel, point: EvaluatedPoint) -> Steps[bool]:
    """Tell whether what was seen at the end is large for an error: of the first ones, or of f.

    Or whether there is none between points that are close to each other.
    """
    evidence = context.outer.evidence
    if evidence is None:
        return False
    gained = context.first_value - point.value
    limit = min(context.policy.outlying_factor * noise.sigma, LARGE_ERROR * gained)
    if evidence.noise_level > limit:
        return True
    return (yield from errs_less_nearby(context, point, evidence.noise_level))
