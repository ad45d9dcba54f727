"""Moments of a random unit vector (Lemmas B.1-B.3) and the sphere of estimates (Remark 5)."""

import math
from collections.abc import Sequence

from szoht.core.validation import check_integer, check_vector
from szoht.types import Vector

__all__ = [
    "direction_covariance",
    "estimate_sphere",
    "projection_fourth_moment",
    "projection_mean",
    "projection_mean_bound",
    "projection_second_moment",
    "sphere_integral",
]


def sphere_integral(powers: Sequence[int]) -> float:
    r"""Lemma B.1: the integral of a monomial in squares over the unit sphere of R^d.

    .. math:: \int_{S^d} \prod_i (u_i^2)^{p_i}\,du
              = 2 \frac{\prod_{i=1}^d \Gamma(p_i + 1/2)}{\Gamma(p + d/2)}, \quad p = \sum_i p_i

    Parameters
    ----------
    powers : sequence of int >= 0
        ``p``; its length is the dimension.

    Examples
    --------
    The area of the sphere in R^3 is 4 pi.

    >>> round(sphere_integral([0, 0, 0]), 6)
    12.566371

    Notes
    -----
    The product is printed up to ``n``; it runs over the ``d`` coordinates.
    """
    exponents = [check_integer(f"powers[{i}]", p, low=0) for i, p in enumerate(powers)]
    d = check_integer("len(powers)", len(exponents), low=1)
    logarithm = sum(math.lgamma(p + 0.5) for p in exponents) - math.lgamma(sum(exponents) + d / 2)
    return 2.0 * math.exp(logarithm)


def projection_mean_bound(*, d: int, size: int) -> float:
    r"""Lemma B.2: :math:`E\|u_F\| \le \sqrt{s/d}` for ``u`` uniform on the unit sphere, |F| = s.

    >>> projection_mean_bound(d=100, size=25)
    0.5
    """
    return math.sqrt(projection_second_moment(d=d, size=size))


def projection_mean(*, d: int, size: int) -> float:
    r"""Exact value behind the first line of Lemma B.2.

    .. math:: E\|u_F\| = \frac{\Gamma((s+1)/2)\,\Gamma(d/2)}{\Gamma(s/2)\,\Gamma((d+1)/2)}

    >>> round(projection_mean(d=3, size=1), 6)
    0.5
    """
    d, size = _check(d, size)
    top = math.lgamma((size + 1) / 2) + math.lgamma(d / 2)
    return math.exp(top - math.lgamma(size / 2) - math.lgamma((d + 1) / 2))


def projection_second_moment(*, d: int, size: int) -> float:
    r"""Lemma B.2: :math:`E\|u_F\|^2 = s/d`.

    The same value holds for directions with random supports of any size.

    >>> projection_second_moment(d=10, size=3)
    0.3
    """
    d, size = _check(d, size)
    return size / d


def projection_fourth_moment(*, d: int, size: int) -> float:
    r"""Lemma B.2: :math:`E\|u_F\|^4 = \frac{(s+2)s}{(d+2)d}` for ``u`` on the whole sphere.

    >>> projection_fourth_moment(d=4, size=2)
    0.3333333333333333
    """
    d, size = _check(d, size)
    return (size + 2) * size / ((d + 2) * d)


def direction_covariance(*, d: int) -> float:
    r"""Lemma B.3: the ``c`` of :math:`E[u u^T] = c I`, that is ``1/d``.

    It is ``1/d`` for every support size, which is why the estimator's factor is always ``d``.

    >>> direction_covariance(d=8)
    0.125
    """
    return 1.0 / check_integer("d", d, low=1)


def estimate_sphere(gradient: Vector) -> tuple[Vector, float]:
    r"""Remark 5: centre and radius of the sphere that carries the one-direction estimates.

    .. math:: \|d \langle g, u\rangle u - \tfrac d2 g\| = \tfrac d2 \|g\|

    It holds for full supports as the smoothing radius tends to 0.

    Parameters
    ----------
    gradient : array of shape (d,)
        The true gradient ``g``.

    Examples
    --------
    >>> centre, radius = estimate_sphere([3.0, 0.0, 4.0])
    >>> centre.tolist(), radius
    ([4.5, 0.0, 6.0], 7.5)
    """
    vector = check_vector("gradient", gradient)
    centre = 0.5 * vector.size * vector
    return centre, float((centre @ centre) ** 0.5)


def _check(d: int, size: int) -> tuple[int, int]:
    d = check_integer("d", d, low=1)
    return d, check_integer("size", size, low=1, high=d, high_name="d")
