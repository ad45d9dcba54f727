"""0/1 probes over long distances, for functions whose slopes say nothing."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.estimators.sensing import HadamardRows, Measurements, RowSlice, matching_pursuit
from szoht.types import Indices, Vector

__all__ = ["BinaryFit", "BinaryProbes", "measure_halves", "try_binary_probes"]

BELIEVED, CERTAIN = 0.5, 0.01
"""Relative errors up to which 0/1 probes are believed, and taken for proof."""

AMPLITUDES_IN_TURN = (0.1, 10.0, 0.3, 1.0, 0.01, 3.0)
"""Of the probes, in units; within finite bounds one unit at most."""

PLAN_VALUES = 8_000_000
"""Entries of the points of one plan, at most: they are in memory together."""

TINY = 1e-9
"""What is smaller than this share is rounding."""


class BinaryFit(NamedTuple):
    """Coordinates by size of effect, and the relative error on probes that were not used.

    ``certain``: they explain all that happens, and not what all coordinates have in common besides.
    """

    order: Indices
    error: float
    certain: bool = False


def measure_halves(
    context: SearchContext, point: EvaluatedPoint, unit: Vector, amplitude: float, count: int
) -> Steps[BinaryFit]:
    """Move random halves of all coordinates by an amplitude, and explain the values by few.

    0/1 probes see what long signs see, and even functions as well: they are signs around a point
    half an amplitude away, each coordinate up or down by chance. One whose bound is in the way
    moves the other way.
    """
    structure = context.structure
    half = 0.5 * amplitude * unit * context.generator().choice([-1.0, 1.0], unit.size)
    end = point.z + 2 * half
    half = np.where((end > structure.high) | (end < structure.low), -half, half)
    signs = HadamardRows(key=context.key(), d=point.z.size, free=structure.free)
    rows = RowSlice(rows=signs, start=0, count=min(count, signs.available))
    parts, sums, block = [], [], max(1, PLAN_VALUES // point.z.size)
    for first in range(0, rows.count, block):
        chosen = signs.block(first, min(first + block, rows.count))
        sums.append(chosen.sum(axis=1))
        points = [structure.clip(point.z + half * (row + np.abs(row))) for row in chosen]
        parts.append((yield from context.values(points)))
    changes = np.concatenate(parts) - point.value
    if np.isfinite(changes).sum() < context.policy.noise.fewest_rows:
        return BinaryFit(np.empty(0, dtype=np.intp), math.inf)
    measured = Measurements().more(rows, changes)
    if np.linalg.norm(measured.centered) <= TINY * np.linalg.norm(measured.slopes):
        return BinaryFit(np.empty(0, dtype=np.intp), 0.0)  # no coordinate stands out
    held_out = max(4, measured.size // 6)
    per_pass = max(1, structure.size // 8)
    found, alone = (
        matching_pursuit(
            measured, 2 * structure.size, held_out=held_out, per_pass=per_pass, shared=shared
        )
        for shared in (np.concatenate(sums), None)
    )
    order = found.support[np.argsort(-np.abs(found.slopes), kind="stable")]
    return BinaryFit(order, found.error, max(found.error, alone.error) < CERTAIN)


def try_binary_probes(search: Exploration, amplitude: float) -> Steps[None]:
    """Explain values at random 0/1 probes by few coordinates, and try those."""
    context, k = search.context, search.context.structure.size
    look = yield from measure_halves(
        context, search.incumbent, search.unit, amplitude, math.ceil(2 * search.look)
    )
    if not look.error < BELIEVED:
        return
    before = search.incumbent
    wide = context.structure.whole(np.union1d(before.support, look.order[: 2 * k]))
    if wide.size == before.support.size:  # long probes, too, are explained by the support
        search.certified = look.certain
        return
    context.explain(f"0/1 probes over {amplitude:g} units point out {look.order[:k]}.")
    search.scores[look.order] = np.maximum(search.scores[look.order], 1.0)
    yield from search.extend(wide)
    if look.error < CERTAIN and search.incumbent.value < before.value:
        support = search.support
        yield from search.solve(support, search.incumbent, 60 * support.size)


@dataclass
class BinaryProbes:
    """0/1 probes, with another amplitude each time."""

    name: str = "0/1 probes"
    keeps_support: bool = False
    turns: int = 0

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        amplitude = AMPLITUDES_IN_TURN[self.turns % len(AMPLITUDES_IN_TURN)]
        self.turns += 1
        structure = search.context.structure
        bounded = bool(np.isfinite(structure.high - structure.low).all())
        yield from try_binary_probes(search, min(amplitude, 1.0) if bounded else amplitude)
