"""What adding ``weight / 2 |x|^2`` to f does to its constants and to its sparse minimizer."""

import math

from szoht.core.validation import check_real
from szoht.theory.inputs import Regularity

__all__ = ["regularized", "regularizing_weight", "shift_bound"]


def regularized(regularity: Regularity, *, weight: float) -> Regularity:
    r"""Return the constants of :math:`f + \frac\lambda2\|x\|^2`: both grow by :math:`\lambda`.

    .. math:: L \to L + \lambda, \quad \nu \to \nu + \lambda, \quad
              \kappa \to \frac{L + \lambda}{\nu + \lambda}

    Parameters
    ----------
    regularity : Regularity
        Of f.
    weight : float >= 0
        :math:`\lambda`.

    Examples
    --------
    >>> regularized(Regularity(smoothness=10.0, convexity=1.0), weight=2.0).kappa
    4.0

    Notes
    -----
    The gradient of the term is :math:`\lambda x`, which is smooth and strongly convex with the
    constant :math:`\lambda` on every support.
    """
    weight = check_real("weight", weight, low=0.0)
    return Regularity(
        smoothness=regularity.smoothness + weight, convexity=regularity.convexity + weight
    )


def regularizing_weight(regularity: Regularity, *, kappa: float) -> float:
    r"""Return the smallest :math:`\lambda` with which the condition number is at most ``kappa``.

    .. math:: \lambda = \max\Big(0, \frac{L - \kappa\nu}{\kappa - 1}\Big)

    Infinite for ``kappa = 1``, unless L = nu.

    Parameters
    ----------
    regularity : Regularity
        Of f.
    kappa : float >= 1
        The condition number wanted.

    Examples
    --------
    >>> regularizing_weight(Regularity(smoothness=10.0, convexity=1.0), kappa=4.0)
    2.0
    """
    kappa = check_real("kappa", kappa, low=1.0)
    missing = regularity.smoothness - kappa * regularity.convexity
    if missing <= 0:
        return 0.0
    return missing / (kappa - 1) if kappa > 1 else math.inf


def shift_bound(regularity: Regularity, *, weight: float, norm: float) -> float:
    r"""Bound of the distance that :math:`\frac\lambda2\|x\|^2` moves the sparse minimizer.

    .. math:: \|x_\lambda - x^*\| \le \frac{2\lambda}{\nu + \lambda}\|x^*\|

    Parameters
    ----------
    regularity : Regularity
        Of f.
    weight : float >= 0
        :math:`\lambda`.
    norm : float >= 0
        :math:`\|x^*\|`.

    Examples
    --------
    >>> shift_bound(Regularity(convexity=1.0), weight=0.25, norm=5.0)
    2.0

    Notes
    -----
    Ours. It is for the case in which the theorem has no system error, :math:`\nabla f(x^*) = 0`
    (Remark 2). Let :math:`\delta = x_\lambda - x^*`, which is sparse. Then :math:`f(x_\lambda) \ge
    f(x^*) + \frac\nu2\|\delta\|^2`, and :math:`x_\lambda` is no worse than :math:`x^*` on the
    regularized function, so :math:`\nu\|\delta\|^2 \le \lambda(\|x^*\|^2 - \|x_\lambda\|^2) =
    -2\lambda\langle x^*, \delta\rangle - \lambda\|\delta\|^2`. On one support, or without the
    constraint, both gradients vanish and the 2 is a 1.
    """
    weight = check_real("weight", weight, low=0.0)
    norm = check_real("norm", norm, low=0.0)
    return 2 * weight / (regularity.convexity + weight) * norm
