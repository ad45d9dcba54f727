"""Hybrid zeroth-order hard thresholding: more and more directions."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import default_directions, pick_operator
from szoht.algorithms.szoht import szoht
from szoht.core.validation import check_real
from szoht.operators import Operator
from szoht.samplers import Full, Sampler
from szoht.schedules import Geometric, Scheduled
from szoht.types import IterateChoice

__all__ = ["hzo_ht"]


def hzo_ht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    q: int | None = None,
    growth: float = 1.05,
    max_q: float = float("inf"),
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    support_size: int | None = None,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
    d: int | None = None,
) -> Composite:
    """Run SZOHT with geometrically growing numbers of directions.

    ``q_t = min(max_q, ceil(q growth^t))``, ``x_{t+1} = H_k(x_t - eta ghat_t)``. The noise of the
    estimate falls as fast as the error does, so the error floor of a constant q disappears.

    Parameters
    ----------
    k, constraint, mu, step_size, support_size, sampler, iterate, d
        As in `szoht`.
    q : int
        Directions in the first iteration; by default a third of what `szoht` takes.
    growth : float
        Ratio of successive numbers of directions, >= 1; 1 / (1 - 1 / (8 alpha kappa)) in theory,
        1.02 to 1.1 in practice. ``szoht.theory`` has the published schedule.
    max_q : float
        Upper limit of q_t.

    Notes
    -----
    Costs q_t + 1 queries in iteration t, 3 more with line search. The schedule is
    `Geometric`, which every method takes for its ``q``.

    References
    ----------
    de Vazelhes, Yuan, Gu, Optimization over sparse support-preserving sets: two-step projection
    with global optimality guarantees, ICML 2025.
    """
    check_real("growth", growth, low=1)
    operator = pick_operator(k, constraint)
    start = q if q is not None else max(1, default_directions(d, operator) // 3)
    return szoht(
        constraint=operator,
        q=Geometric(start=start, ratio=growth, high=max_q),
        mu=mu,
        step_size=step_size,
        support_size=support_size,
        sampler=sampler,
        iterate=iterate,
        d=d,
    )
