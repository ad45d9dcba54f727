"""AdaZORO's estimator: sparse recovery with a sparsity that is found on the way."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from szoht.core.directions import (
    ArrayDirections,
    Directions,
    DirectionSlice,
    SampledDirections,
)
from szoht.core.distributions import RademacherDistribution
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key
from szoht.core.validation import check_integer, check_real, frozen
from szoht.estimators.differences import (
    EPS,
    VALUE_ERROR_EPS,
    Quotients,
    quotients_of,
    unscaled,
    without_scale,
)
from szoht.estimators.sensing.cosamp import cosamp, least_squares
from szoht.estimators.sensing.matrices import SignMatrix, without_mean
from szoht.estimators.sparse_recovery import (
    default_measurements,
    estimate_of,
    radius_at,
)
from szoht.schedules import Scheduled, check_scheduled
from szoht.types import Indices, Sample, Vector

__all__ = ["AdaptiveRecovery", "RecoveryState"]

MIN_SPARE_PROBES = 10
"""Least squares on the old support gets this many probes, or as many as there are unknowns, to
spare: the residual over n spare ones has a relative error of about sqrt(1 / (2 n))."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecoveryState:
    """What is known between rounds: s and the support for the run, ``values`` for one iteration.

    ``values`` holds f(x) and the probes answered so far; ``support_rejected`` says that the old
    support does not explain the values of this iteration, ``dense`` that no sparse vector did so
    before. ``pool`` is a cache: without it the same rows are sampled again.
    """

    sparsity: int
    support: Indices
    dense: bool = False
    support_rejected: bool = True
    values: Vector
    pool: SampledDirections | None = None


@dataclass(frozen=True, kw_only=True)
class AdaptiveRecovery:
    """Recover the gradient from as few difference quotients as its sparsity allows (AdaZORO).

    With ``y_i = [f(x + mu z_i) - f(x)] / mu`` and rows of signs z_i as in `SparseRecovery`, each
    iteration goes through rounds until one of them explains y:

    1. least squares on the support of the estimate before, from n + max(n, 10) probes for the n
       entries in it; accepted if the residual per spare probe is at most ``phi_lstsq`` times the
       root mean square of y;
    2. ``CoSaMP(Z, y, s)`` from m(s) probes, accepted if ``||y - Z g|| <= phi_cosamp ||y||``;
       otherwise s grows, and only the rows that are new are asked;
    3. once m(s) would exceed ``compression * d``, differences along all d axes, for good.

    Parameters
    ----------
    sparsity : int, optional
        s to begin with, in [1, d]; 2 by default. It never decreases.
    mu : float or Schedule, optional
        Scale of a probe, > 0; by default ``1e-6 / sqrt(d)``. See `SparseRecovery`.
    oversampling : float
        b in ``m(s) = ceil(b s max(1, log(d / s))) + 10``, > 0.
    growth : float
        s grows to ``max(s + 1, floor(growth * s))``, >= 1. With 1, as published, it takes the most
        rounds; larger ones suit objectives that evaluate many points at once.
    phi_lstsq, phi_cosamp : float
        Relative residuals that are accepted, >= 0.
    compression : float
        Share of d, > 0, beyond which sparsity is given up.
    tol, max_passes : float, int
        Relative residual at which CoSaMP may stop, >= 0, and how often it may try, >= 1.
    centered : bool
        Take the mean off y and off every column of Z, see `SparseRecovery`.

    Examples
    --------
    >>> from szoht.core.random import Key
    >>> estimator = AdaptiveRecovery(mu=1e-3)
    >>> slope = np.zeros(100)
    >>> slope[[3, 14, 15, 92]] = [2.0, -2.0, 2.0, 3.0]
    >>> memory, estimate, cost = estimator.init(slope), None, 0
    >>> while estimate is None:
    ...     plan = estimator.plan(np.zeros(100), None, memory, Key(seed=0))
    ...     answer = Answer(values=plan.points() @ slope)
    ...     estimate, memory = estimator.combine(plan, [answer], memory)
    ...     cost += plan.cost
    >>> memory.sparsity, memory.support.tolist(), cost
    (4, [3, 14, 15, 92], 37)

    Notes
    -----
    Costs 1 + the probes of the last round: n + max(n, 10) if the old support still holds, else
    m(s) for the final s, else d plus what was asked before. Memory as in `SparseRecovery`.

    The reference spends three evaluations on each of s probes in the opportunistic step, because
    from s probes for s unknowns it can see no residual: it measures every probe once more with
    all coordinates off the old support held fixed. Spare probes tell the same from one evaluation
    each, and they count for CoSaMP if the step is refused. Where sparsity is given up, the
    reference solves dense least squares with 1.1 d probes; d axes need fewer and are exact.

    References
    ----------
    Cai, McKenzie, Yin, Zhang, Zeroth-order regularized optimization (ZORO): approximately sparse
    gradients and adaptive sampling, SIAM Journal on Optimization 2022, adaptive ZORO.
    """

    sparsity: int | None = None
    mu: Scheduled | None = None
    oversampling: float = 2.0
    growth: float = 1.2
    phi_lstsq: float = 0.1
    phi_cosamp: float = 0.4
    compression: float = 1.0
    tol: float = 0.01
    max_passes: int = 10
    centered: bool = True

    requires = frozenset[str]()

    def __post_init__(self) -> None:
        if self.sparsity is not None:
            check_integer("sparsity", self.sparsity, low=1, high_name="d")
        if self.mu is not None:
            check_scheduled("mu", self.mu, low=0, open_low=True)
        for name in ("oversampling", "compression"):
            check_real(name, getattr(self, name), low=0, open_low=True)
        for name in ("phi_lstsq", "phi_cosamp", "tol"):
            check_real(name, getattr(self, name), low=0)
        check_real("growth", self.growth, low=1)
        check_integer("max_passes", self.max_passes, low=1)

    def check(self, d: int) -> None:
        """Raise unless sparsity is in [1, d]."""
        if self.sparsity is not None:
            check_integer("sparsity", self.sparsity, low=1, high=d, high_name="d")

    def init(self, x: Vector) -> RecoveryState:
        """Return the memory before the first iteration."""
        s = self.sparsity or min(2, x.size)
        return RecoveryState(
            sparsity=s,
            support=frozen(np.empty(0, dtype=np.intp)),
            dense=self._rows(s, x.size) > self.compression * x.size,
            values=frozen(np.empty(0)),
        )

    def plan(self, x: Vector, sample: Sample, memory: RecoveryState, key: Key) -> Plan:
        """Return the probes of one round: those that are needed and not evaluated yet."""
        radius = radius_at(self.mu, key.iteration, x.size)
        first = memory.values.size == 0
        if memory.dense:
            directions: ArrayDirections | DirectionSlice = ArrayDirections.axes(
                np.arange(x.size), x.size
            )
            radius *= math.sqrt(x.size)  # as long as a probe along signs
        else:
            asked, wanted = max(0, memory.values.size - 1), self._n_rows_needed(memory, x.size)
            pool = _pool(memory.pool, key, d=x.size, rows=wanted)
            directions = DirectionSlice(whole=pool, start=asked, count=wanted - asked)
        query = Query(base=x, sample=sample, directions=directions, radius=radius, with_base=first)
        return Plan(queries=(query,))

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: RecoveryState
    ) -> tuple[Estimate | None, RecoveryState]:
        """Return the estimate, or None if more rows are needed; failed probes are left out."""
        (query,) = plan.queries
        values = np.concatenate([memory.values, answers[0].values])
        quotients, d = quotients_of(query, values), query.base.size
        rows, scale = unscaled(cast(Directions, query.directions))
        gradient = None
        if memory.dense or math.isnan(quotients.value):
            gradient = quotients.slopes if memory.dense else np.zeros(d)
        else:
            pool = cast(DirectionSlice, rows).whole
            memory = replace(memory, values=frozen(values), pool=pool)
        while gradient is None and self._has_enough_rows(memory, d):
            gradient, memory = self._attempt(memory, quotients, query.radius, d)
        if gradient is None:
            return None, memory
        memory = replace(
            memory, values=frozen(np.empty(0)), support_rejected=memory.support.size == 0
        )
        return estimate_of(without_scale(gradient, scale), query, quotients), memory

    def _attempt(
        self, memory: RecoveryState, quotients: Quotients, radius: float, d: int
    ) -> tuple[Vector | None, RecoveryState]:
        """Explain the slopes by what is known, or return None and a memory that needs more rows."""
        slopes = quotients.slopes[quotients.valid]
        if not slopes.size:
            return np.zeros(d), memory
        slopes = without_mean(slopes) if self.centered else slopes
        assert memory.pool is not None, "answers came from a pool"  # noqa: S101
        rows = SignMatrix(
            directions=DirectionSlice(whole=memory.pool, start=0, count=quotients.valid.size),
            valid=quotients.valid,
            centered=self.centered,
        )
        noise = _rounding(memory.values, radius, slopes)
        if not memory.support_rejected:
            gradient, residual = _on_support(rows, slopes, memory.support)
            if residual <= max(self.phi_lstsq, noise):
                return gradient, memory
            return None, replace(memory, support_rejected=True)
        found = cosamp(
            rows,
            slopes,
            sparsity=memory.sparsity,
            tol=min(self.tol, self.phi_cosamp),
            max_passes=self.max_passes,
        )
        if found.residual <= max(self.phi_cosamp, noise):
            support = frozen(np.flatnonzero(found.solution))
            return found.solution, replace(memory, support=support)
        return None, self._with_larger_sparsity(memory, d)

    def _with_larger_sparsity(self, memory: RecoveryState, d: int) -> RecoveryState:
        """Return the memory with a larger s, or with all axes if s is too large."""
        s = min(d, max(memory.sparsity + 1, math.floor(self.growth * memory.sparsity)))
        if memory.sparsity == d or self._rows(s, d) > self.compression * d:
            base = frozen(memory.values[:1].copy())
            return replace(memory, sparsity=s, dense=True, values=base, pool=None)
        return replace(memory, sparsity=s)

    def _has_enough_rows(self, memory: RecoveryState, d: int) -> bool:
        return not memory.dense and memory.values.size > self._n_rows_needed(memory, d)

    def _n_rows_needed(self, memory: RecoveryState, d: int) -> int:
        """Return how many probes the next attempt takes."""
        rows = self._rows(memory.sparsity, d)
        n = memory.support.size
        return rows if memory.support_rejected else min(rows, n + max(n, MIN_SPARE_PROBES))

    def _rows(self, sparsity: int, d: int) -> int:
        return default_measurements(sparsity, d, self.oversampling)


def _on_support(rows: SignMatrix, slopes: Vector, support: Indices) -> tuple[Vector, float]:
    """Return the least-squares gradient on ``support``, and its residual per spare probe."""
    gradient = np.zeros(rows.shape[1])
    spare = slopes.size - support.size
    if spare <= 0:
        return gradient, math.inf
    columns = rows.columns(support)
    gradient[support] = least_squares(columns, slopes)
    rest = slopes - columns @ gradient[support]
    length = float(np.linalg.norm(slopes))
    # Fitting n unknowns takes n degrees of freedom out of the residual.
    ratio = float(np.linalg.norm(rest)) / length if length > 0 else 0.0
    return gradient, ratio * math.sqrt(slopes.size / spare)


def _rounding(values: Vector, radius: float, slopes: Vector) -> float:
    """Return the share of the slopes that rounding of f may explain: no s would make it less."""
    size = float(np.linalg.norm(slopes)) / math.sqrt(slopes.size)
    finite = np.abs(values[np.isfinite(values)])
    return VALUE_ERROR_EPS * EPS * float(finite.max()) / (radius * size) if size > 0 else 0.0


def _pool(pool: SampledDirections | None, key: Key, *, d: int, rows: int) -> SampledDirections:
    """Return signs for at least ``rows`` rows; a larger pool begins with the same rows."""
    if pool is not None and pool.count >= rows:
        return pool
    distribution = RademacherDistribution()
    # Whole blocks, so that no block is ever drawn at two lengths; doubled, so that growing by
    # little each time does not mean drawing everything each time.
    block = distribution.block_rows(d, rows)
    count = max(rows, 0 if pool is None else 2 * pool.count)
    return SampledDirections(
        distribution=distribution,
        key=Key(seed=key.seed),
        d=d,
        count=block * math.ceil(count / block),
    )
