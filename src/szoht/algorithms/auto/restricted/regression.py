"""Minimization on few coordinates from noisy values: pooled regressions in a moving trust region."""

import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.restricted.quadratic_model import (
    QuadraticModel,
    expected_gap,
    fit_quadratic,
    minimize_model,
    n_terms,
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """Where a solve ended: entries on the support, the last model, the radius, the noise."""

    z: Vector
    model: QuadraticModel | None
    radius: float
    noise: NoiseModel
    settled: bool


def minimize_by_regression(
    values: Values,
    start: Vector,
    support: Indices,
    *,
    noise: NoiseModel,
    radius: float,
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
    center, model, settled = start.copy(), None, False
    terms, largest = n_terms(p), 2.0
    misfit: tuple[float, float] | None = None
    stop = values.left() - spend
    while values.left() > stop:
        room = values.affordable(values.left() - stop)
        points, _ = values.pooled(support)
        near = int((np.abs(points - center).max(axis=1, initial=0.0) <= 1.25 * radius).sum())
        wanted = max(p + 2, min(room // 8, 2 * terms if near < 4 * terms else near // 2))
        wanted = min(max(wanted, terms + 3 - near), room)
        if wanted < 1:
            break
        # ends of the interval say more about slopes than its middle
        steps = radius * np.cos(np.pi * rng.random((wanted, p)))
        yield from values.sparse_at(np.clip(center + steps, low, high), support)
        points, found = values.pooled(support)
        fitted = fit_quadratic(points, found, center, radius, noise.sigma)
        if fitted is None:
            continue
        model = fitted
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
        if misfits:
            radius *= 0.6 if size < EDGE else 0.8
        elif size > EDGE:
            radius = min(1.5 * radius, largest)
        if size < 0.9 and not misfits and expected_gap(model) < GAP * max(gained, 1e-300):
            settled = True
            break
    if model is not None:
        points, found = values.pooled(support)
        model = fit_quadratic(points, found, center, radius, noise.sigma) or model
    return Regression(z=center, model=model, radius=radius, noise=noise, settled=settled)


def difference_radius(sigma: float, curvature: Vector) -> float:
    """Return the radius over which curvature changes values by many standard deviations."""
    shown = curvature[curvature > 0]
    typical = float(np.median(shown)) if shown.size else 1.0
    return min(1.0, 6 * math.sqrt(sigma / typical))
