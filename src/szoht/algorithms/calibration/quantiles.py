"""Quantiles of the distributions that misfits and estimates follow."""

import math

__all__ = ["chi_square_quantile", "student_quantile"]


def chi_square_quantile(freedom: int, p: float) -> float:
    """Return the p-quantile of chi-square with so many degrees of freedom.

    >>> round(chi_square_quantile(1, 0.95), 3)
    3.841
    """
    from scipy.special import chdtri  # noqa: PLC0415  (costs more than the whole import)

    return float(chdtri(freedom, 1 - p))


def student_quantile(freedom: float, p: float) -> float:
    """Return the p-quantile of Student's t; with infinite freedom, of the normal distribution.

    >>> round(student_quantile(math.inf, 0.975), 3)
    1.96
    """
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415  (costs more than the whole import)

    return float(ndtri(p) if math.isinf(freedom) else stdtrit(freedom, p))
