"""A quadratic model of noisy values on few coordinates: fit, minimizer, expected gap, elimination.

Response surfaces (Box and Wilson 1951) in a trust region (Conn, Scheinberg, Vicente 2008), with all
values ever taken nearby pooled, and gross errors weighted down (Beaton and Tukey 1974).
"""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.restricted.ridge import RIDGES, Ridge, residual_scale
from szoht.types import Indices, Mask, Vector

__all__ = [
    "QuadraticModel",
    "Region",
    "eliminate",
    "expected_gap",
    "fit_quadratic",
    "minimize_model",
    "n_terms",
    "next_shape",
]

FULL_HESSIAN = 30
"""With more coordinates than this, mixed terms are left out."""

FULL_WEIGHT_DISTANCE, MAX_DISTANCE = 1.25, 4.0
"""Up to the first distance, in radii, a point has full weight; beyond the second none."""

CORE, FEWEST_CORE = 0.5, 8
"""Points of more than this weight judge the residuals, if they are this many."""

BIWEIGHT = 4.685
"""Residuals beyond this many standard deviations get no weight: 95 % efficient on normal values."""

PASSES = 6
"""Of reweighting, at most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """Where a model is fitted: x = center + radius * shape @ z with |z_i| <= 1.

    ``shape`` makes the curvature about the same in all directions; the identity if unknown.
    """

    center: Vector
    radius: float
    shape: Vector

    def to_z(self, points: Vector) -> Vector:
        """Return points in the coordinates of the region."""
        return np.asarray(np.linalg.solve(self.shape, (points - self.center).T).T / self.radius)

    def to_x(self, z: Vector) -> Vector:
        """Return the points of coordinates z."""
        return self.center + self.radius * z @ self.shape.T

    @property
    def widths(self) -> Vector:
        """How far the region reaches along each axis."""
        return np.asarray(self.radius * np.sqrt((self.shape**2).sum(axis=1)))


@dataclass(frozen=True, kw_only=True, eq=False)
class QuadraticModel:
    """``constant + slopes'z + z'hessian z / 2`` in the coordinates z of a region.

    ``residual`` is the standard deviation of values around it, ``covariance`` that of the slopes,
    ``constant_error`` the standard error of the constant,
    ``freedom`` the number of values less that of effective coefficients. ``lack_of_fit`` is the F
    statistic of cubic and quartic terms along the axes: about 1 if the model is right.
    """

    region: Region
    constant: float
    slopes: Vector
    hessian: Vector
    residual: float
    covariance: Vector
    freedom: float
    constant_error: float
    lack_of_fit: float

    def __call__(self, x: Vector) -> float:
        """Return the value at ``x``."""
        z = self.region.to_z(x[np.newaxis])[0]
        return self.constant + float(self.slopes @ z + 0.5 * z @ self.hessian @ z)

    def in_x(self, floor: float = 0.0) -> tuple[Vector, Vector]:
        """Return slopes and Hessian in x, with eigenvalues of at least ``floor`` of the largest."""
        values, vectors = np.linalg.eigh(self.hessian)
        least = floor * max(float(np.abs(values).max(initial=0.0)), 1e-300)
        raised = (vectors * np.maximum(values, least)) @ vectors.T if floor else self.hessian
        back = np.linalg.inv(self.region.shape) / self.region.radius
        return back.T @ self.slopes, back.T @ raised @ back


def n_terms(p: int) -> int:
    """Return how many coefficients a model on ``p`` coordinates has.

    >>> n_terms(5)
    21
    """
    return 1 + 2 * p + (p * (p - 1) // 2 if p <= FULL_HESSIAN else 0)


def fit_quadratic(
    points: Vector, values: Vector, region: Region, sigma: float
) -> QuadraticModel | None:
    """Fit a quadratic to values in and around a region; None with fewer than p + 4 of them.

    The constant, the slopes and one common curvature are free; what the Hessian deviates from a
    multiple of the identity is shrunk as much as leave-one-out errors advise, and further until
    residuals are no smaller than the noise ``sigma`` allows.
    """
    z = region.to_z(points)
    distance = np.abs(z).max(axis=1) if z.size else np.zeros(len(z))
    used = np.isfinite(values) & (distance <= MAX_DISTANCE)
    z, v, distance = z[used], values[used], distance[used]
    n, p = z.shape
    if n < p + 4:
        return None
    base = np.where(
        distance <= FULL_WEIGHT_DISTANCE,
        1.0,
        (FULL_WEIGHT_DISTANCE / np.maximum(distance, FULL_WEIGHT_DISTANCE)) ** 4,
    )
    core = base > CORE if int((base > CORE).sum()) >= FEWEST_CORE else np.ones(n, dtype=bool)
    free, shrunk = _features(z)
    level = float(np.median(v))
    v = v - level  # an added constant changes rounding only
    weights, ridge, s = base, RIDGES[0], 0.0
    for passes in range(PASSES):
        fit = Ridge.of(free, shrunk, v, weights)
        if passes in (0, PASSES // 2):  # gross errors may have misled the first choice
            ridge = fit.choose(sigma)
        residuals, freedom = fit.solve(ridge)
        s = residual_scale(residuals[core], n, freedom, sigma)
        if s == 0:
            break
        t = residuals / (BIWEIGHT * s)
        new = base * np.where(np.abs(t) < 1, (1 - t**2) ** 2, 1e-6)
        if passes >= PASSES // 2 and np.allclose(new, weights, atol=1e-2):
            break
        weights = new
    normal = (free * weights[:, np.newaxis]).T @ free
    covariance = np.linalg.pinv(normal) * s**2
    return QuadraticModel(
        region=region,
        constant=float(fit.free[0]) + level,
        slopes=fit.free[1 : p + 1],
        hessian=_hessian(fit.free[p + 1], fit.shrunk, p),
        residual=s,
        covariance=np.asarray(covariance[1 : p + 1, 1 : p + 1], dtype=float),
        constant_error=math.sqrt(max(float(covariance[0, 0]), 0.0)),
        freedom=freedom,
        lack_of_fit=_lack_of_fit(z, residuals, weights, (free, shrunk), s),
    )


def _lack_of_fit(
    z: Vector, residuals: Vector, weights: Vector, fitted: tuple[Vector, Vector], s: float
) -> float:
    root = np.sqrt(weights)[:, np.newaxis]
    higher = np.column_stack([z**3, z**4]) * root
    used, _ = np.linalg.qr(np.column_stack(fitted) * root)
    if z.shape[0] < used.shape[1] + 2 * higher.shape[1] or s == 0:
        return 1.0
    basis, _ = np.linalg.qr(higher - used @ (used.T @ higher))
    along = basis.T @ (residuals * root[:, 0])
    return float(np.mean(along**2)) / s**2


def _features(z: Vector) -> tuple[Vector, Vector]:
    """Return the rows of the free coefficients, and of those that are shrunk."""
    n, p = z.shape
    squares = 0.5 * z**2
    free = np.column_stack([np.ones(n), z, squares.sum(axis=1)])
    shrunk = squares - squares.mean(axis=1, keepdims=True)
    if p <= FULL_HESSIAN:
        i, j = np.triu_indices(p, 1)
        shrunk = np.column_stack([shrunk, z[:, i] * z[:, j]])
    return free, shrunk


def _hessian(common: float, shrunk: Vector, p: int) -> Vector:
    hessian = np.diag(common + shrunk[:p] - float(shrunk[:p].mean()))
    if p <= FULL_HESSIAN:
        i, j = np.triu_indices(p, 1)
        hessian[i, j] = hessian[j, i] = shrunk[p:]
    return hessian


def minimize_model(
    model: QuadraticModel,
    low: Vector,
    high: Vector,
    *,
    radii: float = 1.0,
    zero: Mask | None = None,
) -> tuple[Vector, float, float]:
    """Minimize the model within ``radii`` and the bounds; coordinates in ``zero`` are set to 0.

    Returns the point, the model's change from its center, and the length of the step in radii.
    """
    region = model.region
    if zero is None:
        edge = np.full(region.center.size, radii)
        z, change = _minimize_quadratic(model.slopes, model.hessian, -edge, edge)
        x = region.to_x(z)
        if (x >= low).all() and (x <= high).all():
            return x, change, float(np.abs(z).max(initial=0.0))
    # along the axes of x, where bounds are simple
    widths = region.widths
    slopes, hessian = model.in_x()
    below = np.minimum(np.maximum((low - region.center) / widths, -radii), 0.0)
    above = np.maximum(np.minimum((high - region.center) / widths, radii), 0.0)
    if zero is not None:
        below = np.where(zero, -region.center / widths, below)
        above = np.where(zero, below, above)
    step, change = _minimize_quadratic(
        slopes * widths, hessian * np.outer(widths, widths), below, above
    )
    x = np.clip(region.center + widths * step, low, high)
    if zero is not None:
        x[zero] = 0.0
    z = region.to_z(x[np.newaxis])[0]
    return x, change, float(np.abs(z).max(initial=0.0))


def _minimize_quadratic(
    slopes: Vector, hessian: Vector, low: Vector, high: Vector
) -> tuple[Vector, float]:
    """Minimize ``slopes'z + z'hessian z / 2`` between bounds, from the middle and from downhill."""
    from scipy.optimize import Bounds, minimize  # noqa: PLC0415  (costs more than the import)

    def value(z: Vector) -> tuple[float, Vector]:
        curved = hessian @ z
        return float(slopes @ z + 0.5 * z @ curved), slopes + curved

    scale = max(float(np.abs(slopes).max(initial=0.0)), 1e-300)
    best, lowest = np.clip(np.zeros(slopes.size), low, high), math.inf
    for start in (np.zeros(slopes.size), -slopes / scale):
        found = minimize(
            value,
            np.clip(start, low, high),
            jac=True,
            bounds=Bounds(low, high),
            method="L-BFGS-B",
            options={"maxiter": 300, "ftol": 1e-14, "gtol": 1e-9 * scale},
        )
        if found.fun < lowest:
            best, lowest = np.asarray(found.x), float(found.fun)
    return best, lowest


def next_shape(model: QuadraticModel) -> Vector:
    """Return a shape in which the curvature of the model is about the same in all directions.

    Directions are stretched or shrunk by up to a factor of two at a time, and only as far as their
    curvature is known: one that noise may have made small is not stretched.
    """
    values, vectors = np.linalg.eigh(model.hessian)
    unsure = 4 * model.residual / math.sqrt(max(model.freedom, 1.0))
    trusted = np.maximum(np.abs(values), unsure)
    typical = math.exp(float(np.mean(np.log(np.maximum(trusted, 1e-300)))))
    stretch = np.clip(np.sqrt(typical / np.maximum(trusted, 1e-300)), 0.5, 2.0)
    return np.asarray(model.region.shape @ (vectors * stretch) @ vectors.T)


def expected_gap(model: QuadraticModel, step: float = 0.0) -> float:
    """Return how far above the minimum its estimate is expected to be, from the slopes' error.

    After a ``step`` from the center, in radii, slopes err more: by the error of the Hessian.

    Along an eigenvector of curvature e, slopes with an error of variance c leave c / (2 e); where
    the error exceeds the curvature, the step ends at the edge of the region: sqrt(c) / 2.
    """
    values, vectors = np.linalg.eigh(model.hessian)
    spread = np.einsum("ji,jk,ki->i", vectors, model.covariance, vectors)
    spread = np.maximum(spread, 0.0)
    along = spread / np.maximum(np.maximum(values, np.sqrt(spread)), 1e-300)
    return 0.5 * (1 + 8 * step**2) * float(along.sum())


def eliminate(model: QuadraticModel, size: int, favored: Mask | None = None) -> Indices:
    """Return the ``size`` coordinates to keep, by backward elimination in the model.

    Each time the coordinate goes whose return to zero costs least when the others are minimized
    over: z_i^2 / (2 [H^-1]_ii). That of ``favored`` ones counts double: a change needs evidence.
    """
    slopes, hessian = model.in_x(floor=0.05)
    zero = -model.region.center
    keep, gone = list(range(zero.size)), list[int]()
    while len(keep) > size:
        inverse = np.linalg.inv(hessian[np.ix_(keep, keep)])
        pull = slopes[keep] + hessian[np.ix_(keep, gone)] @ zero[gone]
        cost = (-(inverse @ pull) - zero[keep]) ** 2 / (2 * np.diag(inverse))
        if favored is not None:
            cost = np.where(favored[keep], 2 * cost, cost)
        gone.append(keep.pop(int(np.argmin(cost))))
    return np.array(keep, dtype=np.intp)
