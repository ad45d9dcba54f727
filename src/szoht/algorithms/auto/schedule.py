"""Which move next, what counts as a stall, and when a descent ends."""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.moves.base import Move
from szoht.algorithms.auto.moves.extend import ExtendAndPrune
from szoht.algorithms.auto.moves.join import JoinAndPrune
from szoht.algorithms.auto.moves.perturb import PerturbSupport
from szoht.algorithms.auto.moves.swap import Swap
from szoht.algorithms.auto.noise import check_roughness
from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.sensing import Gradient, sense
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.units import equalize_units

__all__ = ["descend", "search_supports"]

MUCH = 0.01
"""A move that gains this share of f is tried first again."""

MOVES: tuple[Move, ...] = (
    ExtendAndPrune(),
    Swap(),
    JoinAndPrune(),
    JoinAndPrune(share=3),
    Swap(cold=True),
)


def descend(  # noqa: C901  (one loop, read from top to bottom)
    context: SearchContext, state: SearchState, gain_share: float
) -> Steps[SearchState]:
    """Run rounds { sense -> propose -> solve -> accept } until they gain nothing more."""
    state = replace(state, stalled=0, gain_share=gain_share)
    coarse = gain_share > context.policy.gain_share
    favorite = 0
    while state.stalled < context.policy.stalled_rounds:
        slopes, memory = yield from sense(
            context,
            state.point,
            state.noise,
            state.memory,
            stalled=state.stalled,
            softness=state.softness,
        )
        state = replace(state, slopes=slopes, memory=memory)
        if state.flat:
            break
        state = yield from equalize_units(context, state)
        short = state.noise.axis_step < context.policy.long_difference
        if short and memory.gradient is not Gradient.SPARSE:
            noise = yield from check_roughness(context, state.point, state.noise)
            if not noise.exact:
                return replace(state, noise=noise)
        before = state
        moves = _moves(context, state)
        for i in sorted(range(len(moves)), key=lambda i: (i != favorite, i)):
            solution = yield from moves[i].propose(context, before)
            state = state.settled(solution)
            if _is_spent(context):
                break
            if before.gains(state.point):
                much = before.point.value - state.point.value > MUCH * abs(before.point.value)
                favorite = i if much else (i + 1) % len(moves)
                break
        context.accept(state.point)
        gained = before.gains(state.point)
        if short and not gained:
            noise = yield from check_roughness(context, before.point, state.noise)
            # kinks look like noise at one length; but then slopes have led somewhere before
            gain = context.first_value - state.point.value
            if not noise.exact and gain <= 100 * noise.sigma:
                return replace(state, noise=noise)
        if not gained and (state.exact or (state.trusted and coarse) or _is_spent(context)):
            break
        state = replace(state, stalled=0 if gained else state.stalled + 1)
    return state


def _is_spent(context: SearchContext) -> bool:
    """Tell whether slopes have had their chance: f is then compared over longer distances."""
    k, n = context.structure.degrees_of_freedom, context.structure.free.size
    look = k * (1 + math.log(max(n / k, 1)))
    budget = math.inf if context.budget is None else context.budget
    axes = 1.5 * n if n <= 0.05 * budget else 0.0
    policy = context.policy
    limit = max(6 * look, axes, policy.effort_slopes * context.last_gain, policy.floor_slopes)
    return context.spent - context.last_gain > limit


def _moves(context: SearchContext, state: SearchState) -> tuple[Move, ...]:
    """Return the moves that make sense here, the cheapest first."""
    full = np.count_nonzero(state.point.z) >= context.structure.size
    return MOVES if full and state.trusted else MOVES[:1]


def search_supports(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    """Descend until nothing helps; then perturb the support and descend again, several times."""
    policy = context.policy
    state = yield from descend(context, state, policy.gain_share)
    failed = 0
    while failed < policy.restarts and state.noise.exact and state.exact and not _is_spent(context):
        if not state.point.z.any():
            break
        solution = yield from PerturbSupport().propose(context, state)
        elsewhere = replace(state, point=solution.point, curvature=None)
        elsewhere = yield from descend(context, elsewhere, policy.gain_share)
        failed = 0 if state.gains(elsewhere.point) else failed + 1
        if elsewhere.point.value < state.point.value:
            state = elsewhere
            context.explain(f"from a perturbed support f fell to {state.point.value:.6g}.")
        context.accept(state.point)
    return state
