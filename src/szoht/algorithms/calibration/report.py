"""What a calibration tells besides its answer: errors, other supports, what would decide."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from szoht.algorithms.calibration.claims import AnswerClaim
from szoht.algorithms.calibration.comparison import demanded_entry
from szoht.algorithms.calibration.quantiles import chi_square_quantile, student_quantile
from szoht.algorithms.calibration.records import Visit
from szoht.algorithms.calibration.residuals import cost, loss_weights
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.types import Indices, Vector

__all__ = ["FitReport", "OtherSupport", "ReducedChiSquare", "describe_fit"]

ALTERNATIVES_SEARCHED = 60
ALTERNATIVES_LISTED = 10
NEAR_ZERO = 1e-300
UNDETERMINED = 1e-12
"""Relative to the largest possible: a smaller eigenvalue of the normal matrix is rounding."""


class ReducedChiSquare(NamedTuple):
    """The misfit per degree of freedom, and between what it lies if sigma is right."""

    value: float
    low: float
    high: float

    @property
    def is_far(self) -> bool:
        """Whether it contradicts sigma."""
        return not self.low <= self.value <= self.high


@dataclass(frozen=True, kw_only=True, eq=False)
class OtherSupport:
    """Another support whose expected misfit is within the noise, as a point z.

    ``output`` is the one in which it is expected to differ most from the answer, by
    ``difference`` residuals; ``model_error`` is the standard deviation of all residuals together
    that comes from what is not known about the Jacobian.
    """

    z: Vector
    misfit: float
    model_error: float
    output: int
    difference: float


@dataclass(frozen=True, kw_only=True, eq=False)
class FitReport:
    """The answer in the solver's numbers z, and what is known about it.

    ``jacobian`` is that of the residuals with respect to z, at the support only. ``level`` is the
    probability of intervals and of the list of other supports.
    """

    search: CalibrationSearch
    visit: Visit
    level: float

    @property
    def has_sigma(self) -> bool:
        """Whether the standard deviations of the measurements are known."""
        return self.search.has_sigma

    @cached_property
    def residuals(self) -> Vector:
        """The residuals at the answer, NaN where outputs are missing."""
        return self.visit.residuals

    @cached_property
    def support(self) -> Indices:
        """Which variables are changed."""
        return np.flatnonzero(self.visit.point)

    @cached_property
    def jacobian(self) -> Vector:
        """Derivatives of the residuals by z at the support, (m, number of changes)."""
        search, posterior = self.search, self.search.posterior
        jacobian = np.zeros((self.residuals.size, self.support.size))
        if posterior is not None:
            places = {int(column): i for i, column in enumerate(posterior.columns)}
            for j, variable in enumerate(self.support.tolist()):
                if variable in places:
                    jacobian[:, j] = posterior.mean[:, places[variable]]
        return np.asarray(jacobian / search.domain.unit[self.support])

    @cached_property
    def _weighted(self) -> Vector:
        """The Jacobian with rows weighted by the loss, without missing outputs."""
        search = self.search
        weights = loss_weights(search.filled(self.residuals), search.loss, search.f_scale)
        weights = np.where(np.isfinite(self.residuals), weights, 0.0)
        return np.asarray(np.sqrt(weights)[:, np.newaxis] * self.jacobian)

    @cached_property
    def freedom(self) -> int:
        """Outputs minus changed variables, at least one."""
        return max(int(np.isfinite(self.residuals).sum()) - self.support.size, 1)

    @cached_property
    def variance(self) -> float:
        """The variance of one residual: one if sigma is right, more if the misfit says so."""
        search, present = self.search, self.residuals[np.isfinite(self.residuals)]
        found = 2 * cost(present, search.loss, search.f_scale) / self.freedom
        least = 1.0 if self.has_sigma else 0.0
        return max(found, search.noise**2, least)

    @cached_property
    def covariance(self) -> Vector:
        """The covariance of z at the support, huge along what the outputs do not determine."""
        normal = self._weighted.T @ self._weighted
        sizes = normal.diagonal()
        largest = sizes.max(initial=0.0) or 1.0
        scale = np.sqrt(np.maximum(sizes, UNDETERMINED * largest))
        values, vectors = np.linalg.eigh(normal / np.outer(scale, scale))
        inverse = (vectors / np.maximum(values, UNDETERMINED * len(values))) @ vectors.T
        return np.asarray(self.variance * inverse / np.outer(scale, scale))

    @cached_property
    def claim(self) -> AnswerClaim:
        """What was tested at the answer."""
        return AnswerClaim.of(self.search)

    @property
    def has_ended(self) -> bool:
        """Whether the search ended by itself: before, nothing was compared at the answer."""
        return self.search.outer.ending is not None

    @cached_property
    def goodness(self) -> ReducedChiSquare | None:
        """The reduced chi-square; None without sigma, with a robust loss, or nothing to spare."""
        present = int(np.isfinite(self.residuals).sum())
        freedom, search = present - self.support.size, self.search
        if not self.claim.testable or freedom < 1:
            return None
        tail = 0.5 * search.policy.far_from_sigma
        return ReducedChiSquare(
            value=float(np.nansum(self.residuals**2)) / freedom,
            low=chi_square_quantile(freedom, tail) / freedom,
            high=(1 + search.noise**2) * chi_square_quantile(freedom, 1 - tail) / freedom,
        )

    @property
    def is_poor(self) -> bool:
        """Whether the misfit is more than sigma and fresh noise explain."""
        return self.goodness is not None and self.goodness.value > self.goodness.high

    @property
    def jacobian_is_measured(self) -> bool:
        """Whether derivatives were measured at the answer, not learned from probes elsewhere."""
        return not np.isin(self.support, self.claim.unmeasured).any()

    @cached_property
    def quantile(self) -> float:
        """How many standard errors an interval extends to either side."""
        p = 0.5 + 0.5 * self.level
        inflated = self.variance > 1.0 or not self.has_sigma
        return student_quantile(self.freedom if inflated else math.inf, p)

    @cached_property
    def condition(self) -> float:
        """The condition number of the normal matrix, its columns scaled to length one."""
        if not self.support.size:
            return 1.0
        lengths = np.sqrt((self._weighted**2).sum(axis=0))
        if not lengths.all():
            return float("inf")
        sizes = np.linalg.svd(self._weighted / lengths, compute_uv=False)
        return float((sizes[0] / max(sizes[-1], NEAR_ZERO)) ** 2)

    @property
    def is_at_center(self) -> bool:
        """Whether the posterior is that of the support of the answer."""
        return np.array_equal(np.flatnonzero(self.search.center), self.support)

    @cached_property
    def demanded(self) -> tuple[int, float] | None:
        """The variable that is to be one more change, and by how much it lowers the misfit."""
        if self.search.posterior is None or not self.is_at_center:
            return None
        return demanded_entry(self.search, self.level)

    @cached_property
    def others(self) -> tuple[OtherSupport, ...]:
        """Other supports that are expected to explain the outputs as well, within the noise.

        They are listed at the end of a search, and where all of their columns were measured.
        The likelihood-ratio test (S. S. Wilks 1938) of a support within its union with that of the
        answer has as many degrees of freedom as the answer has variables of its own; the union is
        not worse than the answer.
        """
        search = self.search
        if search.posterior is None or not self.is_at_center or not self.has_ended:
            return ()
        model = search.model(damping=0.0, optimistic=True)
        # a fit that is poor for another reason than noise makes no other support as good
        variance = 1.0 if self.has_sigma else self.variance
        found = []
        for candidate in model.search(search.k, ALTERNATIVES_SEARCHED):
            point = search.point_of(candidate)
            own = np.setdiff1d(self.support, np.flatnonzero(point)).size
            limit = search.misfit + variance * chi_square_quantile(max(own, 1), self.level)
            same = np.array_equal(np.flatnonzero(point), self.support)
            unknown = np.isin(np.flatnonzero(point), self.claim.unmeasured).any()
            if same or unknown or candidate.misfit > limit or not point.any():
                continue
            step = point - search.center
            change = search.posterior.response(step)
            output = int(np.argmax(np.abs(change)))
            found.append(
                OtherSupport(
                    z=search.domain.to_z(point),
                    misfit=candidate.misfit,
                    model_error=float(np.sqrt(search.posterior.variance(step))),
                    output=output,
                    difference=float(change[output]),
                )
            )
        return tuple(found[:ALTERNATIVES_LISTED])


def describe_fit(search: CalibrationSearch, level: float) -> FitReport | None:
    """Return what is known about the best point so far; None if there is none."""
    if search.answer is None:
        return None
    return FitReport(search=search, visit=search.answer, level=level)
