"""ZORO and AdaZORO: gradients by compressed sensing."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import most_nonzeros, pick_operator, pick_update
from szoht.core.validation import check_real
from szoht.errors import ParameterError
from szoht.estimators.adaptive_recovery import AdaptiveRecovery
from szoht.estimators.sparse_recovery import SparseRecovery
from szoht.operators import Operator, SoftThreshold
from szoht.samplers import Full, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice

__all__ = ["ada_zoro", "zoro"]


def zoro(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    penalty: float = 0.0,
    sparsity: int | None = None,
    n_measurements: int | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    tol: float = 0.01,
    max_passes: int = 10,
    centered: bool = True,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
    d: int | None = None,
) -> Composite:
    """Recover a sparse gradient from few random measurements, then take a proximal step.

    ``x_{t+1} = prox_{alpha r}(x_t - alpha ghat_t)`` with ``ghat_t = CoSaMP(Z, y_t, s)`` and
    ``y_{t,i} = [f(x_t + mu z_i) - f(x_t)] / mu``, the rows z_i of Z being random signs that are
    sampled once (`SparseRecovery`). As published ``r = penalty ||x||_1``; with ``k`` or
    ``constraint`` the step ends with that projection instead.

    Parameters
    ----------
    k : int
        Non-zeros to keep, in [1, d]; short for ``constraint=Sparse(k)``.
    constraint : Operator
        A set or penalty in place of the l1 norm.
    penalty : float
        Weight of the l1 norm, >= 0; must be 0 beside ``k`` or ``constraint``.
    sparsity : int
        s, how many entries of the gradient matter, in [1, d]. By default 2 k if the constraint
        has a k (the difference of two k-sparse points has 2 k entries), else ``max(1, d // 10)``.
    n_measurements : int
        m; by default ``ceil(2 s max(1, log(d / s))) + 10``, at most d.
    mu : float or Schedule
        Scale of a probe, > 0; by default ``1e-6 / sqrt(d)``, and longer where f is found to be
        noisy, see `ChosenRadius`. A probe has length ``mu sqrt(d)``: with 1e-4 the published
        method stalls at d = 10,000, see `SparseRecovery`.
    step_size : float or Schedule
        alpha, > 0; 1 / L in theory, and 2 / L already flips signs for ever; by default found by
        line search, see `LineSearch`.
    tol, max_passes : float, int
        Relative residual at which CoSaMP may stop, >= 0, and how often it may try, >= 1. The
        reference has 0.5; better recovery costs time but no query.
    centered : bool
        Cancel the curvature that all probes share, see `SparseRecovery`; False as published.
    sampler : Sampler
        Samples a stochastic objective, once per iteration.
    iterate : {"best", "last", "average", "random"}
        Which point is returned, see `Composite`.
    d : int
        The dimension, needed only to keep the default of ``sparsity`` within it.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht import minimize
    >>> target = np.zeros(1000)
    >>> target[[3, 500]] = [1.0, -2.0]
    >>> result = minimize(
    ...     lambda x: float(((x - target) ** 2).sum()),
    ...     np.zeros(1000),
    ...     method=zoro(sparsity=2, step_size=0.5),
    ...     max_queries=300,
    ...     rng=0,
    ... )
    >>> np.flatnonzero(np.abs(result.x) > 1e-3)
    array([  3, 500])

    Notes
    -----
    Costs m + 1 queries per iteration, 3 more with line search (17 in the first). The reference
    asks f(x) anew for each measurement, to average noise, and spends 2 m.

    References
    ----------
    Cai, McKenzie, Yin, Zhang, Zeroth-order regularized optimization (ZORO): approximately sparse
    gradients and adaptive sampling, SIAM Journal on Optimization 2022, Algorithm 1.
    """
    operator = _operator(k, constraint, penalty)
    estimator = SparseRecovery(
        sparsity=_default_sparsity(operator, d) if sparsity is None else sparsity,
        n_measurements=n_measurements,
        mu=mu,
        tol=tol,
        max_passes=max_passes,
        centered=centered,
    )
    update = pick_update(operator, step_size)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )


def ada_zoro(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    penalty: float = 0.0,
    sparsity: int | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    oversampling: float = 2.0,
    growth: float = 1.2,
    phi_lstsq: float = 0.1,
    phi_cosamp: float = 0.4,
    compression: float = 1.0,
    tol: float = 0.01,
    max_passes: int = 10,
    centered: bool = True,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
) -> Composite:
    """Find out how sparse the gradient is while recovering it, then take a proximal step.

    ``x_{t+1} = prox_{alpha r}(x_t - alpha ghat_t)``, where ghat_t comes from as few measurements
    as explain them: least squares on the support of ghat_{t-1}, else CoSaMP with an s that grows
    until its residual is small, else all coordinate differences (`AdaptiveRecovery`).

    Parameters
    ----------
    k, constraint, penalty, mu, step_size, sampler, iterate
        As in `zoro`.
    sparsity : int
        s to begin with, in [1, d]; 2 by default. It never decreases.
    oversampling, growth, phi_lstsq, phi_cosamp, compression, tol, max_passes, centered
        As in `AdaptiveRecovery`.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht import minimize
    >>> target = np.zeros(1000)
    >>> target[[3, 500, 501, 502]] = [1.0, -2.0, 1.0, 1.5]
    >>> result = minimize(
    ...     lambda x: float(((x - target) ** 2).sum()),
    ...     np.zeros(1000),
    ...     method=ada_zoro(step_size=0.5),
    ...     max_queries=300,
    ...     rng=0,
    ... )
    >>> np.flatnonzero(np.abs(result.x) > 1e-3)
    array([  3, 500, 501, 502])

    Notes
    -----
    An iteration costs 1 + n + max(n, 10) queries where the support of n entries holds, otherwise
    1 + m(s) for the final s, with ``m(s) = ceil(oversampling s max(1, log(d / s))) + 10``; where
    sparsity is given up, 1 + d. A line search adds 3 (17 in the first iteration). The budget is
    checked before each round.

    References
    ----------
    Cai, McKenzie, Yin, Zhang, Zeroth-order regularized optimization (ZORO): approximately sparse
    gradients and adaptive sampling, SIAM Journal on Optimization 2022, adaptive ZORO.
    """
    operator = _operator(k, constraint, penalty)
    estimator = AdaptiveRecovery(
        sparsity=sparsity,
        mu=mu,
        oversampling=oversampling,
        growth=growth,
        phi_lstsq=phi_lstsq,
        phi_cosamp=phi_cosamp,
        compression=compression,
        tol=tol,
        max_passes=max_passes,
        centered=centered,
    )
    update = pick_update(operator, step_size)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )


def _operator(k: int | None, constraint: Operator | None, penalty: float) -> Operator:
    """Return the l1 penalty of the paper, or what takes its place."""
    if check_real("penalty", penalty, low=0) > 0 and (k, constraint) != (None, None):
        raise ParameterError(
            "`penalty` must be 0 where `k` or `constraint` is given: they take the place of the "
            f"l1 norm; got penalty={penalty}, k={k}, constraint={constraint!r}."
        )
    if k is None and constraint is None:
        return SoftThreshold(penalty)
    return pick_operator(k, constraint)


def _default_sparsity(operator: Operator, d: int | None) -> int | None:
    """Return 2 k, at most d, for an operator that has a k; else leave it to the estimator."""
    k = most_nonzeros(operator)
    if k is None:
        return None
    return 2 * k if d is None else min(2 * k, d)
