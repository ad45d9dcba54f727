"""ZORO's estimator: a sparse gradient from few random measurements of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from szoht.core.directions import Directions, DirectionSlice, SampledDirections
from szoht.core.distributions import RademacherDistribution
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key
from szoht.core.validation import check_integer, check_real
from szoht.estimators.differences import (
    FORWARD_LENGTH,
    Quotients,
    difference_plan,
    quotients_of,
    rounding_and_slope,
    unscaled,
    without_scale,
)
from szoht.estimators.sensing.cosamp import GramRows, cosamp
from szoht.estimators.sensing.matrices import SignMatrix, without_mean
from szoht.schedules import Scheduled, at, check_scheduled
from szoht.types import Sample, Vector

__all__ = ["SparseRecovery", "default_measurements", "radius_at"]

EXTRA_ROWS = 10
"""Rows beyond ``2 s log(d / s)``, since columns of few signs are often equal: s = 1 needs them."""


@dataclass(frozen=True, kw_only=True)
class SparseRecovery:
    """Recover the gradient from m < d difference quotients, assuming that it is sparse (ZORO).

    ``ghat = CoSaMP(Z, y, s)`` with ``y_i = [f(x + mu z_i) - f(x)] / mu``, where the rows z_1, ...,
    z_m of Z are random signs, sampled once and used in all iterations.

    Parameters
    ----------
    sparsity : int, optional
        s, how many entries of the gradient matter, in [1, d]; by default ``max(1, d // 10)``.
    n_measurements : int, optional
        m, >= 1; by default ``ceil(2 s max(1, log(d / s))) + 10``, at most d.
    mu : float or Schedule, optional
        Scale of a probe, > 0. A row of signs is sqrt(d) long, so a probe has length
        ``mu sqrt(d)`` and the quotient a curvature error of up to ``mu d L / 2``: with 1e-4, as
        published, that is as large as the slopes at d = 10,000. By default ``1e-6 / sqrt(d)``.
    tol : float
        Relative residual at which CoSaMP may stop, >= 0.
    max_passes : int
        Passes of CoSaMP, >= 1.
    centered : bool
        Take the mean off y and off every column of Z. Since ``z_j^2 = 1``, the diagonal of the
        Hessian adds the same ``mu tr(H) / 2`` to all quotients, and this removes it. The
        reference does not.

    Examples
    --------
    >>> from szoht.core.random import Key
    >>> estimator = SparseRecovery(sparsity=2, mu=1e-3)
    >>> plan = estimator.plan(np.zeros(100), None, None, Key(seed=0))
    >>> slope = np.zeros(100)
    >>> slope[[3, 70]] = [1.0, -2.0]
    >>> answer = Answer(values=plan.points() @ slope)
    >>> estimate, _ = estimator.combine(plan, [answer], None)
    >>> plan.cost, estimate.gradient.nonzero()[0].tolist()
    (27, [3, 70])

    Notes
    -----
    Costs m + 1 queries. Memory: 8 m d bytes for the rows and up to 8 d^2 for their inner products,
    each at most 128 MB; beyond that they are made again when needed. The factor ``1 / sqrt(m)``
    that the reference puts before Z and y cancels. The reference has ``m = b s log(d / s)`` with
    b near 1; CoSaMP then found 13 of 190 exactly sparse vectors (d from 100 to 10,000, s from 5
    to 100), with b = 2 all of them. Estimates of different iterations have correlated errors,
    because they share Z.

    References
    ----------
    Cai, McKenzie, Yin, Zhang, Zeroth-order regularized optimization (ZORO): approximately sparse
    gradients and adaptive sampling, SIAM Journal on Optimization 2022, Algorithm 1.
    """

    sparsity: int | None = None
    n_measurements: int | None = None
    mu: Scheduled | None = None
    tol: float = 0.01
    max_passes: int = 10
    centered: bool = True

    requires = frozenset[str]()

    def __post_init__(self) -> None:
        if self.sparsity is not None:
            check_integer("sparsity", self.sparsity, low=1, high_name="d")
        if self.n_measurements is not None:
            check_integer("n_measurements", self.n_measurements, low=1)
        if self.mu is not None:
            check_scheduled("mu", self.mu, low=0, open_low=True)
        check_real("tol", self.tol, low=0)
        check_integer("max_passes", self.max_passes, low=1)

    def check(self, d: int) -> None:
        """Raise unless sparsity is in [1, d]."""
        if self.sparsity is not None:
            check_integer("sparsity", self.sparsity, low=1, high=d, high_name="d")

    def init(self, x: Vector) -> None:
        """No rows are sampled yet."""

    def plan(self, x: Vector, sample: Sample, memory: "RowCache | None", key: Key) -> Plan:
        """Return the m + 1 points of one estimate."""
        radius = radius_at(self.mu, key.iteration, x.size)
        rows = self._sample_rows(x.size, key) if memory is None else memory.rows
        return difference_plan(x, sample, rows, radius=radius, central=False)

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: "RowCache | None"
    ) -> tuple[Estimate, "RowCache"]:
        """Return the estimate; a measurement that failed is left out."""
        (query,) = plan.queries
        quotients = quotients_of(query, answers[0].values)
        d = query.base.size
        rows, scale = unscaled(cast(Directions, query.directions))
        if memory is None:
            memory = RowCache(rows=cast(DirectionSlice, rows), gram=GramRows(d))
        slopes, whole = quotients.slopes[quotients.valid], bool(quotients.valid.all())
        if not slopes.size:
            return estimate_of(np.zeros(d), query, quotients), memory
        found = cosamp(
            SignMatrix(directions=memory.rows, valid=quotients.valid, centered=self.centered),
            without_mean(slopes) if self.centered else slopes,
            sparsity=self._sparsity(d),
            tol=self.tol,
            max_passes=self.max_passes,
            gram=memory.gram if whole else None,
        )
        return estimate_of(without_scale(found.solution, scale), query, quotients), memory

    def _sample_rows(self, d: int, key: Key) -> DirectionSlice:
        m = self.n_measurements or min(d, default_measurements(self._sparsity(d), d))
        # A key without iteration and round: the same rows throughout the run. A slice of all rows
        # does not pass its memory on to the next plan.
        sampled = SampledDirections(
            distribution=RademacherDistribution(), key=Key(seed=key.seed), d=d, count=m
        )
        return DirectionSlice(whole=sampled, start=0, count=m)

    def _sparsity(self, d: int) -> int:
        return self.sparsity or max(1, d // 10)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCache:
    """Rows and inner products, a cache: without it the same ones are made again.

    A pickled copy carries no array.
    """

    rows: DirectionSlice
    gram: GramRows


def estimate_of(gradient: Vector, query: Query, quotients: Quotients) -> Estimate:
    """Return the estimate, with f(x) and the size of the quotients that it was made from."""
    rounding, slope = rounding_and_slope(query, quotients)
    return Estimate(
        gradient=gradient,
        value=quotients.value,
        measured=True,
        rounding=rounding,
        slope=slope,
    )


def default_measurements(sparsity: int, d: int, oversampling: float = 2.0) -> int:
    """Return ``ceil(b s max(1, log(d / s))) + 10``, which grows with s up to s = d.

    >>> default_measurements(10, 1000)
    103
    """
    return math.ceil(oversampling * sparsity * max(1.0, math.log(d / sparsity))) + EXTRA_ROWS


def radius_at(mu: Scheduled | None, t: int, d: int) -> float:
    """Return mu at iteration ``t``; by default a probe has length 1e-6 whatever d."""
    return FORWARD_LENGTH / math.sqrt(d) if mu is None else at(mu, t)
