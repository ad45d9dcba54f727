"""The default solver: noise -> loop { sense -> propose -> solve -> accept } -> restart or end."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithm import Ending
from szoht.algorithms.auto.context import BudgetSpentError, SolverContext
from szoht.algorithms.auto.global_search import search_globally, spend_rest
from szoht.algorithms.auto.noise import estimate_noise, solve_noisy
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.records import NoiseModel, Point, Steps
from szoht.algorithms.auto.schedule import search_supports
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.structures import structure_of
from szoht.algorithms.auto.units import find_units
from szoht.operators import Sparse, SparseBox
from szoht.scripted import Conversation, Notebook, Scripted
from szoht.types import Sample

__all__ = ["Auto"]


@dataclass(frozen=True, kw_only=True)
class Auto(Scripted):
    """Sparse minimization that needs no parameter but the constraint. See `auto`."""

    operator: Sparse | SparseBox
    seeded: bool = False
    max_queries: int | None = None
    policy: Policy = field(default_factory=Policy)

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return the sample that all values are about."""
        return None

    def script(self, notebook: Notebook) -> Conversation:
        """Measure the start, learn the noise, search."""
        notebook.seeded = self.seeded
        context = SolverContext(
            notebook=notebook,
            structure=structure_of(self.operator, notebook.x.size),
            policy=self.policy,
            budget=self.max_queries,
        )
        yield from solve(context)


def solve(context: SolverContext) -> Steps[Point | None]:
    """Minimize from the start of the notebook; None if f is undefined there."""
    z = context.structure.to_z(context.notebook.x)
    start = yield from context.point(z)
    if math.isnan(start.value):
        return None
    context.first_value = start.value
    if context.is_small:
        noise = _assumed_noise(context, start)
    else:
        noise = yield from estimate_noise(context, start)
    try:
        start, noise = yield from find_units(context, start, noise)
        if noise.fresh:
            return (yield from solve_noisy(context, start, noise))
        state = SearchState(point=start, noise=noise)
        if noise.exact:
            state = yield from search_supports(context, state)
            noise = state.noise  # an error may have been found since
        if noise.stepwise:
            context.explain("values change in steps: slopes are not measured.")
        elif not noise.exact:
            point = yield from solve_noisy(context, state.point, noise)
            if context.notebook.ending is not Ending.NO_PROGRESS:
                return point
            state = replace(state, point=point)
        yield from search_globally(context, state)
    except BudgetSpentError:
        yield from spend_rest(context, noise)
    return context.best


def _assumed_noise(context: SolverContext, start: Point) -> NoiseModel:
    """Return what is assumed where the budget is too small for a test: exact values."""
    sigma = float(np.finfo(np.float64).eps) * abs(start.value)
    context.explain("the budget is small: values are taken to be exact, without a test.")
    return NoiseModel(sigma=sigma, axis_step=context.policy.axis_step, row_step=1e-7)
