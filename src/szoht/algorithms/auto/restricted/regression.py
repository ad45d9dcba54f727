"""Minimization on few coordinates from noisy values: pooled regressions in a moving region."""

import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.location import Location, survivors
from szoht.algorithms.auto.noisy.values import LONGEST, Values
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.restricted.quadratic_model import (
    FULL_WEIGHT_DISTANCE,
    QuadraticModel,
    Region,
    expected_gap,
    fit_quadratic,
    minimize_model,
    n_terms,
    next_shape,
)
from szoht.types import Indices, Vector

__all__ = ["Regression", "difference_radius", "minimize_by_regression"]

EDGE = 0.95
"""Steps beyond this share of the radius end at its edge."""


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
    spend: int,
    rng: np.random.Generator,
    gained: float = 0.0,
) -> Steps[Regression]:
    """Minimize over ``support`` from ``start`` (its entries there), with at most ``spend`` values.

    Each round asks new points around the center, fits a quadratic to all that are near, and moves
    to its minimizer. ``gained`` is what earlier solves have gained.
    """
    solve = _RegressionSolve(
        values=values,
        support=support,
        noise=noise,
        region=Region(center=start.copy(), radius=radius, shape=np.eye(support.size)),
        gained=gained,
    )
    stop = values.left() - spend
    while values.left() > stop and not solve.settled:
        room = values.affordable(values.left() - stop)
        wanted = min(solve.wanted(room), room)
        if wanted < 1:
            break
        yield from solve.sample(wanted, rng)
        solve.update()
    return solve.result()


@dataclass(kw_only=True, eq=False)
class _RegressionSolve:
    """A solve in progress.

    ``best`` is the center of least fitted value, ``misfit`` the radius and the residuals at which
    the model last did not fit.
    """

    values: Values
    support: Indices
    noise: NoiseModel
    region: Region
    gained: float
    model: QuadraticModel | None = None
    best: tuple[Vector, Location] | None = None
    misfit: tuple[float, float] | None = None
    settled: bool = False

    def wanted(self, room: int) -> int:
        """Return how many new points to ask: enough for a fit, more as the budget allows."""
        points, _ = self.values.pooled(self.support)
        terms, p = n_terms(self.support.size), self.support.size
        near = int(
            (
                np.abs(self.region.to_z(points)).max(axis=1, initial=0.0) <= FULL_WEIGHT_DISTANCE
            ).sum()
        )
        wanted = max(p + 2, min(room // 8, 2 * terms if near < 4 * terms else near // 2))
        return max(wanted, terms + 3 - near)

    def sample(self, count: int, rng: np.random.Generator) -> Steps[None]:
        """Ask new points; ends of the intervals say more about slopes than their middle."""
        draws = np.cos(np.pi * rng.random((count, self.support.size)))
        points = np.clip(self.region.to_x(draws), *self._bounds())
        yield from self.values.sparse_at(points, self.support)

    def update(self) -> None:
        """Fit, move to the minimizer, and adapt the region."""
        model = self._fit()
        if model is None:
            return
        self.model = model
        if self._is_uphill(model):
            assert self.best is not None, "it is compared with"  # noqa: S101
            center, radius = self.best[0], 0.5 * self.region.radius
            self.region = replace(self.region, center=center, radius=radius)
            return
        center, change, size = minimize_model(model, *self._bounds())
        self.gained += max(0.0, -change)
        misfits = self._misfits(model)
        accurate = expected_gap(model, size) < self.values.policy.noise.gap * max(
            self.gained, 1e-300
        )
        self.region = Region(
            center=center,
            radius=self._next_radius(model, size, misfits=misfits, accurate=accurate),
            shape=self.region.shape if misfits else next_shape(model),
        )
        self.settled = size < EDGE and not misfits and accurate

    def result(self) -> Regression:
        """Return where the solve ended, with a model around that."""
        if self.model is not None:
            self.model = self._fit() or self.model
        return Regression(
            z=self.region.center,
            model=self.model,
            region=self.region,
            noise=self.noise,
            settled=self.settled,
        )

    def _fit(self) -> QuadraticModel | None:
        points, found = self.values.pooled(self.support)
        return fit_quadratic(points, found, self.region, self.noise.sigma)

    def _bounds(self) -> tuple[Vector, Vector]:
        return self.values.low[self.support], self.values.high[self.support]

    def _is_uphill(self, model: QuadraticModel) -> bool:
        """Tell whether the last step has led clearly uphill: the model was trusted too far."""
        here = Location(model.constant, model.constant_error)
        if self.best is None or here < self.best[1]:
            self.best = self.region.center, here
            return False
        return 1 not in survivors([self.best[1], here], self.values.policy.noise.standard_errors)

    def _misfits(self, model: QuadraticModel) -> bool:
        """Tell whether residuals show shape; those that do not shrink with the radius are noise."""
        s, radius, grown = model.residual, self.region.radius, self.values.policy.noise.grown
        unshrunk = 1 / math.sqrt(grown)  # the residuals of a shape that is not quadratic are less
        misfits = s > 2 * self.noise.sigma and s > 1e-12 * abs(model.constant)
        if misfits and self.misfit is not None:
            fell, shrunk = self.misfit[0] / radius, s / self.misfit[1]
            if fell > grown and shrunk > unshrunk:
                self.noise = replace(self.noise, sigma=s)
                return False
        known = self.misfit
        if misfits and (known is None or s < unshrunk * known[1] or known[0] < radius):
            self.misfit = radius, s
        return misfits

    def _next_radius(
        self, model: QuadraticModel, size: float, *, misfits: bool, accurate: bool
    ) -> float:
        radius, policy = self.region.radius, self.values.policy.noise
        if misfits:
            return radius * (0.6 if size < EDGE else 0.8)
        if size > EDGE:
            return min(1.5 * radius, LONGEST)
        if model.lack_of_fit > policy.standard_errors:
            return 0.8 * radius
        # where noise limits the accuracy and shape does not, longer levers help
        return radius if accurate else min(1.25 * radius, LONGEST)


def difference_radius(sigma: float, curvature: Vector) -> float:
    """Return the radius over which curvature changes values by many standard deviations."""
    shown = curvature[curvature > 0]
    typical = float(np.median(shown)) if shown.size else 1.0
    return min(1.0, 6 * math.sqrt(sigma / typical))
