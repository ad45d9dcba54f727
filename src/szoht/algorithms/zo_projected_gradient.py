"""Zeroth-order projected gradient on the l1 ball."""

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_ball, pick_gaussian, pick_update
from szoht.samplers import Full, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice

__all__ = ["zo_projected_gradient"]


def zo_projected_gradient(
    *,
    radius: float | None = None,
    q: Scheduled | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    central: bool = False,
    sampler: Sampler = Full(),
    iterate: IterateChoice | None = None,
    d: int | None = None,
) -> Composite:
    """Project Gaussian zeroth-order gradient steps onto the l1 ball.

    ``x_{t+1} = P_R(x_t - eta G_t)``, P_R the Euclidean projection onto ``||x||_1 <= R``.

    Parameters
    ----------
    radius : float
        R > 0; must be given. The start must lie in the ball.
    q : int or Schedule
        Directions per iteration; by default min(100, d).
    mu : float or Schedule
        Radius of a difference, > 0; a direction is about sqrt(d) long. By default
        1e-6 / sqrt(d), and longer where f is found to be noisy, see `ChosenRadius`.
    step_size : float or Schedule
        eta, > 0; by default found by line search.
    central : bool
        Central differences.
    sampler : Sampler
        Samples a stochastic objective, once per iteration.
    iterate : {"best", "last", "average", "random"}
        Which point is returned.
    d : int
        The dimension, used only to choose ``q``.

    Notes
    -----
    Costs q + 1 queries per iteration, 3 more with line search.

    References
    ----------
    Liu, Li, Chen, Haupt, Amini, Zeroth-order stochastic projected gradient descent for nonconvex
    optimization, GlobalSIP 2018.
    """
    ball = pick_ball(radius)
    return Composite(
        estimator=pick_gaussian(q=q, mu=mu, d=d, central=central),
        update=pick_update(ball, step_size),
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )
