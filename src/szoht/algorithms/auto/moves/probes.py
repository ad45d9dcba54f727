"""Long looks: 0/1 probes and axis scans, for functions whose slopes say nothing."""

import math
from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.types import Indices, Vector

__all__ = ["BinaryLook", "axis_scan", "binary_look"]

MIN_PROBES = 8
"""Probes with a value below which nothing is concluded."""

TINY = 1e-9
"""What is smaller than this share is rounding."""


class BinaryLook(NamedTuple):
    """Coordinates by size of effect, and the relative error on probes that were not used."""

    order: Indices
    error: float


def binary_look(
    context: SearchContext, point: EvaluatedPoint, unit: Vector, amplitude: float, count: int
) -> Steps[BinaryLook]:
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
        return BinaryLook(np.empty(0, dtype=np.intp), math.inf)
    return _explained(moved, values, 2 * structure.size)


def _explained(moved: Vector, values: Vector, most: int) -> BinaryLook:
    """Orthogonal matching pursuit with a constant on five sixths of the probes."""
    used = values.size - max(4, values.size // 6)
    columns = moved[:used] - moved[:used].mean(axis=0)
    norms = np.linalg.norm(columns, axis=0)
    columns = columns / np.where(norms < TINY, np.inf, norms)
    residual = values[:used] - values[:used].mean()
    size = float(np.linalg.norm(residual))
    if size <= TINY * float(np.linalg.norm(values[:used])):
        return BinaryLook(np.empty(0, dtype=np.intp), 0.0)  # no coordinate stands out
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
    return BinaryLook(order, miss / spread if spread > 0 else (0.0 if miss == 0 else math.inf))


def axis_scan(
    context: SearchContext, point: EvaluatedPoint, unit: Vector, coordinates: Indices
) -> Steps[tuple[Vector, Vector]]:
    """Try each coordinate one unit up and down; return the gains, best of both, and where."""
    structure = context.structure
    gains = np.full(point.z.size, -math.inf)
    best = np.zeros(point.z.size)
    for sign in (1.0, -1.0):
        z = point.z[coordinates]
        low, high = structure.low[coordinates], structure.high[coordinates]
        steps = np.clip(z + sign * unit[coordinates], low, high) - z
        moving = steps != 0
        where = coordinates[moving]
        if not where.size:
            continue
        changes = yield from context.axis_differences(point, where, steps[moving])
        changes = np.where(np.isfinite(changes), changes, math.inf)
        better = -changes > gains[where]
        gains[where[better]] = -changes[better]
        best[where[better]] = (z + steps)[moving][better]
    return gains, best
