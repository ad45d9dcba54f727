"""Finite sums: search on small parts, validate on fresh components, answer on the whole.

What is best on few components need not be good on the others. So each round on a part is measured
on as many components that it has not seen, and the part ends once they disagree. Only what
was measured on the whole, or on a large part where the budget is small, is ever an answer.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.context import BudgetSpentError, SearchContext
from szoht.algorithms.auto.descent import descend
from szoht.algorithms.auto.global_search import search_globally
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.goal import Goal
from szoht.algorithms.auto.samples import fresh_part, part, sizes
from szoht.algorithms.auto.state import SearchState
from szoht.types import Sample, Vector

__all__ = ["assumed_noise", "solve_on_parts"]

SHARES = (1.0, 0.5, 0.25)
"""A step that fresh components disagree with is shortened to these shares before it is refused."""


def solve_on_parts(context: SearchContext) -> Steps[None]:
    """Descend on parts, each some times larger than the one before, up to what answers are about.

    The iterate is then the better one of the start and what was found.
    """
    outer, structure = context.outer, context.structure
    whole, n = outer.sample, outer.n_samples
    assert whole is not None, "only a finite sum has parts"  # noqa: S101
    assert n is not None, "only a finite sum has parts"  # noqa: S101
    if whole.size < n:
        context.explain(f"the answer is measured on {whole.size} of {n} components.")
    budget = math.inf if context.budget is None else context.budget
    queries = context.policy.looks_dense * structure.look
    parts = sizes(whole.size, queries, budget)
    if not parts:
        return
    start = yield from context.point(structure.to_z(outer.x))
    if math.isnan(start.value):
        return
    z = start.z
    for number, (size, following) in enumerate(zip(parts, [*parts[1:], whole.size], strict=True)):
        context.explain(f"f is the mean over {size} of {n} components, for now.")
        context.begin_part(part(outer.seed, n, size), on_part=True)
        context.reserve = _reserve(context, whole.size, following)
        turns = len(parts) - number + 1
        z = yield from _search_part(context, z, fresh_part(outer.seed, n, size), whole.size, turns)
    context.begin_part(whole, on_part=False)
    context.reserve = 0
    context.first_value = start.value
    context.note(start)
    found = start if z is start.z else (yield from context.point(z))
    context.explain(
        f"on {whole.size} components f fell from {start.value:.6g} to {found.value:.6g}."
    )
    best = found if found.value < start.value else start
    try:
        best = yield from _polish(context, best)
    except BudgetSpentError:
        best = context.best or best
    context.accept(best)


def _reserve(context: SearchContext, whole: int, following: int) -> int:
    """Return what is kept to validate the answer, and to polish it on the part that follows."""
    if context.budget is None:
        return 0
    left = max(context.budget - context.evaluations - whole, 0)
    # steps on the support that are kept for the next part while one is searched
    polish = context.policy.steps_wide * (context.structure.degrees_of_freedom + 2) * following
    return whole + min(left // 2, polish)


@dataclass
class _Validation:
    """Keeps the point that is best on fresh components."""

    context: SearchContext
    fresh: Sample
    chosen: EvaluatedPoint

    def better(self, z: Vector) -> Steps[bool]:
        """Tell whether a point is better than the chosen one, which it then becomes.

        Otherwise the way to it may still be right for a shorter distance.
        """
        structure, before = self.context.structure, self.chosen
        for share in SHARES:
            between = structure.clip(before.z + share * (z - before.z)) if share < 1 else z
            if not structure.contains(between):
                break
            value = yield from self._value(between)
            if value < before.value:
                self.chosen = EvaluatedPoint(between, value)
                return share == 1
        return False

    def _value(self, z: Vector) -> Steps[float]:
        outer = self.context.outer
        searched, outer.sample = outer.sample, self.fresh
        try:
            return float((yield from self.context.values([z]))[0])
        finally:
            outer.sample = searched


def _search_part(
    context: SearchContext, z: Vector, fresh: Sample, whole: int, turns: int
) -> Steps[Vector]:
    """Return the point of a descent on a part that is best on fresh components.

    Where slopes vanish, as those of errors that are counted do, f is compared over long distances,
    for one of as many ``turns`` as parts are left.
    """
    validation = _Validation(context, fresh, EvaluatedPoint(z, math.inf))
    try:
        start = yield from context.point(z)
        if math.isnan(start.value) or not (yield from validation.better(z)):
            return z
        context.first_value = start.value
        point = yield from _polish(context, start)
        if point is not start and not (yield from validation.better(point.z)):
            point = start
        state = SearchState(point=point, noise=assumed_noise(context, point))
        coarse = context.policy.gain_share_coarse
        state = yield from descend(context, state, coarse, validation.better)
        if state.flat:
            if context.budget is not None:
                left = context.budget - context.evaluations
                context.reserve = max(context.reserve, left - left // turns)
            yield from _search_steps(context, state)
            yield from validation.better((context.best or point).z)
    except BudgetSpentError:
        context.reserve = min(context.reserve, whole)
        if context.best is not None and math.isfinite(validation.chosen.value):
            with suppress(BudgetSpentError):
                yield from validation.better(context.best.z)
    return validation.chosen.z


def _search_steps(context: SearchContext, state: SearchState) -> Steps[None]:
    """Compare the values of a function that changes in steps over long distances."""
    context.explain("slopes vanish on this part: it is searched over long distances.")
    steps = replace(state, noise=replace(state.noise, stepwise=True, flat=True))
    yield from search_globally(context, steps)
    context.outer.ending = None  # of this part only


def _polish(context: SearchContext, start: EvaluatedPoint) -> Steps[EvaluatedPoint]:
    """Solve on the support of a point that was found on other components."""
    support = context.structure.active(start.z)
    if not support.size:
        return start
    noise, goal = assumed_noise(context, start), Goal(accuracy=0.01)
    solution = yield from minimize_on(context, start, support, noise, goal)
    return solution.point if solution.point.value < start.value else start


def assumed_noise(context: SearchContext, start: EvaluatedPoint) -> NoiseModel:
    """Return what is assumed where a test is not worth its queries: exact values."""
    sigma = float(np.finfo(np.float64).eps) * abs(start.value)
    return NoiseModel(sigma=sigma, axis_step=context.policy.axis_step, row_step=1e-7)
