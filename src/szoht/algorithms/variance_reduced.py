"""Variance-reduced zeroth-order hard thresholding for finite sums."""

from dataclasses import replace

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_operator, pick_sphere
from szoht.core.parts import Estimator, SearchUpdate, Update
from szoht.errors import ParameterError
from szoht.estimators import SARAH, SVRG, MemoryTable, Sphere
from szoht.operators import Operator
from szoht.samplers import Snapshots
from szoht.schedules import Scheduled
from szoht.types import IterateChoice
from szoht.updates import ForwardBackward, SnapshotSearch

__all__ = ["saga_szht", "sarah_szht", "vr_szht"]

DEFAULT_EPOCH = 10

SNAPSHOTS = 8
"""A budget pays for so many snapshots at least, if their directions are not given."""

SHARE, SAFE_BATCH = 0.25, 32
"""Steps between snapshots, in units of the step found on the whole sum; where no later snapshot
corrects them they are shorter in proportion to the batch, if that is smaller than this."""


def vr_szht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    q: Scheduled | None = None,
    snapshot_q: Scheduled | None = None,
    every: int = DEFAULT_EPOCH,
    batch_size: int = 1,
    mu: Scheduled | None = None,
    support_size: int | None = None,
    orthogonal: bool = False,
    snapshot: Estimator | None = None,
    iterate: IterateChoice | None = None,
    d: int | None = None,
    max_queries: int | None = None,
    n_samples: int | None = None,
) -> Composite:
    """Correct SZOHT with snapshots of the full gradient (SVRG).

    ``x_{t+1} = H_k(x_t - eta v_t)``, ``v_t = ghat_i(x_t) - ghat_i(x_s) + ghat_full(x_s)``, with x_s
    the iterate at the last snapshot and the same directions in both terms.

    Parameters
    ----------
    k, constraint
        As in `szoht`.
    step_size : float or Schedule
        eta, > 0. By default a line search on the whole sum at each snapshot finds it, and the steps
        between take a share of it; see `SnapshotSearch`. The best point on the whole sum is the
        answer then.
    q : int or Schedule
        Directions of the two terms; by default as in `szoht`.
    snapshot_q : int or Schedule
        Directions of the snapshot, whose noise is the floor of the method; by default 10 q.
        Without ``step_size`` they are orthogonal, at most d, and so few that an eighth of the
        budget pays for them.
    every : int
        Iterations between snapshots, >= 1.
    batch_size : int
        Components of an iteration, in [1, n_samples].
    mu, support_size, orthogonal
        As in `szoht`.
    snapshot : Estimator
        Another estimator for the snapshot, such as `Coordinate`; ``snapshot_q`` is not used then.
    iterate : {"last", "best", "average", "random"}
        Which point is returned.
    d : int
        The dimension, needed only to choose ``q``.
    max_queries, n_samples : int
        The budget and the components, filled in by `minimize`; used without ``step_size`` only.

    Notes
    -----
    Costs n (snapshot_q + 1) evaluations at a snapshot and 2 b (q + 1) in the iterations between
    them, b the batch size: n (snapshot_q + 1) + 2 (every - 1) b (q + 1) per epoch. The step at a
    snapshot needs no correction, which saves the first of the published inner steps.

    References
    ----------
    Yuan, de Vazelhes, Gu, Xiong, New insight of variance reduce in zero-order hard-thresholding:
    mitigating gradient error and expansivity contradictions, ICLR 2024.
    """
    operator = pick_operator(k, constraint)
    inner = pick_sphere(operator, q=q, mu=mu, support_size=support_size, d=d, orthogonal=orthogonal)
    if snapshot is None:
        snapshot = _snapshot(inner, snapshot_q)
        if step_size is None and snapshot_q is None:
            snapshot = _affordable(snapshot, d, max_queries, n_samples)
    estimator = SVRG(estimator=inner, snapshot=snapshot, every=every)
    sampler = Snapshots(every=every, size=batch_size)
    return _compose(estimator, operator, step_size, sampler, iterate, choose_radius=mu is None)


def sarah_szht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    q: Scheduled | None = None,
    snapshot_q: Scheduled | None = None,
    every: int = DEFAULT_EPOCH,
    batch_size: int = 1,
    mu: Scheduled | None = None,
    support_size: int | None = None,
    orthogonal: bool = False,
    snapshot: Estimator | None = None,
    iterate: IterateChoice | None = None,
    d: int | None = None,
    max_queries: int | None = None,
    n_samples: int | None = None,
) -> Composite:
    """Correct SZOHT recursively, against the previous iterate (SARAH).

    ``x_{t+1} = H_k(x_t - eta v_t)``, ``v_t = ghat_i(x_t) - ghat_i(x_{t-1}) + v_{t-1}`` along common
    directions, and ``v_t = ghat_full(x_t)`` in every ``every``-th iteration.

    Parameters
    ----------
    k, constraint, step_size, q, snapshot_q, every, batch_size
        As in `vr_szht`.
    mu, support_size, orthogonal, snapshot, iterate, d, max_queries, n_samples
        As in `vr_szht`.

    Notes
    -----
    Costs as `vr_szht`. The estimate is biased: errors are handed on until the next snapshot.

    References
    ----------
    Yuan et al., ICLR 2024; Nguyen et al., SARAH: a novel method for machine learning problems using
    stochastic recursive gradient, ICML 2017.
    """
    operator = pick_operator(k, constraint)
    inner = pick_sphere(operator, q=q, mu=mu, support_size=support_size, d=d, orthogonal=orthogonal)
    if snapshot is None:
        snapshot = _snapshot(inner, snapshot_q)
        if step_size is None and snapshot_q is None:
            snapshot = _affordable(snapshot, d, max_queries, n_samples)
    estimator = SARAH(estimator=inner, snapshot=snapshot, every=every)
    sampler = Snapshots(every=every, size=batch_size)
    return _compose(estimator, operator, step_size, sampler, iterate, choose_radius=mu is None)


def saga_szht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    q: Scheduled | None = None,
    initial_q: Scheduled | None = None,
    batch_size: int = 1,
    mu: Scheduled | None = None,
    support_size: int | None = None,
    orthogonal: bool = False,
    iterate: IterateChoice | None = None,
    d: int | None = None,
    max_queries: int | None = None,
    n_samples: int | None = None,
) -> Composite:
    """Correct SZOHT with a table of past estimates (SAGA; p-memorisation for p = batch_size).

    ``x_{t+1} = H_k(x_t - eta v_t)``, ``v_t = ghat_i(x_t) - ghat_i(phi_i) + mean_j alpha_j``, where
    alpha_j is the estimate of component j at phi_j, the point where it was last seen.

    Parameters
    ----------
    k, constraint, step_size, q, mu, support_size, orthogonal, iterate, d, max_queries, n_samples
        As in `vr_szht`; without ``step_size`` there is one search, at the start.
    initial_q : int or Schedule
        Directions per component when the table is filled; by default q.
    batch_size : int
        p, the components of an iteration, in [1, n_samples].

    Notes
    -----
    Costs n (initial_q + 1) evaluations at first, then 2 p (q + 1) per iteration. The table takes
    n (k + q) numbers: points are sparse and directions are drawn again from their address. The
    noise of the table's mean is the floor of the method; with ``orthogonal`` directions it falls
    fast as q comes near d.

    References
    ----------
    Yuan et al., ICLR 2024; Defazio, Bach, Lacoste-Julien, SAGA, NIPS 2014.
    """
    operator = pick_operator(k, constraint)
    inner = pick_sphere(operator, q=q, mu=mu, support_size=support_size, d=d, orthogonal=orthogonal)
    initial = inner if initial_q is None else replace(inner, q=initial_q)
    if step_size is None and initial_q is None:
        initial = _affordable(inner, d, max_queries, n_samples)
    estimator = MemoryTable(estimator=inner, initial=initial)
    sampler = Snapshots(size=batch_size)
    return _compose(estimator, operator, step_size, sampler, iterate, choose_radius=mu is None)


def _snapshot(inner: Sphere, q: Scheduled | None) -> Sphere:
    if q is None:
        if callable(inner.q):
            raise ParameterError("`snapshot_q` must be given when `q` is a schedule; got None.")
        q = int(10 * inner.q)
    return replace(inner, q=q)


def _affordable(
    sphere: Sphere, d: int | None, max_queries: int | None, n_samples: int | None
) -> Sphere:
    """Return orthogonal directions, as many as asked for, as there are, and as can be paid for."""
    if d is None or callable(sphere.q):
        return sphere
    most = float(min(d, sphere.support_size or d))
    if max_queries is not None and n_samples is not None:
        most = min(most, max_queries // (SNAPSHOTS * n_samples) - 1)
    return replace(sphere, q=int(max(1, min(sphere.q, most))), orthogonal=True)


def _compose(
    estimator: Estimator,
    operator: Operator,
    step_size: Scheduled | None,
    sampler: Snapshots,
    iterate: IterateChoice | None,
    *,
    choose_radius: bool,
) -> Composite:
    update: Update | SearchUpdate
    if step_size is None:
        corrected = sampler.every is not None
        share = SHARE if corrected else SHARE * min(1.0, sampler.size / SAFE_BATCH)
        update = SnapshotSearch(operator=operator, every=sampler.every, share=share)
    else:
        update = ForwardBackward(operator=operator, step_size=step_size)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=choose_radius,
    )
