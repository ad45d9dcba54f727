"""ZO-AdaMM under a sparsity constraint: adaptive steps, thresholded in their own norm."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_operator, pick_sphere
from szoht.operators import Operator
from szoht.samplers import Full, Sampler
from szoht.schedules import Polynomial, Scheduled
from szoht.types import IterateChoice
from szoht.updates import Adaptive

__all__ = ["zo_adamm"]


def zo_adamm(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    step_size: Scheduled | None = None,
    beta_mean: float = 0.9,
    beta_square: float = 0.9,
    q: Scheduled | None = None,
    mu: Scheduled | None = None,
    support_size: int | None = None,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
    d: int | None = None,
) -> Composite:
    """Run SZOHT with adaptive steps, thresholding in the norm that the steps are scaled with.

    ``x_{t+1} = H(x_t - eta_t m_t / sqrt(vhat_t))``, where H keeps the k largest
    ``sqrt(vhat_i) y_i^2``; see `Adaptive`.

    Parameters
    ----------
    k, constraint, q, mu, support_size, sampler, iterate, d
        As in `szoht`; the constraint needs ``weighted_prox``.
    step_size : float or Schedule
        eta, > 0, about the distance that a coordinate may move in one iteration; by default
        0.1 / sqrt(t + 1).
    beta_mean, beta_square : float
        Weights of the past, in [0, 1).

    Notes
    -----
    Costs q + 1 queries per iteration. Insensitive to the scale of f.

    References
    ----------
    Chen et al., ZO-AdaMM, NeurIPS 2019; the l0 projection is ours.
    """
    operator = pick_operator(k, constraint)
    step = Polynomial(start=0.1, power=0.5) if step_size is None else step_size
    update = Adaptive(
        operator=operator, step_size=step, beta_mean=beta_mean, beta_square=beta_square
    )
    estimator = pick_sphere(operator, q=q, mu=mu, support_size=support_size, d=d)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )
