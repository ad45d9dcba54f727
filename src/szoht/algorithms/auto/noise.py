"""How far values can be trusted: repeatability, noise level, lengths of differences.

The interface of this part:

``estimate_noise(context, start) -> Steps[NoiseModel]``
    Called once, with the start already measured; asks few values (6 to 8) and returns the model by
    which every later step chooses its lengths. Values at ``context.structure.base`` points only.
``solve_noisy(context, start, noise) -> Steps[Point]``
    The whole search where ``noise.kind`` is not EXACT, from ``start`` to the answer, the final race
    included. Feasible points are reported by ``context.note`` and ``context.accept``; the constraint
    is ``context.structure``; the remaining budget is ``context.left`` (infinite if unknown).
"""

import numpy as np

from szoht.algorithms.auto.context import SolverContext
from szoht.algorithms.auto.records import NoiseKind, NoiseModel, Point, Steps

__all__ = ["estimate_noise", "solve_noisy"]

ROUNDING = float(np.finfo(np.float64).eps)


def estimate_noise(context: SolverContext, start: Point) -> Steps[NoiseModel]:
    """Ask the first value again; take f for exact if it is the same."""
    again = yield from context.value(start.z)
    step = context.policy.axis_step
    kind = NoiseKind.EXACT if again == start.value else NoiseKind.FRESH
    sigma = max(abs(again - start.value), ROUNDING * abs(start.value))
    return NoiseModel(kind=kind, sigma=sigma, axis_step=step, row_step=step / np.sqrt(start.z.size))


def solve_noisy(context: SolverContext, start: Point, noise: NoiseModel) -> Steps[Point]:
    """Minimize f from values that err; not built yet: the start is the answer."""
    del noise
    context.explain("values are noisy: this part is not built yet.")
    yield from ()
    return start
