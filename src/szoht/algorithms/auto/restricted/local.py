"""A restricted solver for any function: BFGS first, checked, then a pattern search."""

import math

import numpy as np

from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.face import Face
from szoht.algorithms.auto.restricted.goal import Goal, Solution
from szoht.algorithms.auto.restricted.pattern_search import pattern_search, sweep
from szoht.types import Vector

__all__ = ["minimize_robustly"]

CHECKED = (1.0, 0.1, 0.01)
"""Lengths, in units, at which every coordinate is tried after BFGS has ended."""


def minimize_robustly(
    face: Face, start: EvaluatedPoint, unit: Vector, noise: NoiseModel, *, smallest: float = 1e-9
) -> Steps[Solution]:
    """Minimize by BFGS; where a coarse sweep then gains, differences were the wrong tool.

    They mislead on steps and kinks, and end in the nearest of several minima: from what
    the sweep found, a pattern search goes on. ``unit`` has one entry per coordinate of the face.
    """
    context = face.context
    if noise.exact:
        solution = yield from minimize_on(
            context, start, face.support, noise, Goal(steps=40, accuracy=1e-9, thorough=True)
        )
    else:
        solution = Solution(start, None)
    here = face.local(solution.point)
    if math.isnan(here.value):
        return solution
    better = yield from sweep(face, here, CHECKED, unit)
    gained = abs(context.first_value - better.value)
    if here.value - better.value > 1e-9 * gained + 1e-14 * abs(here.value):
        generator = context.generator()
        first = 0.3 * 10 ** generator.uniform(-0.3, 0.3)  # no lattice of halves and doubles
        better = yield from pattern_search(face, better, first * unit, generator, smallest=smallest)
    if not better.value < solution.point.value:
        return solution
    return Solution(face.point(better), None)


def unit_of(face: Face, size: float) -> Vector:
    """Return natural lengths on a face: a quarter of the box, or the size of the point."""
    structure = face.context.structure
    width = (structure.high - structure.low)[face.support]
    return np.where(np.isfinite(width), 0.25 * width, size)
