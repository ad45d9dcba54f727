"""How many non-zeros a mean loss over n components deserves: AIC, BIC, EBIC."""

import math
from collections.abc import Sequence

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.core.algorithm import PathPoint
from szoht.core.random import Purpose
from szoht.types import Indices

__all__ = ["LOSS_CRITERIA", "best_by", "blocks", "dispersion", "penalty"]

LOSS_CRITERIA = ("aic", "bic", "ebic", "cv")

BLOCKS = 50
"""Parts of the sum whose slopes tell how much components differ."""

CURVED = 1e-4
"""Length of the differences for that, in units or sizes of the point."""


def penalty(criterion: str, k: int, *, n: int, d: int) -> float:
    """Return what k non-zeros of d coordinates must gain in twice the log-likelihood.

    >>> penalty("aic", 3, n=100, d=50), round(penalty("bic", 3, n=100, d=50), 3)
    (6.0, 13.816)
    """
    if criterion == "aic":
        return 2.0 * k  # Akaike, IEEE Transactions on Automatic Control 1974
    schwarz = k * math.log(n)  # Schwarz, Annals of Statistics 1978
    if criterion == "bic":
        return schwarz
    # Chen and Chen, Biometrika 2008, with gamma = 1: models of one size share their weight
    models = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    return schwarz + 2 * models


def best_by(
    path: Sequence[PathPoint], criterion: str, *, n: int, d: int, scale: float
) -> PathPoint:
    """Return the point of a path where ``2 n f / scale + penalty`` is least.

    The dispersion ``scale`` is 1 where f is the mean of -log p; where it is not, as the variance of
    residuals in least squares, dividing by it makes f one (quasi-likelihood: Wedderburn 1974).
    """
    return min(
        path, key=lambda point: 2 * n * point.fun / scale + penalty(criterion, point.k, n=n, d=d)
    )


def blocks(context: SearchContext, count: int) -> list[Indices]:
    """Return the components of a finite sum in ``count`` random parts of nearly equal size."""
    n = context.outer.n_samples
    assert n is not None, "only a finite sum has components"  # noqa: S101
    order = context.key().generator(Purpose.EXCHANGE).permutation(n)
    return [np.sort(part) for part in np.array_split(order, min(count, n))]


def dispersion(context: SearchContext, point: EvaluatedPoint) -> Steps[float]:
    """Return how much slopes vary between components, relative to curvature.

    With the curvature H of f and the covariance J of the components' slopes, both along axes of the
    support, it is the mean of J_ii / H_ii: J = H for -log p (information matrix equality, White
    1982), J = 2 sigma^2 H for squared residuals. Corrected for as many fitted numbers, it costs
    two passes per coordinate of the support.
    """
    outer, support = context.outer, context.structure.active(point.z)
    n, whole = outer.n_samples, outer.sample
    assert n is not None, "only a finite sum has components"  # noqa: S101
    if support.size == 0 or n <= support.size + 1:
        return 1.0
    step = CURVED * max(1.0, float(np.abs(point.z).max()))
    slopes, curvatures, parts = [], [], blocks(context, BLOCKS)
    try:
        for part in parts:
            outer.sample = part
            value = float((yield from context.values([point.z]))[0])
            here = EvaluatedPoint(point.z, value)
            up = yield from context.axis_differences(here, support, np.full(support.size, step))
            down = yield from context.axis_differences(here, support, np.full(support.size, -step))
            slopes.append((up - down) / (2 * step) * math.sqrt(part.size))
            curvatures.append((up + down) / step**2)
    finally:
        outer.sample = whole
    ratio = np.mean(np.square(slopes), axis=0) / np.mean(curvatures, axis=0)
    ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
    return float(np.mean(ratio)) * n / (n - support.size) if ratio.size else 1.0
