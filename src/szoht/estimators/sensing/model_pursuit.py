"""Recovery of slopes whose coordinates lie in a set of a model: subtrees, connected graphs."""

import math
from collections.abc import Callable

import numpy as np

from szoht.estimators.sensing.measurements import Measurements
from szoht.estimators.sensing.recovery import RESIDUAL, Recovery, fit_slopes
from szoht.types import Indices, Vector

__all__ = ["model_pursuit"]

GROWTH_PASSES = 12
"""Passes in which the support grows."""

KEPT = 10.0
"""What was chosen before is worth so many times the best new coordinate."""

UNKNOWNS = 0.8
"""Slopes that are fitted, at most, as a share of the measurements."""


def model_pursuit(
    measurements: Measurements,
    best: Callable[[Vector, int], Indices],
    size: int,
    most: int,
    *,
    held_out: int,
    noise: float = 0.0,
) -> Recovery:
    """Find a set of a model with ``size`` coordinates that explains the slopes.

    ``best(worth, n)`` is the set of at most n coordinates that is worth most. The generalized
    matching pursuit of Wang, Kwon and Shim (2012), with such sets: they grow to ``most``
    coordinates in several passes, and the best ``size`` of these are kept. With no more than
    ``size`` from the start, early errors would stay.
    """
    y = measurements.slopes
    used = max(1, y.size - held_out)
    common = measurements.common[:used, np.newaxis]
    most = max(1, min(most, int(UNKNOWNS * used)))
    weights = np.zeros(y.size)
    support, slopes = np.empty(0, dtype=np.intp), np.asarray(np.empty(0))
    residual = measurements.centered[:used]
    enough = max(RESIDUAL * float(np.linalg.norm(residual)), noise * math.sqrt(used))
    for step in range(1, GROWTH_PASSES + 1):
        if float(np.linalg.norm(residual)) <= enough:
            break
        weights[:used] = residual
        worth = measurements.correlate(weights) ** 2
        worth[support] = KEPT * float(worth.max())
        wanted = min(most, max(support.size + 1, round(most * step / GROWTH_PASSES)))
        support = best(worth, wanted)
        columns = np.column_stack([common, measurements.columns(support)[:used]])
        fit = np.linalg.lstsq(columns, y[:used], rcond=None)[0]
        residual, slopes = y[:used] - columns @ fit, np.asarray(fit[1:])
    if support.size > size:
        worth = np.zeros(measurements.shape[1])
        worth[support] = slopes**2
        support = best(worth, size)
    return fit_slopes(measurements, support, used)
