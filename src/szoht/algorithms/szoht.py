"""SZOHT: stochastic zeroth-order hard thresholding."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_operator, pick_sphere, pick_update
from szoht.operators import Operator
from szoht.samplers import Full, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice

__all__ = ["szoht"]


def szoht(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    q: Scheduled | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    support_size: int | None = None,
    central: bool = False,
    orthogonal: bool = False,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
    d: int | None = None,
) -> Composite:
    """Zeroth-order gradients along random directions, then the k largest entries.

    ``x_{t+1} = H_k(x_t - eta ghat_t)`` with
    ``ghat_t = (d / q) sum_i [f(x_t + mu u_i) - f(x_t)] / mu * u_i``, where each u_i is a unit
    vector on its own random support (`Sphere`) and H_k keeps the k largest magnitudes (`Sparse`).

    Parameters
    ----------
    k : int
        Non-zeros to keep, in [1, d]; short for ``constraint=Sparse(k)``.
    constraint : Operator
        Another set or penalty in place of ``Sparse(k)``.
    q : int or Schedule
        Directions per iteration; by default ``ceil(3 k (1 + log(d / k)))``, at most d.
    mu : float or Schedule
        Radius of a difference, > 0; directions have unit length. By default 1e-6, or 1e-4 if
        central, and longer where f is found to be noisy, see `ChosenRadius`.
    step_size : float or Schedule
        eta, > 0; by default found by line search, see `LineSearch`.
    support_size : int
        Coordinates that one direction moves, in [1, d]; by default all, at most 100,000.
    central, orthogonal : bool
        Central differences; orthonormal groups of directions; see `Sphere`.
    sampler : Sampler
        Samples a stochastic objective, once per iteration.
    iterate : {"best", "last", "average", "random"}
        Which point is returned, see `Composite`.
    d : int
        The dimension, needed only to choose ``q``.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht import minimize
    >>> target = np.zeros(100)
    >>> target[[3, 50]] = [1.0, -2.0]
    >>> result = minimize(
    ...     lambda x: float(((x - target) ** 2).sum()),
    ...     np.zeros(100),
    ...     method=szoht(k=2, q=20, mu=1e-6, step_size=0.2),
    ...     max_queries=1000,
    ...     rng=0,
    ... )
    >>> result.support
    array([ 3, 50])

    Notes
    -----
    Costs q + 1 queries per iteration (2 q if central), 3 more with line search, and 7 for the
    noise test if no ``mu`` is given; memory O(q support_size + d). The paper returns the last
    iterate and leaves eta to the user; here the best measured iterate is the default, and eta is
    searched for if not given. Where the constraint has bounds and a direction would leave them,
    the estimate is made around a base point moved inside, for one more query (`WithinBounds`); the
    paper probes beyond them.

    References
    ----------
    de Vazelhes, Zhang, Wu, Yuan, Gu, Zeroth-Order Hard-Thresholding: Gradient Error vs.
    Expansivity, NeurIPS 2022, Algorithm 1.
    """
    operator = pick_operator(k, constraint)
    estimator = pick_sphere(
        operator,
        q=q,
        mu=mu,
        support_size=support_size,
        d=d,
        central=central,
        orthogonal=orthogonal,
    )
    update = pick_update(operator, step_size)
    return Composite(
        estimator=estimator,
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )
