"""Accelerated gradient whose projections are replaced by a few conditional-gradient steps."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.core.operator import Operator
from szoht.core.query import Estimate
from szoht.core.validation import check_integer, check_real, frozen
from szoht.types import Vector
from szoht.updates.frank_wolfe import clip_rounding, require_lmo

__all__ = ["AcceleratedConditionalGradient", "inexact_projection"]


class Sequences(NamedTuple):
    """The two sequences: ``x`` takes the gradient steps, ``z`` averages and is the output."""

    x: Vector
    z: Vector


@dataclass(frozen=True, kw_only=True)
class AcceleratedConditionalGradient:
    """ZSCG's modified variant (Algorithm 3 of Balasubramanian and Ghadimi).

    For t = 1, ..., N, with the gradient G_t estimated at ``w_t = (1 - a_t) z_{t-1} + a_t x_{t-1}``:
    ``x_t = argmin_u <G_t, u> + gamma_t / 2 ||u - x_{t-1}||^2`` up to the gap ``tol_t``, found by
    conditional gradient; ``z_t = (1 - a_t) z_{t-1} + a_t x_t``. With a_t = 2 / (t + 1),
    gamma_t = 4 L / t, tol_t = L D0 / (t N): ``f(z_N) - f* <= 12 L D0 / (N (N + 1))`` for exact
    gradients.

    Parameters
    ----------
    operator : Operator with ``lmo``
        The compact convex set.
    smoothness : float
        L, > 0.
    distance : float
        D0 >= ||x0 - x*||^2, > 0; it sets the gap of the inner loop.
    horizon : int
        N, the number of iterations planned, >= 1.
    max_inner : int
        A bound on the conditional-gradient steps of one iteration, >= 1.
    """

    operator: Operator
    smoothness: float
    distance: float
    horizon: int
    max_inner: int = 100_000

    def __post_init__(self) -> None:
        check_real("smoothness", self.smoothness, low=0, open_low=True)
        check_real("distance", self.distance, low=0, open_low=True)
        check_integer("horizon", self.horizon, low=1)
        check_integer("max_inner", self.max_inner, low=1)
        require_lmo(self, self.operator)

    def init(self, x: Vector) -> Sequences:
        """Both sequences start at x0."""
        return Sequences(x, x)

    def step(
        self, x: Vector, estimate: Estimate, t: int, memory: Sequences
    ) -> tuple[Vector, Sequences]:
        """Return where the next gradient is estimated; ``x`` is w_t, the paper's t is one more."""
        del x
        n = t + 1
        moved = inexact_projection(
            self.operator,
            memory.x,
            estimate.gradient,
            curvature=4 * self.smoothness / n,
            gap=self.smoothness * self.distance / (n * self.horizon),
            max_steps=self.max_inner,
        )
        z = clip_rounding(self.operator, _convex_combination(memory.z, moved, 2 / (n + 1)))
        pair = Sequences(frozen(moved), frozen(z))
        ahead = _convex_combination(pair.z, pair.x, 2 / (n + 2))
        return clip_rounding(self.operator, ahead), pair

    def output(self, memory: Sequences) -> Vector:
        """Return z, the sequence that the theorem is about."""
        return memory.z


def inexact_projection(
    operator: Operator,
    x: Vector,
    gradient: Vector,
    *,
    curvature: float,
    gap: float,
    max_steps: int,
) -> Vector:
    """Minimise ``<gradient, u> + curvature / 2 ||u - x||^2`` over the set, up to ``gap``.

    The procedure ICG of Balasubramanian and Ghadimi: conditional gradient with the open-loop step
    2 / (r + 1), until the Frank-Wolfe gap ``<p, y - v>`` is at most ``gap``, where
    ``p = gradient + curvature (y - x)`` is the gradient of the regularised problem.
    """
    y = x.copy()
    for r in range(1, max_steps + 1):
        p = gradient + curvature * (y - x)
        vertex = operator.lmo(p)  # type: ignore[attr-defined]
        if float(p @ (vertex - y)) >= -gap:
            break
        y = _convex_combination(y, vertex, 2 / (r + 1))
    return y


def _convex_combination(first: Vector, second: Vector, share: float) -> Vector:
    mixed: Vector = (1 - share) * first + share * second
    return np.asarray(mixed)
