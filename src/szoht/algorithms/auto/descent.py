"""Which move next, what counts as a stall, and when a descent ends."""

import math
from collections.abc import Callable
from dataclasses import replace

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.known import better_elsewhere
from szoht.algorithms.auto.moves.base import Move
from szoht.algorithms.auto.moves.extend import ExtendAndPrune
from szoht.algorithms.auto.moves.join import JoinAndPrune
from szoht.algorithms.auto.moves.model_exchange import ModelExchange, is_free
from szoht.algorithms.auto.moves.perturb import PerturbSupport
from szoht.algorithms.auto.moves.swap import Swap
from szoht.algorithms.auto.noise import check_roughness
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.sensing.round import Gradient
from szoht.algorithms.auto.sensing.sense import sense
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.units import equalize_units
from szoht.types import Vector

__all__ = ["descend", "search_supports"]

MOVES: tuple[Move, ...] = (
    ExtendAndPrune(),
    Swap(),
    JoinAndPrune(),
    JoinAndPrune(share=3),
    Swap(cold=True),
)

MAX_STALLED = 6
"""Rounds without a gain, each with twice the measurements, and restarts from perturbed supports
without one; patience ends most searches before."""


def descend(  # noqa: C901  (one loop, read from top to bottom)
    context: SearchContext,
    state: SearchState,
    gain_share: float,
    validate: Callable[[Vector], Steps[bool]] | None = None,
    *,
    greedy: bool = False,
    patience: float = math.inf,
) -> Steps[SearchState]:
    """Run rounds { sense -> propose -> solve -> accept } until they gain nothing more.

    ``validate`` tells whether the point of a round is better on other components as well. If
    ``greedy``, coordinates are not exchanged: the first move that gains little is the last one.
    ``patience`` ends it earlier after so many times the queries spent at the last gain.
    """
    state = replace(state, stalled=0, gain_share=gain_share)
    coarse = gain_share > context.policy.gain_share
    favorite, noise = 0, state.noise
    while state.stalled < MAX_STALLED:
        state = replace(state, noise=_in_turn(context, noise))
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
        short = state.noise.axis_step < context.policy.long_difference
        if short and memory.gradient is not Gradient.SPARSE:
            found = yield from check_roughness(context, state.point, noise, dense=True)
            if not found.exact:
                return replace(state, noise=found)
        state = yield from equalize_units(context, state)
        before = state
        moves = MOVES[:1] if greedy else _moves(context, state)
        for i in sorted(range(len(moves)), key=lambda i: (i != favorite, i)):
            solution = yield from moves[i].propose(context, before)
            allowed = context.structure.contains(solution.point.z)
            state = state.settled(solution) if allowed else state
            if _is_spent(context, patience):
                break
            if before.gains(state.point):
                # one that gains little has the last turn next time
                gain = before.point.value - state.point.value
                so_far = context.first_value - before.point.value
                much = gain > context.policy.gain_share_coarse * so_far
                favorite = i if much else (i + 1) % len(moves)
                break
        better = better_elsewhere(context, state.point)
        if better is not None:
            state = replace(state, point=better, curvature=None)
        context.accept(state.point)
        gained = before.gains(state.point)
        yield from context.check_repeatable(state.point)
        if validate is not None and not (gained and (yield from validate(state.point.z))):
            break
        if short and not gained:
            found = yield from check_roughness(context, before.point, noise)
            # kinks look like noise at one length; but then slopes have led somewhere before
            gain = context.first_value - state.point.value
            if not found.exact and gain <= 100 * found.sigma:
                return replace(state, noise=found)
        if not gained and (
            state.exact or (state.trusted and coarse) or _is_spent(context, patience)
        ):
            break
        state = replace(state, stalled=0 if gained else state.stalled + 1)
    return replace(state, noise=noise)


def _in_turn(context: SearchContext, noise: NoiseModel) -> NoiseModel:
    """Return short and long differences in turn where f has kinks: short ones see one side only."""
    if not context.kinks:
        return noise
    context.kinks += 1
    long = max(noise.axis_step, context.policy.flat_step)
    return replace(noise, axis_step=long) if context.kinks % 2 else noise


def _is_spent(context: SearchContext, patience: float = math.inf) -> bool:
    """Tell whether slopes have had their chance: f is then compared over longer distances."""
    look, n = context.structure.look, context.structure.free.size
    budget = math.inf if context.budget is None else context.budget
    axes = 1.5 * n if n <= 0.05 * budget else 0.0
    policy = context.policy
    effort = min(policy.effort_rough, patience)
    limit = max(6 * look, axes, effort * context.last_gain, policy.floor_slopes)
    return context.spent - context.last_gain > limit


def _moves(context: SearchContext, state: SearchState) -> tuple[Move, ...]:
    """Return the moves that make sense here, the cheapest first."""
    structure = context.structure
    full = structure.gaps or structure.count(structure.active(state.point.z)) >= structure.size
    if not (full and state.trusted):
        return MOVES[:1]
    smooth = state.noise.axis_step < context.policy.long_difference and not context.kinks
    if smooth and state.exact and is_free(structure, state.point.z):
        if context.gradients:
            return MOVES[0], ModelExchange(structure.size)
        first, *wider = _models(context)
        return first, MOVES[0], *wider, *MOVES[1:]
    return (*MOVES, JoinAndPrune(times=4)) if structure.sums_to_one else MOVES


def _models(context: SearchContext) -> list[Move]:
    """Return exchanges by models of more and more coordinates."""
    size, most = context.structure.size, context.structure.free.size
    doublings = math.ceil(math.log2(max(most / size, 2)))
    return [ModelExchange(size * 2**i) for i in range(doublings)]


def search_supports(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    """Descend until nothing helps; then perturb the support and descend again, several times."""
    policy = context.policy
    state = yield from descend(context, state, policy.gain_share)
    failed = 0
    while failed < MAX_STALLED and state.noise.exact and state.exact and not _is_spent(context):
        if not state.point.z.any():
            break
        solution = yield from PerturbSupport().propose(context, state)
        elsewhere = replace(state, point=solution.point, curvature=None)
        elsewhere = yield from descend(context, elsewhere, policy.gain_share)
        allowed = context.structure.contains(elsewhere.point.z)
        failed = 0 if allowed and state.gains(elsewhere.point) else failed + 1
        if elsewhere.point.value < state.point.value and allowed:
            state = elsewhere
            context.explain(f"from a perturbed support f fell to {state.point.value:.6g}.")
        context.accept(state.point)
    return state
