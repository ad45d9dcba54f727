"""SZOHT with momentum."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_operator, pick_sphere
from szoht.operators import Operator
from szoht.samplers import Full, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice
from szoht.updates import Momentum

__all__ = ["momentum_szoht"]


def momentum_szoht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled = 0.1,
    beta: float = 0.9,
    q: Scheduled | None = None,
    mu: Scheduled | None = None,
    support_size: int | None = None,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
    d: int | None = None,
) -> Composite:
    """Run SZOHT along an average of past gradient estimates.

    ``m_t = beta m_{t-1} + (1 - beta) ghat_t``, ``x_{t+1} = H_k(x_t - eta m_t / (1 - beta^(t+1)))``.

    Parameters
    ----------
    k, constraint, q, mu, support_size, sampler, iterate, d
        As in `szoht`.
    step_size : float or Schedule
        eta, > 0.
    beta : float
        Weight of the past, in [0, 1).

    Notes
    -----
    Costs q + 1 queries per iteration. Fewer directions do, because the average keeps the past
    ones.

    References
    ----------
    Polyak, Some methods of speeding up the convergence of iteration methods, 1964; the combination
    with zeroth-order hard thresholding is ours.
    """
    operator = pick_operator(k, constraint)
    update = Momentum(operator=operator, step_size=step_size, beta=beta)
    estimator = pick_sphere(operator, q=q, mu=mu, support_size=support_size, d=d)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )
