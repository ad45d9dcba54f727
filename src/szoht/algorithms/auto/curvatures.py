"""Curvatures along axes, which tell how far apart units are."""

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import ROUNDING, EvaluatedPoint, NoiseModel, Steps
from szoht.types import Indices, Vector

__all__ = ["axis_curvatures"]


def axis_curvatures(
    context: SearchContext,
    point: EvaluatedPoint,
    support: Indices,
    slopes: Vector,
    noise: NoiseModel,
    *,
    longest: float = 1e3,
) -> Steps[Vector | None]:
    """Measure the curvature along each axis over a length that promises the same gain for all.

    One query per axis. Where none shows, it is such that the attainable gain is the usual one;
    None if none shows anywhere. Steps go ``longest`` units, or sizes of the point, at most.
    """
    gain = max(noise.slope**2 / (4 * abs(noise.curvature)), 1e6 * ROUNDING * abs(point.value))
    with np.errstate(divide="ignore", over="ignore"):
        steps = np.where(slopes == 0, 0.0, -gain / np.where(slopes == 0, 1.0, slopes))
    z = point.z[support]
    farthest = longest * max(1.0, float(np.abs(z).max()))
    steps = np.clip(z + np.clip(steps, -farthest, farthest), *_bounds(context, support)) - z
    changes = yield from context.axis_differences(point, support, steps)
    with np.errstate(all="ignore"):
        # the slopes, too, are differences, over a length over which f may be curved
        curvature = 2 * (changes / steps - slopes) / (steps - noise.axis_step)
    seen = np.isfinite(curvature) & (curvature > 0)
    if not seen.any():
        return None
    typical = float(np.median(slopes[seen] ** 2 / curvature[seen]))
    curvature = np.where(seen, curvature, slopes**2 / max(typical, 1e-300))
    return np.maximum(curvature, 1e-14 * float(curvature.max()))


def _bounds(context: SearchContext, support: Indices) -> tuple[Vector, Vector]:
    return context.structure.low[support], context.structure.high[support]
