"""Single coordinates that sensing did not see: one long step along each, from the answer.

Where f saturates, a step along all coordinates leads to where it is flat, and shows nothing.
"""

import numpy as np

from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.types import Vector

__all__ = ["best_single_step"]

CONFIRMATIONS = 4
"""Values that confirm a step: the least of many is low by chance."""


def best_single_step(
    values: Values, x: Vector, value: float, noise: NoiseModel
) -> Steps[Vector | None]:
    """Return the best point one unit away along an axis where x is zero; None if none is better."""
    axes = np.flatnonzero(x == 0)
    steps = np.zeros((axes.size, x.size))
    steps[np.arange(axes.size), axes] = 1.0
    points = values.clip(np.concatenate([x + steps, x - steps]))
    found = yield from values.at(points)
    best = points[int(np.argmin(np.where(np.isfinite(found), found, np.inf)))]
    limit = value - values.policy.noise.standard_errors_sure * noise.sigma
    if not np.nanmin(found, initial=np.inf) < limit:
        return None
    jitter = 1 + 1e-3 * np.arange(CONFIRMATIONS)[:, np.newaxis] * (not noise.fresh)
    again = yield from values.at(values.clip(best * jitter))
    return best if np.isfinite(again).all() and np.median(again) < limit else None
