"""Hybrid zeroth-order hard thresholding: more directions as the run proceeds, no system error.

The estimate averages geometrically more directions, so that its noise falls as fast as the
distance. Statements of de Vazelhes, Yuan and Gu (ICML 2025), not of the SZOHT paper.
"""

import math

from szoht.core.validation import check_integer, check_real

__all__ = [
    "hybrid_contraction",
    "hybrid_decay",
    "hybrid_directions",
    "hybrid_queries",
    "hybrid_sparsity",
    "hybrid_start",
    "hybrid_step_size",
    "two_step_iterations",
    "two_step_sparsity",
]


def hybrid_decay(*, kappa: float, alpha: float) -> float:
    r"""Rate of the schedule, :math:`\omega = 1 - 1/(8\alpha\kappa)`.

    Parameters
    ----------
    kappa : float >= 1
        Condition number.
    alpha : float > 1
        Damping of the step.

    Examples
    --------
    >>> hybrid_decay(kappa=1.0, alpha=2.0)
    0.9375
    """
    return 1 - 1 / (8 * _check_alpha(alpha) * _check_kappa(kappa))


def hybrid_start(*, kappa: float, alpha: float, direction_factor: float) -> float:
    r"""Directions at the start, :math:`\tau = 16\kappa\varepsilon/(\alpha-1)`.

    Parameters
    ----------
    kappa, alpha
        As in :func:`hybrid_decay`.
    direction_factor : float > 0
        :math:`\varepsilon`, the per-direction variance on ``s`` coordinates: the larger value of
        :func:`~szoht.theory.direction_factors`.

    Examples
    --------
    >>> hybrid_start(kappa=1.0, alpha=2.0, direction_factor=32.0)
    512.0
    """
    factor = check_real("direction_factor", direction_factor, low=0.0, open_low=True)
    return 16 * _check_kappa(kappa) * factor / (_check_alpha(alpha) - 1)


def hybrid_directions(t: int, *, kappa: float, alpha: float, direction_factor: float) -> int:
    r"""Directions at iteration ``t``, :math:`q_t = \lceil \tau/\omega^t \rceil`.

    >>> [hybrid_directions(t, kappa=1.0, alpha=2.0, direction_factor=32.0) for t in (0, 1, 16)]
    [512, 547, 1438]
    """
    t = check_integer("t", t, low=0)
    start = hybrid_start(kappa=kappa, alpha=alpha, direction_factor=direction_factor)
    return math.ceil(start / hybrid_decay(kappa=kappa, alpha=alpha) ** t)


def hybrid_queries(iterations: int, *, kappa: float, alpha: float, direction_factor: float) -> int:
    r"""Count the queries of ``T`` iterations, :math:`\sum_{t<T} (q_t + 1)`, base points included.

    To reach accuracy :math:`\varepsilon` takes :math:`O(k\kappa^3 L/\varepsilon)` of them.

    >>> hybrid_queries(2, kappa=1.0, alpha=2.0, direction_factor=32.0)
    1061
    """
    n = check_integer("iterations", iterations, low=0)
    return n + sum(
        hybrid_directions(t, kappa=kappa, alpha=alpha, direction_factor=direction_factor)
        for t in range(n)
    )


def hybrid_step_size(*, smoothness: float, alpha: float) -> float:
    r"""Step :math:`\eta = 1/(\alpha L)`.

    >>> hybrid_step_size(smoothness=4.0, alpha=2.0)
    0.125
    """
    smooth = check_real("smoothness", smoothness, low=0.0, open_low=True)
    return 1 / (_check_alpha(alpha) * smooth)


def hybrid_sparsity(*, k_star: int, kappa: float, alpha: float) -> int:
    r"""Coordinates to keep, :math:`k \ge 16\alpha^2\kappa^2 k^*`; no fourth power of kappa.

    >>> hybrid_sparsity(k_star=5, kappa=1.0, alpha=2.0)
    320
    """
    k_star = check_integer("k_star", k_star, low=1)
    return math.ceil(16 * (_check_alpha(alpha) * _check_kappa(kappa)) ** 2 * k_star)


def hybrid_contraction(
    *, kappa: float, alpha: float, k: int, k_star: int, q: int, direction_factor: float
) -> float:
    r"""Factor per iteration of the squared distance, from our own derivation.

    .. math:: \frac{\alpha\kappa - 1 + 2\kappa\varepsilon/(q(\alpha-1))}
                   {\alpha\kappa\,(1-\sqrt{k^*/k})}

    Parameters
    ----------
    kappa, alpha, direction_factor
        As in :func:`hybrid_start`.
    k, k_star : int
        Coordinates kept, and sparsity of the target, ``k > k_star >= 1``.
    q : int >= 1
        Directions of the iteration.

    Notes
    -----
    The three-point inequality, smoothness and strong convexity give

    .. math:: 2(f(x^+)-f^*) \le (\alpha L - \nu)D - \alpha L (1-\sqrt{k^*/k})D^+
              + \frac{V}{(\alpha-1)L}

    for the squared distances ``D`` and ``D+`` and the variance ``V`` on the union of supports,
    and :math:`V \le \frac\varepsilon q(2L^2D + 2\|\nabla f(x^*)\|^2)`. At :func:`hybrid_sparsity`
    and :math:`q \ge \tau` the factor is at most :math:`1 - 5/(8\alpha\kappa) < \omega`, so the
    noise at ``x*``, which falls as :math:`\omega^t`, sets the rate. Like Theorem 1, it treats the
    union of supports as if it did not depend on the directions.

    Examples
    --------
    >>> round(hybrid_contraction(kappa=1.0, alpha=2.0, k=320, k_star=5, q=512,
    ...                          direction_factor=32.0), 6)
    0.642857
    """
    kappa, alpha = _check_kappa(kappa), _check_alpha(alpha)
    k_star = check_integer("k_star", k_star, low=1)
    k = check_integer("k", k, low=k_star + 1)
    q = check_integer("q", q, low=1)
    factor = check_real("direction_factor", direction_factor, low=0.0, open_low=True)
    top = alpha * kappa - 1 + 2 * kappa * factor / (q * (alpha - 1))
    return top / (alpha * kappa * (1 - math.sqrt(k_star / k)))


def two_step_sparsity(*, k_star: int, kappa: float, share: float) -> int:
    r"""Coordinates for the two-step projection, :math:`k \ge 4(1-\rho)^2\kappa^2k^*/\rho^2`.

    Parameters
    ----------
    k_star : int >= 1
        Sparsity of the comparison point.
    kappa : float >= 1
        Condition number.
    share : float in (0, 1/2]
        ``rho``: the result is :math:`\min_t f(x_t) \le (1+2\rho) f(\bar x) + \varepsilon` for a
        non-negative ``f``.

    Examples
    --------
    >>> two_step_sparsity(k_star=5, kappa=2.0, share=0.5)
    80
    """
    k_star = check_integer("k_star", k_star, low=1)
    share = check_real("share", share, low=0.0, high=0.5, open_low=True)
    return math.ceil(4 * ((1 - share) * _check_kappa(kappa) / share) ** 2 * k_star)


def two_step_iterations(
    *, smoothness: float, convexity: float, distance: float, accuracy: float, share: float
) -> int:
    r"""Length of a run of gradient hard thresholding, two-step projection, step ``1/L``.

    .. math:: T = \Big\lceil \kappa \log\frac{(L-\nu)\|x_0-\bar x\|^2}{2\varepsilon(1-\rho)}
              \Big\rceil + 1

    Parameters
    ----------
    smoothness, convexity : float > 0
        ``L >= nu``, of order ``2 k``.
    distance, accuracy : float > 0
        :math:`\|x_0-\bar x\|` and :math:`\varepsilon`.
    share : float in (0, 1/2]
        As in :func:`two_step_sparsity`.

    Examples
    --------
    >>> two_step_iterations(smoothness=2.0, convexity=1.0, distance=1.0, accuracy=0.01, share=0.5)
    11
    """
    smooth = check_real("smoothness", smoothness, low=0.0, open_low=True)
    convex = check_real("convexity", convexity, low=0.0, high=smooth, open_low=True)
    distance = check_real("distance", distance, low=0.0, open_low=True)
    accuracy = check_real("accuracy", accuracy, low=0.0, open_low=True)
    share = check_real("share", share, low=0.0, high=0.5, open_low=True)
    ratio = (smooth - convex) * distance**2 / (2 * accuracy * (1 - share))
    if ratio <= 1:
        return 1
    return math.ceil(smooth / convex * math.log(ratio)) + 1


def _check_kappa(kappa: float) -> float:
    return check_real("kappa", kappa, low=1.0)


def _check_alpha(alpha: float) -> float:
    return check_real("alpha", alpha, low=1.0, open_low=True)
