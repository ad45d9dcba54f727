"""Functions of the direction of z alone: f(c z) = f(z), as ratios of risk and return are.

A quadratic model of one would promise the more, the farther it went along z, so that steps along
some direction are ruled out. If f is a quadratic function of x / sum(x), as where the weights of a
portfolio are made to sum to one, the sum is held, and what the Hessian tells holds everywhere.
"""

from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.types import Indices, Vector

__all__ = ["Form", "check_scale", "form_at", "held_direction"]

SHORTER, EQUAL = 0.75, 1e-9
"""The multiple of a point that is compared with it, and the share of f that is no difference."""


class Form(NamedTuple):
    """How the Hessian H at a point follows from what is the same everywhere, a H + v 1' + 1 v'.

    For f(x) = w' A w with w = x / s and s = sum(x), differentiating twice gives
    2 A = s^2 H + v 1' + 1 v' with v = 2 s g + f, g being the gradient. Otherwise that is H itself.
    """

    factor: float
    shift: Vector

    def constant(self, hessian: Vector, i: Indices, j: Indices) -> Vector:
        """Return what is the same everywhere for entries (i, j) of the Hessian."""
        return np.asarray(self.factor * hessian + self.shift[i] + self.shift[j])

    def hessian(self, constant: Vector, i: Indices, j: Indices) -> Vector:
        """Return entries (i, j) of the Hessian."""
        return np.asarray((constant - self.shift[i] - self.shift[j]) / self.factor)


def check_scale(context: SearchContext, point: EvaluatedPoint) -> Steps[None]:
    """Find out whether f changes with the length of z, once per run; one query."""
    known = context.hessian
    if known.scale_free is None and point.z.any():
        value = yield from context.value(SHORTER * point.z)
        known.scale_free = bool(abs(value - point.value) <= EQUAL * abs(point.value))


def form_at(context: SearchContext, point: EvaluatedPoint, slopes: Vector) -> Form:
    """Return the form at a point with its slopes along all axes."""
    structure, known = context.structure, context.hessian
    total = float(structure.to_x(point.z).sum())
    if not (known.scale_free and known.sums) or total == 0:
        return Form(1.0, np.zeros(structure.d))
    gradient = slopes if structure.unit is None else slopes / structure.unit
    return Form(total**2, 2 * total * gradient + point.value)


def held_direction(context: SearchContext, z: Vector) -> Vector | None:
    """Return the direction along which no step leads, None if all do."""
    if not context.hessian.scale_free:
        return None
    if not context.hessian.sums:
        return z
    unit = context.structure.unit
    return np.ones(z.size) if unit is None else unit
