"""RSPGF: randomised stochastic projected gradient-free, a proximal method with an l1 penalty."""

import math

from szoht.algorithms.composite import Composite
from szoht.algorithms.defaults import pick_gaussian, pick_update
from szoht.core.validation import check_integer, check_real
from szoht.errors import ParameterError
from szoht.operators import SoftThreshold
from szoht.samplers import Full, Sampler
from szoht.schedules import Scheduled
from szoht.types import IterateChoice

__all__ = ["rspgf", "rspgf_setting"]


def rspgf(
    *,
    penalty: float = 0.0,
    q: Scheduled | None = None,
    mu: Scheduled | None = None,
    step_size: Scheduled | None = None,
    central: bool = False,
    sampler: Sampler = Full(),
    iterate: IterateChoice = "last",
    d: int | None = None,
) -> Composite:
    """Take proximal steps for f + penalty ||x||_1 along Gaussian zeroth-order gradients.

    ``x_{t+1} = soft(x_t - gamma G_t, gamma penalty)`` with
    ``G_t = (1/q) sum_j [f(x_t + mu u_j) - f(x_t)] / mu * u_j``, ``u_j ~ N(0, I)``.

    Parameters
    ----------
    penalty : float
        Weight of the l1 norm, >= 0.
    q : int or Schedule
        Directions per iteration, the batch m of the paper; by default min(100, d).
    mu : float or Schedule
        Radius, > 0; a direction is about sqrt(d) long. By default 1e-6 / sqrt(d), and longer where
        f is found to be noisy, see `ChosenRadius`.
    step_size : float or Schedule
        gamma, > 0; 1 / (2 L) in theory; by default found by line search.
    central : bool
        Central differences.
    sampler : Sampler
        Samples a stochastic objective, once per iteration; shared by its directions.
    iterate : {"last", "best", "random", "average"}
        The paper returns an iterate drawn uniformly (for constant steps).
    d : int
        The dimension, used only to choose ``q``.

    Notes
    -----
    Costs q + 1 queries per iteration, 3 more with line search. ``rspgf(**rspgf_setting(...))`` is
    the setting of the theory.

    References
    ----------
    Ghadimi, Lan, Zhang, Mini-batch stochastic approximation methods for nonconvex stochastic
    composite optimization, Mathematical Programming 2016.
    """
    operator = SoftThreshold(penalty)
    return Composite(
        estimator=pick_gaussian(q=q, mu=mu, d=d, central=central),
        update=pick_update(operator, step_size),
        sampler=sampler,
        iterate=iterate,
        choose_radius=mu is None,
    )


def rspgf_setting(
    *,
    d: int,
    smoothness: float,
    budget: int,
    distance: float,
    gradient_bound: float,
    sigma: float = 0.0,
) -> dict[str, float]:
    """Return ``q``, ``mu`` and ``step_size`` of RSPGF as its theory sets them.

    ``gamma = 1 / (2 L)``, ``mu = D / sqrt((d + 4) N)``,
    ``q = ceil(min(max(sqrt((d + 4) (M^2 + sigma^2) N) / (L D), d + 4), N))``.

    Parameters
    ----------
    d : int
        Dimension, >= 1.
    smoothness : float
        L, > 0.
    budget : int
        N, the queries at hand, >= 1.
    distance : float
        D > 0 with D^2 = (Psi(x0) - Psi*) / L, where Psi = f + penalty.
    gradient_bound : float
        M >= 0, a bound on the gradient's norm.
    sigma : float
        Standard deviation of the stochastic gradient, >= 0.

    Examples
    --------
    >>> setting = rspgf_setting(
    ...     d=96, smoothness=2.0, budget=10_000, distance=1.0, gradient_bound=0.1
    ... )
    >>> setting["q"], setting["step_size"]
    (100, 0.25)
    """
    check_integer("d", d, low=1)
    check_integer("budget", budget, low=1)
    check_real("smoothness", smoothness, low=0, open_low=True)
    check_real("distance", distance, low=0, open_low=True)
    check_real("gradient_bound", gradient_bound, low=0)
    check_real("sigma", sigma, low=0)
    noise = math.sqrt((d + 4) * (gradient_bound**2 + sigma**2) * budget) / (smoothness * distance)
    q = math.ceil(min(max(noise, d + 4), budget))
    if q + 1 > budget:
        raise ParameterError(
            f"`budget` must pay for one batch of {q + 1} queries; got budget={budget}. The theory "
            "asks for at least d + 5 queries per iteration."
        )
    return {"q": q, "mu": distance / math.sqrt((d + 4) * budget), "step_size": 1 / (2 * smoothness)}
