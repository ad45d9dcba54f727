"""Which coordinates matter: by Prony's method, by matching pursuit, by a matched filter, or all.

A sensing round measures slopes along dense rows from a base point inside the bounds, and stops
as soon as few coordinates explain them. If none do, the gradient is dense, and either all axes
are measured or those that a matched filter points out.
"""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Slopes, Steps
from szoht.algorithms.auto.sensing.dense import sense_axes, sense_filtered
from szoht.algorithms.auto.sensing.growth import sense_by_growth
from szoht.algorithms.auto.sensing.round import (
    CONFIRMING_ROWS,
    Gradient,
    SensingMemory,
    SensingRound,
    compared,
    flat_slopes,
)
from szoht.algorithms.auto.sensing.sparse import (
    recall_sparse,
    sense_by_prony,
    sense_by_pursuit,
    sense_few_signs,
    sense_few_waves,
)
from szoht.algorithms.auto.structures.connected import Connected
from szoht.estimators.sensing import RowSlice

__all__ = ["sense"]


def sense(  # noqa: C901, PLR0911  (one decision after the other)
    context: SearchContext,
    point: EvaluatedPoint,
    noise: NoiseModel,
    memory: SensingMemory,
    *,
    stalled: int,
    softness: float = math.inf,
) -> Steps[tuple[Slopes, SensingMemory]]:
    """Find coordinates to try; ``stalled`` rounds before have gained nothing.

    ``softness`` is the largest entry of the inverse Hessian: a slope g promises a gain of
    ``softness g^2 / 2`` at most, and slopes that promise next to nothing count as flat.
    """
    sensing = SensingRound(context, point, noise, memory, softness)
    if context.gradients:
        return (yield from sense_axes(sensing))
    yield from sensing.recall()
    policy, n = context.policy, sensing.unknown_axes
    most = math.ceil(policy.rows_filter * sensing.look * 2**stalled)
    filtered = policy.rows_filter * sensing.unstructured
    affordable = n <= policy.looks_dense / policy.rows_filter * max(most, filtered)
    few_axes = n <= policy.rows_most * sensing.look
    found = yield from recall_sparse(sensing)
    if found is not None:
        return compared(sensing, found)
    if not context.is_small and (
        few_axes
        or (stalled > 0 and most >= n)
        or (affordable and memory.gradient is Gradient.DENSE)
    ):
        return (yield from sense_axes(sensing))
    if memory.gradient is Gradient.FILTERED:
        yield from sensing.more_signs(most - sensing.known_rows.size)
        return (yield from sense_filtered(sensing))
    if context.is_small:
        few = sense_few_waves if sensing.structure.waves else sense_few_signs
        return (yield from few(sensing))
    yield from sensing.more_signs(CONFIRMING_ROWS - sensing.measured.size)
    if sensing.vanishes and not (yield from sensing.lengthen()):
        return flat_slopes(sensing)
    if _is_worthless(sensing):
        return flat_slopes(sensing)
    if (yield from _is_even(sensing)):
        return flat_slopes(sensing)
    enough = policy.rows_most * sensing.look
    found = yield from _sense_located(sensing)
    sensing.join_known()
    if found is None and sensing.measured.size < enough:
        found = yield from sense_by_pursuit(sensing, min(enough, n / 2) if affordable else enough)
    if found is not None:
        return compared(sensing, found)
    if affordable:
        sensing.memory = replace(memory, gradient=Gradient.DENSE)
        return (yield from sense_axes(sensing))
    yield from sensing.more_signs(most - sensing.measured.size)
    return (yield from sense_filtered(sensing))


def _sense_located(sensing: SensingRound) -> Steps[Slopes | None]:
    """Find slopes by rows that the structure makes cheaper than signs, if there are any."""
    if isinstance(sensing.structure, Connected):
        return (yield from sense_by_growth(sensing, sensing.structure))
    if sensing.structure.waves:
        return (yield from sense_by_prony(sensing))
    return None


def _is_worthless(sensing: SensingRound) -> bool:
    """Tell whether the first rows show slopes so small that they promise next to nothing."""
    common = sensing.noise.curvature * sensing.step
    slope = 3 * float(np.sqrt(np.mean((sensing.measured.slopes - common) ** 2)))
    gained = abs(sensing.context.first_value - sensing.point.value)
    gain = 0.5 * sensing.softness * slope**2
    return gain <= 0.1 * sensing.policy.gain_counted * gained


def _is_even(sensing: SensingRound) -> Steps[bool]:
    """Tell whether f rises or falls alike both ways: then slopes say nothing, as in |x|.

    All signs then give the same slope; one probe the other way tells.
    """
    y = sensing.measured.slopes
    common = sensing.noise.curvature * sensing.step
    if not np.ptp(y) <= 1e-3 * abs(y[0]) or abs(y[0]) <= 10 * abs(common):
        return False
    assert sensing.base is not None, "rows were measured from it"  # noqa: S101
    rows = RowSlice(rows=sensing.signs, start=0, count=1)
    (back,) = yield from sensing.context.differences(sensing.base, rows, -sensing.step)
    return bool(abs(back / sensing.step - y[0]) <= 0.1 * abs(y[0]))
