"""Difference quotients along directions: shared by all finite-difference estimators."""

from dataclasses import dataclass

import numpy as np

from szoht.core.directions import (
    Directions,
    SampledDirections,
    ScaledDirections,
    weighted_sum,
)
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.sparse_vector import SparseVector
from szoht.types import Sample, Vector

__all__ = [
    "CENTRAL_LENGTH",
    "FORWARD_LENGTH",
    "Quotients",
    "difference_plan",
    "direction_weights",
    "directional_estimate",
    "gradient_along",
    "quotients_of",
    "rounding_and_slope",
    "unscaled",
    "without_scale",
]

EPS = float(np.finfo(np.float64).eps)

FORWARD_LENGTH, CENTRAL_LENGTH = 1e-6, 1e-4
"""How far a difference moves by default. Rounding contributes eps |f| / length to a quotient,
curvature L length / 2, or, for central differences, a multiple of length^2: both stay small."""

VALUE_ERROR_EPS = 16
"""The rounding error of a value of f, in units of eps |f|."""

MIN_RELATIVE_RADIUS = 1e-10
"""Below this radius, relative to x, a difference of exactly 0 is attributed to rounding."""


@dataclass(frozen=True, eq=False)
class Quotients:
    """Slopes along the directions; those whose evaluation failed are zero and not ``valid``."""

    slopes: Vector
    valid: np.ndarray[tuple[int], np.dtype[np.bool_]]
    value: float


def difference_plan(
    x: Vector, sample: Sample, directions: Directions, *, radius: float, central: bool
) -> Plan:
    """Return the plan of a forward (q + 1 points) or central (2 q points) difference."""
    query = Query(
        base=x,
        sample=sample,
        directions=directions,
        radius=radius,
        with_base=not central,
        mirrored=central,
    )
    return Plan(queries=(query,))


def directional_estimate(query: Query, answer: Answer, *, scale: float, mean: bool) -> Estimate:
    """Return ``scale * sum_i slope_i u_i``, or with ``mean`` the mean instead of the sum.

    A direction whose evaluation failed is left out, of the mean too. If f(x) itself failed,
    ``value`` is NaN.
    """
    quotients = quotients_of(query, answer.values)
    assert query.directions is not None, "a difference plan always has directions"  # noqa: S101
    rounding, slope = rounding_and_slope(query, quotients)
    return Estimate(
        gradient=gradient_along(
            query.directions,
            _weights(quotients, scale, mean),
            sparse=isinstance(query.base, SparseVector),
        ),
        value=quotients.value,
        measured=query.with_base,
        rounding=rounding,
        slope=slope,
    )


def direction_weights(query: Query, answer: Answer, *, scale: float, mean: bool) -> Vector:
    """Return the weights with which the directions add up to the estimate."""
    return _weights(quotients_of(query, answer.values), scale, mean)


def _weights(quotients: Quotients, scale: float, mean: bool) -> Vector:
    n_valid = max(1, int(np.count_nonzero(quotients.valid)))
    weights: Vector = quotients.slopes * (scale / n_valid if mean else scale)
    return weights


def gradient_along(directions: Directions, weights: Vector, *, sparse: bool = False) -> Vector:
    """Return ``sum_i weights_i u_i``, divided by the factors with which the u_i were scaled.

    Slopes along S u are those of the gradient S g along u.
    """
    inner, scale = unscaled(directions)
    return without_scale(weighted_sum(inner, weights, sparse=sparse), scale)


def unscaled(directions: Directions) -> tuple[Directions, Vector | None]:
    """Return directions without their factors, and the factors."""
    if isinstance(directions, ScaledDirections):
        return directions.inner, directions.scale
    return directions, None


def without_scale(slopes: Vector, scale: Vector | None) -> Vector:
    """Return slopes divided by their factors; where those are zero, nothing was probed: zero."""
    if scale is None:
        return slopes
    return np.divide(slopes, scale, out=np.zeros_like(slopes), where=scale != 0)


def quotients_of(query: Query, values: Vector) -> Quotients:
    """Return the slopes along the directions of a query, and f(x)."""
    if query.mirrored:
        plus, minus = values[: query.n_directions], values[query.n_directions :]
        slopes, middles = (plus - minus) / (2 * query.radius), (plus + minus) / 2
        valid = np.isfinite(slopes)
        value = float(middles[valid].mean()) if valid.any() else float("nan")
    else:
        value = float(values[0])
        slopes = (values[1:] - value) / query.radius
        valid = np.isfinite(slopes)
    return Quotients(np.where(valid, slopes, 0.0), valid, value)


def rounding_and_slope(query: Query, quotients: Quotients) -> tuple[float, float]:
    """Return eps |f| / mu, and the median of the slopes that are not exactly zero."""
    rounding = EPS * abs(quotients.value) / query.radius
    slopes = np.abs(quotients.slopes[quotients.slopes != 0])
    if slopes.size:
        middle = slopes.size // 2
        return rounding, float(np.partition(slopes, middle)[middle])
    # All differences vanish. If only some coordinates were moved they may just not matter, and
    # central differences vanish by symmetry; otherwise it is the radius that is too small.
    scale = max(1.0, float(np.abs(query.base).max()))
    one_sided = query.with_base and _moves_everything(query)
    radius_too_small = query.radius < MIN_RELATIVE_RADIUS * scale or one_sided
    return (rounding if radius_too_small else 0.0), 0.0


def _moves_everything(query: Query) -> bool:
    directions = query.directions
    return (
        isinstance(directions, SampledDirections)
        and directions.distribution.width(directions.d) == directions.d
    )
