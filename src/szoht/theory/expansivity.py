"""How much hard thresholding can drive a point away from a sparse target: Lemma B.4."""

import numpy as np

from szoht.core.validation import check_integer
from szoht.theory.inputs import Count, Real, check_counts, plain, real
from szoht.types import Vector

__all__ = ["expansivity", "relaxed_expansivity", "three_point_factor"]


def expansivity(*, d: int, k: Count, k_star: int) -> Real:
    r"""Lemma B.4: the tight factor of hard thresholding, :math:`\|H_k(b)-a\| \le \gamma\|b-a\|`.

    .. math:: \gamma^2 = 1 + \frac{\beta + \sqrt{(4+\beta)\beta}}{2}, \quad
              \beta = \frac{\min(k^*, d-k)}{k - k^* + \min(k^*, d-k)}

    Parameters
    ----------
    d : int >= 1
        Dimension.
    k : int in [k_star, d], or an integer array of such
        Coordinates kept.
    k_star : int in [1, d]
        Non-zeros of ``a``.

    Examples
    --------
    Keeping one coordinate: the golden ratio. Keeping all of them: no expansion.

    >>> round(expansivity(d=100, k=1, k_star=1), 6), expansivity(d=100, k=100, k_star=1)
    (1.618034, 1.0)

    Notes
    -----
    The supremum is attained: equal entries of ``b`` on ``k`` free coordinates and on those of
    ``a`` that are lost.

    References
    ----------
    Shen and Li, "A tight bound of hard thresholding", Theorem 1.
    """
    d, kept, k_star = _check(d, k, k_star)
    lost = np.minimum(k_star, d - kept)
    free = kept - k_star + lost
    # k = k_star = d keeps everything: 0/0 in the formula, and no expansion.
    return _gamma(np.divide(lost, free, out=np.zeros_like(free), where=free > 0))


def relaxed_expansivity(*, k: Count, k_star: int) -> Real:
    r"""Corollary B.1: the dimension-free factor, :math:`\beta = k^*/k` in :func:`expansivity`.

    It is the :math:`\gamma` of Theorem 1, and equals the tight one when ``k_star <= d - k``.

    Parameters
    ----------
    k : int >= k_star, or an integer array of such
        Coordinates kept.
    k_star : int >= 1
        Non-zeros of the target.

    Examples
    --------
    >>> round(relaxed_expansivity(k=370, k_star=5), 6)
    1.059812
    """
    k_star = check_integer("k_star", k_star, low=1)
    return _gamma(k_star / real(check_counts("k", k, low=k_star)))


def three_point_factor(*, k: Count, k_star: int) -> Real:
    r"""Factor :math:`1-\sqrt{k^*/k}` of the three-point inequality of the l0 ball.

    .. math:: \|H_k(w)-w\|^2 \le \|w-\bar w\|^2 - (1-\sqrt{k^*/k})\,\|H_k(w)-\bar w\|^2

    for every ``k_star``-sparse :math:`\bar w`. The analysis of :mod:`szoht.theory.hybrid`
    rests on it.

    Examples
    --------
    >>> three_point_factor(k=100, k_star=4)
    0.8
    """
    k_star = check_integer("k_star", k_star, low=1)
    return plain(1 - np.sqrt(k_star / real(check_counts("k", k, low=k_star))))


def _gamma(beta: Vector) -> Real:
    return plain(np.sqrt(1 + (beta + np.sqrt((4 + beta) * beta)) / 2))


def _check(d: int, k: Count, k_star: int) -> tuple[int, Vector, int]:
    d = check_integer("d", d, low=1)
    k_star = check_integer("k_star", k_star, low=1, high=d, high_name="d")
    return d, real(check_counts("k", k, low=k_star, high=d, high_name="d")), k_star
