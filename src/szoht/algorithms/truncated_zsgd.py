"""Truncated-ZSGD: Gaussian smoothing, then the k largest entries."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import default_directions, pick_gaussian, pick_operator, pick_update
from szoht.operators import Operator
from szoht.samplers import Full, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice

__all__ = ["truncated_zsgd"]


def truncated_zsgd(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    q: Scheduled | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    central: bool = False,
    sampler: Sampler = Full(),
    iterate: IterateChoice = "average",
    d: int | None = None,
) -> Composite:
    """Gaussian zeroth-order gradients, then the k largest entries.

    ``x_{t+1} = H_k(x_t - gamma_t [f(x_t + mu u) - f(x_t)] / mu * u)`` with ``u ~ N(0, I)``.

    Parameters
    ----------
    k : int
        Non-zeros to keep, in [1, d]; short for ``constraint=Sparse(k)``.
    constraint : Operator
        Another set or penalty in place of ``Sparse(k)``.
    q : int or Schedule
        Directions per iteration. The paper uses 1, with a step size that needs to know the
        smoothness of f; by default ``ceil(3 k (1 + log(d / k)))``, at most d, which a line search
        can work with.
    mu : float or Schedule
        Radius of a difference, > 0; a direction is about sqrt(d) long. By default
        1e-6 / sqrt(d), or 1e-4 / sqrt(d) if central, and longer where f is found to be noisy,
        see `ChosenRadius`.
    step_size : float or Schedule
        gamma, > 0; by default found by line search, see `LineSearch`.
    central : bool
        Central differences.
    sampler : Sampler
        Samples a stochastic objective, once per iteration.
    iterate : {"average", "last", "best", "random"}
        Which point is returned. The paper returns the average, which is in general not sparse;
        here it is projected onto the constraint.
    d : int
        The dimension, needed only to choose ``q``.

    Notes
    -----
    Costs q + 1 queries per iteration (2 q if central), 3 more with line search.

    References
    ----------
    Balasubramanian and Ghadimi, Zeroth-order (non)-convex stochastic optimization via conditional
    gradient and gradient updates, NeurIPS 2018, Algorithm 5.
    """
    operator = pick_operator(k, constraint)
    return Composite(
        estimator=pick_gaussian(
            q=default_directions(d, operator) if q is None else q, mu=mu, d=d, central=central
        ),
        update=pick_update(operator, step_size),
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )
