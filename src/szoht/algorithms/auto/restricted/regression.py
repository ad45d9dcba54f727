"""Minimization on few coordinates from noisy values: pooled regressions in a moving trust region."""

import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.location import Location, survivors
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.restricted.quadratic_model import (
    QuadraticModel,
    Region,
    expected_gap,
    fit_quadratic,
    minimize_model,
    n_terms,
    next_shape,
)
from szoht.types import Indices, Vector

__all__ = ["Regression", "minimize_by_regression"]

MISFIT = 2.0
"""Residuals beyond this many standard deviations of a value show that the model does not fit."""

UNSHRUNK = 0.85
"""What is left of residuals after the radius fell by `FELL`, if they are noise and not shape."""

FELL = 1.5

GAP = 3e-5
"""The solve ends when the expected gap is this share of all that was gained."""

EDGE = 0.95

WIDEST = 4.0
"""The largest radius."""

CURVED = 3.0
"""The F statistic of higher terms from which the region is too large for a quadratic."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """Where a solve ended: entries on the support, the last model, the region, the noise."""

    z: Vector
    model: QuadraticModel | None
    region: Region
    noise: NoiseModel
    settled: bool


def minimize_by_regression(
    values: Values,
    start: Vector,
    support: Indices,
    *,
    noise: NoiseModel,
    radius: float,
    shape: Vector | None = None,
    spend: int,
    rng: np.random.Generator,
    gained: float = 0.0,
) -> Steps[Regression]:
    """Minimize over ``support`` from ``start`` (its entries there), with at most ``spend`` values.

    Each round asks new points around the center, fits a quadratic to all that are near, and moves
    to its minimizer. The radius shrinks while residuals exceed the noise, and grows while steps
    end at its edge. Residuals that do not shrink with the radius are noise.
    """
    low, high, p = values.low[support], values.high[support], support.size
    model, settled = None, False
    best: tuple[Vector, Location] | None = None
    region = Region(center=start.copy(), radius=radius, shape=np.eye(p) if shape is None else shape)
    misfit: tuple[float, float] | None = None
    stop = values.left() - spend
    while values.left() > stop:
        room = values.affordable(values.left() - stop)
        wanted = min(_wanted(values, support, region, room), room)
        if wanted < 1:
            break
        # ends of the interval say more about slopes than its middle
        draws = np.cos(np.pi * rng.random((wanted, p)))
        yield from values.sparse_at(np.clip(region.to_x(draws), low, high), support)
        fitted = fit_quadratic(*values.pooled(support), region, noise.sigma)
        if fitted is None:
            continue
        model, radius = fitted, region.radius
        here = Location(model.constant, model.constant_error)
        if best is not None and len(survivors([best[1], here])) == 1 and here > best[1]:
            # the last step led uphill: the model was trusted too far
            region = Region(center=best[0], radius=0.5 * radius, shape=region.shape)
            continue
        if best is None or here < best[1]:
            best = region.center, here
        center, change, size = minimize_model(model, low, high)
        gained += max(0.0, -change)
        s = model.residual
        misfits = s > MISFIT * noise.sigma and s > 1e-12 * abs(model.constant)
        if misfits and misfit is not None:
            fell, shrunk = misfit[0] / radius, s / misfit[1]
            if fell > FELL and shrunk > UNSHRUNK:
                noise, misfits = replace(noise, sigma=s), False
        if misfits and (misfit is None or s < UNSHRUNK * misfit[1] or misfit[0] < radius):
            misfit = (radius, s)
        accurate = expected_gap(model, size) < GAP * max(gained, 1e-300)
        if misfits:
            radius *= 0.6 if size < EDGE else 0.8
        elif size > EDGE:
            radius = min(1.5 * radius, WIDEST)
        elif model.lack_of_fit > CURVED:
            radius *= 0.8
        elif not accurate:  # noise limits the accuracy, shape does not: longer levers
            radius = min(1.25 * radius, WIDEST)
        shape = region.shape if misfits else next_shape(model)
        region = Region(center=center, radius=radius, shape=shape)
        if size < 0.9 and not misfits and accurate:
            settled = True
            break
    if model is not None:
        model = fit_quadratic(*values.pooled(support), region, noise.sigma) or model
    return Regression(z=region.center, model=model, region=region, noise=noise, settled=settled)


def _wanted(values: Values, support: Indices, region: Region, room: int) -> int:
    """Return how many new points a round asks: enough for a fit, more as the budget allows."""
    points, _ = values.pooled(support)
    terms = n_terms(support.size)
    near = int((np.abs(region.to_z(points)).max(axis=1, initial=0.0) <= 1.25).sum())
    wanted = max(support.size + 2, min(room // 8, 2 * terms if near < 4 * terms else near // 2))
    return max(wanted, terms + 3 - near)


def difference_radius(sigma: float, curvature: Vector) -> float:
    """Return the radius over which curvature changes values by many standard deviations."""
    shown = curvature[curvature > 0]
    typical = float(np.median(shown)) if shown.size else 1.0
    return min(1.0, 6 * math.sqrt(sigma / typical))
