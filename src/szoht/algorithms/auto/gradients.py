"""The search where the objective has a gradient: the same moves, and slopes that cost one query.

A gradient gives the slopes along all axes at once, so that sensing is one gradient, and so is a
step of a restricted solve. It is compared with differences once, at the start.
"""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.descent import search_supports
from szoht.algorithms.auto.finite_sums import assumed_noise
from szoht.algorithms.auto.known import check_start
from szoht.algorithms.auto.moves.base import Move
from szoht.algorithms.auto.moves.extend import ExtendAndPrune
from szoht.algorithms.auto.moves.model_exchange import ModelExchange, is_free, is_plain
from szoht.algorithms.auto.noise import estimate_noise
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.goal import Goal
from szoht.algorithms.auto.sensing.sense import sense
from szoht.algorithms.auto.state import SearchState
from szoht.algorithms.auto.units import find_units
from szoht.core.algorithm import Ending, Evidence
from szoht.errors import GradientWarning, warn

__all__ = ["judge_start", "search_by_gradients"]

CHECK_LENGTHS = (1e-5, 1e-8, 1e-2)
"""Over which a gradient is compared with differences, in units: one that agrees is enough."""

LEAST_PATIENCE, PATIENCE = 60, 1.0
"""Queries without a gain that end a search by gradients, and in units of those at the last gain."""

POLISHED = 1e-6
"""How far the gradient on the support must shrink at the end."""

CHECK_SHARE = 0.02
"""Of the slope downhill: what the two may differ by."""

MOVED_SHARES, VALUES_COMPARED = (0.3, 1.0), 2
"""By how much each coordinate moves downhill, drawn at random; and the values of one comparison."""


def judge_start(
    context: SearchContext, start: EvaluatedPoint
) -> Steps[tuple[EvaluatedPoint, NoiseModel]]:
    """Return the start, in units of its own, and how far values can be trusted.

    Gradients that agree with differences say that values are exact. Otherwise they are not used.
    """
    if context.gradients and (yield from _agrees(context, start)):
        context.explain("the gradient agrees with differences of values: slopes are gradients.")
        return start, assumed_noise(context, start)
    checked, context.gradients = context.gradients, False
    if context.is_small:
        noise = assumed_noise(context, start)
    else:
        noise = yield from estimate_noise(context, start)
    check_start(context, start, noise)
    if checked:
        _warn(context, noise)
    return (yield from find_units(context, start, noise))


def _agrees(context: SearchContext, start: EvaluatedPoint) -> Steps[bool]:
    """Compare the gradient with differences downhill; two values, six at most.

    Where f has no value at their ends, nothing is said against the gradient.
    """
    structure, generator = context.structure, context.generator()
    x = structure.to_x(start.z)
    gradient = yield from context.users_gradient(x)
    if gradient is None:
        return False
    signs = generator.choice([-1.0, 1.0], gradient.size)
    downhill = np.where(gradient == 0, signs, -np.sign(gradient))
    downhill *= generator.uniform(*MOVED_SHARES, gradient.size)
    size, compared = max(1.0, float(np.abs(start.z).max())), False
    for length in CHECK_LENGTHS:
        if context.left < VALUES_COMPARED:
            break
        line = structure.line(start.z, downhill, 2 * length * size)
        step = length * size / max(float(np.linalg.norm(line)), 1e-300)
        ends = [structure.clip(start.z + times * step * line) for times in (1, 2)]
        near, far = yield from context.values(ends)
        # exact where f is a parabola
        slope = (4 * near - far - 3 * start.value) / (2 * step)
        moved, twice = (structure.to_x(end) - x for end in ends)
        expected = float(gradient @ (4 * moved - twice)) / (2 * step)
        largest = max(abs(start.value), abs(near), abs(far))
        rounding = 100 * float(np.finfo(np.float64).eps) * largest / step
        if abs(slope - expected) <= CHECK_SHARE * abs(expected) + rounding:
            return True
        compared = compared or math.isfinite(slope)
    return not compared


def _warn(context: SearchContext, noise: NoiseModel) -> None:
    if noise.exact:
        warn(
            "`gradient` disagrees with differences of the function's values at the start, and is "
            "not used. Compare both with scipy.optimize.check_grad.",
            GradientWarning,
        )
    context.explain("the gradient disagrees with differences of values: it is not used.")


def search_by_gradients(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    """Search over supports; the ending is set unless slopes have shown nothing."""
    if is_plain(context.structure):
        state = yield from _exchange(context, state)
    if not is_free(context.structure, state.point.z):
        state = yield from search_supports(context, state)
    state = yield from _polish(context, state)
    context.gradients_at_points = False  # what follows compares values
    if context.gains <= 0 or math.isinf(context.effort):
        return state
    context.outer.ending = Ending.CONVERGED
    context.outer.evidence = Evidence(
        noise=state.noise.kind.value,
        noise_level=state.noise.sigma,
        slopes="" if state.slopes is None else state.slopes.confidence.value,
    )
    context.explain("no move that gradients guide gains anything: done.")
    return state


def _exchange(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    """Extend and prune, then exchange by a model of more and more coordinates."""
    state = replace(state, gain_share=context.policy.gain_share)
    move: Move = ExtendAndPrune()
    width = context.structure.size
    while (left := _left(context)) > 0:
        slopes, memory = yield from sense(
            context, state.point, state.noise, state.memory, stalled=0
        )
        state = replace(state, slopes=slopes, memory=memory)
        if state.flat:
            break
        before = state
        state = state.settled((yield from move.propose(context, state)))
        context.accept(state.point)
        if not before.gains(state.point):
            if isinstance(move, ModelExchange) and width >= context.structure.free.size:
                break
            width = math.ceil(min(2 * width, width + left))
        move = ModelExchange(width)
    return state


def _polish(context: SearchContext, state: SearchState) -> Steps[SearchState]:
    support = context.structure.active(state.point.z)
    slopes = yield from context.gradient_at(state.point)
    if support.size == 0 or slopes is None:
        return state
    if np.linalg.norm(slopes[support]) <= POLISHED * np.linalg.norm(slopes):
        return state
    solution = yield from minimize_on(
        context,
        state.point,
        support,
        state.noise,
        Goal(steps=40, accuracy=POLISHED),
        slopes=slopes[support],
        curvature=state.transfer_curvature(support),
    )
    state = state.settled(solution)
    context.accept(state.point)
    return state


def _left(context: SearchContext) -> float:
    """Return the queries that may still pass without a gain."""
    limit = context.effort * max(LEAST_PATIENCE, PATIENCE * context.last_gain)
    return limit - (context.spent - context.last_gain)
