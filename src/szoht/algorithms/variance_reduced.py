"""Variance-reduced zeroth-order hard thresholding for finite sums."""

from dataclasses import replace

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_operator, pick_sphere
from szoht.algorithms.variance_pace import (
    Pace,
    affordable,
    orthogonal_if_many,
    pick_pace,
    table_directions,
    warn_of_loss,
    warn_of_slow_table,
)
from szoht.core.parts import Estimator
from szoht.errors import ParameterError
from szoht.estimators import SARAH, SVRG, MemoryTable, Sphere
from szoht.operators import Operator
from szoht.samplers import Snapshots
from szoht.schedules import Scheduled
from szoht.types import IterateChoice
from szoht.updates import ForwardBackward, SnapshotSearch

__all__ = ["saga_szht", "sarah_szht", "vr_szht"]


def vr_szht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    q: Scheduled | None = None,
    snapshot_q: Scheduled | None = None,
    every: int | None = None,
    batch_size: int | None = None,
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
        eta, > 0. By default line searches on the whole sum find it, as often as they cost half of
        what the other iterations do, and the steps between take half of it; see `SnapshotSearch`.
        The best point on the whole sum is the answer then.
    q : int or Schedule
        Directions of the two terms; by default as in `szoht`.
    snapshot_q : int or Schedule
        Directions of the snapshot, whose noise is the floor of the method; by default 10 q.
        Without ``step_size`` they are orthogonal, at most d, and so few that an eighth of the
        budget pays for them.
    every : int
        Iterations between snapshots, >= 1; by default so many that those between cost a quarter of
        a snapshot, or 10 if ``step_size`` is given.
    batch_size : int
        Components of an iteration, in [1, n_samples]; by default 32, at most a quarter of them, or
        1 if ``step_size`` is given.
    mu, support_size, orthogonal
        As in `szoht`. Without ``step_size``, d / 10 directions or more are orthogonal.
    snapshot : Estimator
        Another estimator for the snapshot, such as `Coordinate`; ``snapshot_q`` is not used then.
    iterate : {"last", "best", "average", "random"}
        Which point is returned.
    d : int
        The dimension, needed only to choose ``q``.
    max_queries, n_samples : int
        The budget and the components, filled in by `minimize`; used without ``step_size`` only.

    Warns
    -----
    NoGainWarning
        If the budget is so small, or the batch so large a part of the sum, that `szoht` may do
        as well (docs/variance.md has the figures).

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
    if step_size is None:
        inner = orthogonal_if_many(inner, d)
    if snapshot is None:
        snapshot = _snapshot(inner, snapshot_q)
        if step_size is None and snapshot_q is None:
            snapshot = affordable(snapshot, d, max_queries, n_samples)
    pace = pick_pace(
        inner,
        snapshot,
        every=every,
        batch_size=batch_size,
        d=d,
        n_samples=n_samples,
        fixed_step=step_size is not None,
    )
    if step_size is None:
        warn_of_loss("vr_szht", inner, pace, max_queries, n_samples)
    estimator = SVRG(estimator=inner, snapshot=snapshot, every=pace.every)
    sampler = Snapshots(every=pace.every, size=pace.batch_size)
    update = _update(operator, step_size, pace)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )


def sarah_szht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    q: Scheduled | None = None,
    snapshot_q: Scheduled | None = None,
    every: int | None = None,
    batch_size: int | None = None,
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
    if step_size is None:
        inner = orthogonal_if_many(inner, d)
    if snapshot is None:
        snapshot = _snapshot(inner, snapshot_q)
        if step_size is None and snapshot_q is None:
            snapshot = affordable(snapshot, d, max_queries, n_samples)
    pace = pick_pace(
        inner,
        snapshot,
        every=every,
        batch_size=batch_size,
        d=d,
        n_samples=n_samples,
        fixed_step=step_size is not None,
    )
    if step_size is None:
        warn_of_loss("sarah_szht", inner, pace, max_queries, n_samples)
    estimator = SARAH(estimator=inner, snapshot=snapshot, every=pace.every)
    sampler = Snapshots(every=pace.every, size=pace.batch_size)
    update = _update(operator, step_size, pace)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )


def saga_szht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    q: Scheduled | None = None,
    initial_q: Scheduled | None = None,
    batch_size: int | None = None,
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
    k, constraint, step_size, mu, support_size, orthogonal, iterate, d, max_queries, n_samples
        As in `vr_szht`.
    q : int or Schedule
        Directions of the two terms; by default as in `szoht`, and without ``step_size`` so many
        that the mean of the table is not mostly noise (n small, d large).
    initial_q : int or Schedule
        Directions per component when the table is filled; by default q.
    batch_size : int
        p, the components of an iteration, in [1, n_samples]; by default as in `vr_szht`.

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
    if q is None and step_size is None and d is not None and n_samples is not None:
        q = table_directions(operator, d, n_samples)
    inner = pick_sphere(operator, q=q, mu=mu, support_size=support_size, d=d, orthogonal=orthogonal)
    if step_size is None:
        inner = orthogonal_if_many(inner, d)
    initial = inner if initial_q is None else replace(inner, q=initial_q)
    if step_size is None and initial_q is None:
        initial = affordable(inner, d, max_queries, n_samples)
    pace = pick_pace(
        inner,
        initial,
        every=None,
        batch_size=batch_size,
        d=d,
        n_samples=n_samples,
        fixed_step=step_size is not None,
    )
    if step_size is None:
        warn_of_loss("saga_szht", inner, pace, max_queries, n_samples)
        warn_of_slow_table(operator, n_samples)
    estimator = MemoryTable(estimator=inner, initial=initial)
    sampler = Snapshots(size=pace.batch_size)
    update = _update(operator, step_size, pace)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )


def _snapshot(inner: Sphere, q: Scheduled | None) -> Sphere:
    if q is None:
        if callable(inner.q):
            raise ParameterError("`snapshot_q` must be given when `q` is a schedule; got None.")
        q = int(10 * inner.q)
    return replace(inner, q=q)


def _update(
    operator: Operator, step_size: Scheduled | None, pace: Pace
) -> ForwardBackward | SnapshotSearch:
    if step_size is None:
        return SnapshotSearch(operator=operator, every=pace.search_every)
    return ForwardBackward(operator=operator, step_size=step_size)
