"""ZSCG: zeroth-order conditional gradient on the l1 ball, in its two published variants."""

from typing import Literal, TypeAlias, get_args

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_ball, pick_gaussian
from szoht.core.validation import check_choice
from szoht.samplers import Full, Sampler
from szoht.schedules import OpenLoop, Scheduled
from szoht.types import IterateChoice
from szoht.updates import AcceleratedConditionalGradient, FrankWolfe

__all__ = ["zscg"]

Variant: TypeAlias = Literal["frank-wolfe", "accelerated"]


def zscg(
    *,
    radius: float | None = None,
    variant: Variant = "frank-wolfe",
    q: Scheduled | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    smoothness: float = 1.0,
    distance: float | None = None,
    horizon: int = 100,
    sampler: Sampler = Full(),
    iterate: IterateChoice = "last",
    d: int | None = None,
) -> Composite:
    """Move towards vertices of the l1 ball that Gaussian zeroth-order gradients point out.

    "frank-wolfe": ``x_{t+1} = (1 - a_t) x_t + a_t v_t``, ``v_t = argmin_{||u||_1 <= R} <G_t, u>``.
    "accelerated": an accelerated gradient method whose projections are conditional-gradient
    loops, see `AcceleratedConditionalGradient`. G_t is the mean over q Gaussian directions.

    Parameters
    ----------
    radius : float
        R > 0; must be given. The start must lie in the ball.
    variant : {"frank-wolfe", "accelerated"}
        Algorithm 1, or Algorithm 3 of the reference.
    q : int or Schedule
        Directions per iteration; by default min(100, d).
    mu : float or Schedule
        Radius of a difference, > 0; a direction is about sqrt(d) long. By default
        1e-6 / sqrt(d), and longer where f is found to be noisy, see `ChosenRadius`.
    step_size : float or Schedule
        a_t in (0, 1] of the first variant; 2 / (t + 2) by default. The reference has 6 / (t + 5)
        for convex and 1 / sqrt(N) for other functions.
    smoothness, distance, horizon
        L, D0 >= ||x0 - x*||^2 (by default (2 R)^2) and N of the second variant.
    sampler : Sampler
        Samples a stochastic objective, once per iteration.
    iterate : {"last", "best", "random", "average"}
        Which point is returned.
    d : int
        The dimension, used only to choose ``q``.

    Notes
    -----
    Costs q + 1 queries per iteration. From a start of 0, the first variant has at most t
    non-zeros after t iterations; from a dense start it stays dense.

    References
    ----------
    Balasubramanian and Ghadimi, Zeroth-order (non)-convex stochastic optimization via conditional
    gradient and gradient updates, NeurIPS 2018, Algorithms 1 and 3.
    """
    check_choice("variant", variant, get_args(Variant))
    ball = pick_ball(radius)
    if variant == "frank-wolfe":
        step = OpenLoop() if step_size is None else step_size
        update: FrankWolfe | AcceleratedConditionalGradient = FrankWolfe(
            operator=ball, step_size=step
        )
    else:
        update = AcceleratedConditionalGradient(
            operator=ball,
            smoothness=smoothness,
            distance=(2 * ball.radius) ** 2 if distance is None else distance,
            horizon=horizon,
        )
    return Composite(
        estimator=pick_gaussian(q=q, mu=mu, d=d),
        update=update,
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )
