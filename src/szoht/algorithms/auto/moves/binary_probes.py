"""0/1 probes over long distances, for functions whose slopes say nothing."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.types import Indices, Vector

__all__ = ["BinaryFit", "BinaryProbes", "measure_halves", "try_binary_probes"]

BELIEVED, CERTAIN = 0.5, 0.01
"""Relative errors up to which 0/1 probes are believed, and taken for proof."""

AMPLITUDES_IN_TURN = (0.1, 10.0, 0.3, 1.0, 0.01, 3.0)
"""Of the probes, in units; within finite bounds one unit at most."""

MIN_PROBES = 8
"""Probes with a value below which nothing is concluded."""

TINY = 1e-9
"""What is smaller than this share is rounding."""


class BinaryFit(NamedTuple):
    """Coordinates by size of effect, and the relative error on probes that were not used."""

    order: Indices
    error: float


def measure_halves(
    context: SearchContext, point: EvaluatedPoint, unit: Vector, amplitude: float, count: int
) -> Steps[BinaryFit]:
    """Move random halves of all coordinates by an amplitude, and explain the values by few.

    0/1 probes see what long signs see, and even functions as well. A coordinate whose bound is in
    the way moves the other way.
    """
    structure, generator = context.structure, context.generator()
    free, d = structure.free, point.z.size
    probes, points = np.zeros((count, d)), []
    for row in probes:
        chosen = generator.permutation(free)[: max(1, free.size // 2)]
        row[chosen] = amplitude * unit[chosen]
        up = point.z + row
        points.append(structure.clip(np.where(up > structure.high, point.z - row, up)))
    values = (yield from context.values(points)) - point.value
    finite = np.isfinite(values)
    moved = (np.array(points) - point.z)[finite] / np.where(unit > 0, amplitude * unit, 1.0)
    values = values[finite]
    if values.size < MIN_PROBES:
        return BinaryFit(np.empty(0, dtype=np.intp), math.inf)
    return _explained(moved, values, 2 * structure.size)


def _explained(moved: Vector, values: Vector, most: int) -> BinaryFit:
    """Orthogonal matching pursuit with a constant on five sixths of the probes."""
    used = values.size - max(4, values.size // 6)
    columns = moved[:used] - moved[:used].mean(axis=0)
    norms = np.linalg.norm(columns, axis=0)
    columns = columns / np.where(norms < TINY, np.inf, norms)
    residual = values[:used] - values[:used].mean()
    size = float(np.linalg.norm(residual))
    if size <= TINY * float(np.linalg.norm(values[:used])):
        return BinaryFit(np.empty(0, dtype=np.intp), 0.0)  # no coordinate stands out
    chosen: list[int] = []
    basis = np.zeros((0, used))
    for _ in range(min(most, used - 2)):
        if np.linalg.norm(residual) <= 1e-3 * size:
            break
        scores = np.abs(residual @ columns)
        scores[chosen] = 0.0
        best = int(np.argmax(scores))
        vector = columns[:, best].copy()
        for _ in range(2):
            vector -= (basis @ vector) @ basis
        norm = float(np.linalg.norm(vector))
        if norm < TINY:
            break
        chosen.append(best)
        basis = np.vstack([basis, vector / norm])
        residual = residual - (basis[-1] @ residual) * basis[-1]
    design = np.column_stack([np.ones(values.size), moved[:, chosen]])
    effects = np.linalg.lstsq(design[:used], values[:used], rcond=None)[0]
    miss = float(np.linalg.norm(values[used:] - design[used:] @ effects))
    spread = float(np.linalg.norm(values[used:] - values[:used].mean()))
    order = np.array(chosen, dtype=np.intp)[np.argsort(-np.abs(effects[1:]), kind="stable")]
    return BinaryFit(order, miss / spread if spread > 0 else (0.0 if miss == 0 else math.inf))


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
        search.certified = look.error < CERTAIN
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
