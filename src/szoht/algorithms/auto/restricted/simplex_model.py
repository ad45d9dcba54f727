"""A quadratic model of f over weights that sum to one: its minimum, and what a weight is worth."""

import numpy as np

from szoht.types import Indices, Mask, Vector

__all__ = ["best_step", "worth"]

NEGATIVE = 1e-14
"""A weight below minus this is negative."""


def best_step(slopes: Vector, hessian: Vector, weights: Vector, gone: Mask | None = None) -> Vector:
    """Minimize ``slopes @ p + p @ hessian @ p / 2`` over steps p with sum 0 and p >= -weights.

    Weights that are ``gone`` end at zero. An active set method: weights that would turn negative
    are held at zero, one is released at a time as long as that lowers the model.
    """
    n = weights.size
    gone = np.zeros(n, dtype=bool) if gone is None else gone
    held = gone.copy()
    step = np.zeros(n)
    for trial in range(4 * n + 4):
        if held.all():
            return np.zeros(n)
        step, level = _on_face(slopes, hessian, weights, np.flatnonzero(~held))
        negative = ~held & (weights + step < -NEGATIVE)
        if negative.any():
            held |= negative
            continue
        rising = slopes + hessian @ step + level
        pulled = held & ~gone & (rising < -1e-10 * np.abs(slopes).max(initial=1e-300))
        if not pulled.any() or trial > 2 * n:
            break
        held[np.argmin(np.where(pulled, rising, np.inf))] = False
    return np.asarray(np.maximum(step, -weights))


def _on_face(
    slopes: Vector, hessian: Vector, weights: Vector, free: Indices
) -> tuple[Vector, float]:
    """Return the step with all weights but the free ones at zero, and minus the level of slopes."""
    m = free.size
    step = -weights
    step[free] = 0.0
    system = np.ones((m + 1, m + 1))
    system[:m, :m] = hessian[np.ix_(free, free)]
    system[m, m] = 0.0
    right = np.append(-(slopes + hessian @ step)[free], -step.sum())
    solution = np.linalg.lstsq(system, right, rcond=None)[0]
    step[free] = solution[:m]
    return step, float(solution[m])


def worth(weights: Vector, inverse: Vector) -> Vector:
    """Return what losing each weight costs if the others follow: w^2 / (2 P_ii).

    P is the inverse Hessian reduced to steps that sum to zero, B - B 1 1' B / (1' B 1).
    """
    total = inverse.sum(axis=1)
    reduced = np.diag(inverse) - total**2 / float(total.sum())
    # a weight that no other can replace has no such steps: it is worth more than all others
    return np.asarray(weights**2 / (2 * np.maximum(reduced, 1e-300)))
