"""Corollaries 1 and 2: enough directions, enough coordinates, and the number of queries."""

import math

import numpy as np

from szoht.core.validation import check_integer, check_real
from szoht.errors import ParameterError
from szoht.theory.convergence import contraction
from szoht.theory.inputs import Real, Regularity, Setting, Version, check_version, plain, real

__all__ = [
    "corollary_contraction",
    "corollary_iterations",
    "iterations_to",
    "queries_to",
    "query_complexity",
    "sufficient_k",
    "sufficient_q",
    "sufficient_q_smooth",
    "unit_excess_q",
]


def unit_excess_q(*, d: int, size: int, support_size: int) -> float:
    r"""Proof of Corollary 1: the real ``q`` at which :math:`\varepsilon_F = 3`.

    .. math:: q' = \frac{2d}{s_2+2}\Big(\frac{(s-1)(s_2-1)}{d-1}+3\Big)

    Parameters
    ----------
    d : int >= 2
        Dimension.
    size : int in [1, d]
        ``s = 2 k + k_star``.
    support_size : int in [1, d]
        Non-zeros of each direction.

    Examples
    --------
    >>> round(unit_excess_q(d=5000, size=1005, support_size=5000), 3)
    2013.195
    """
    d = check_integer("d", d, low=2)
    size = check_integer("size", size, low=1, high=d, high_name="d")
    support_size = check_integer("support_size", support_size, low=1, high=d, high_name="d")
    return 2 * d / (support_size + 2) * ((size - 1) * (support_size - 1) / (d - 1) + 3)


def sufficient_q(*, d: int, k: int, k_star: int, support_size: int) -> int:
    r"""Corollary 1: enough directions, :math:`q \ge 2s + 6 d/s_2` with :math:`s = 2k + k^*`.

    Then :math:`\varepsilon_F \le 3`.

    Parameters
    ----------
    d : int >= 3
        Dimension.
    k : int in [k_star, d] with ``2 k + k_star <= d``
        Coordinates kept.
    k_star : int in [1, d]
        Sparsity of the target.
    support_size : int in [1, d]
        Non-zeros of each direction.

    Examples
    --------
    >>> sufficient_q(d=5000, k=500, k_star=5, support_size=50)
    2610
    """
    setting = Setting(d=d, k=k, k_star=k_star, q=1, support_size=support_size)
    return 2 * int(setting.union_size) + math.ceil(6 * setting.d / setting.support_size)


def sufficient_q_smooth(*, k: int, k_star: int) -> int:
    r"""Corollary 2: enough directions with full supports, :math:`q \ge 2(s+2)`; no ``d`` in it.

    Parameters
    ----------
    k : int >= k_star
        Coordinates kept.
    k_star : int >= 1
        Sparsity of the target.

    Examples
    --------
    >>> sufficient_q_smooth(k=500, k_star=5)
    2014
    """
    k_star = check_integer("k_star", k_star, low=1)
    return 2 * (2 * check_integer("k", k, low=k_star) + k_star + 2)


def sufficient_k(*, k_star: int, kappa: float, version: Version = "corrected") -> int:
    r"""Corollaries 1 and 2: enough coordinates, with the margin of 2 that the proof takes.

    .. math:: k \ge 2 \cdot 13\kappa^2(13\kappa^2 - 1)\,k^* = (338\kappa^4 - 26\kappa^2)\,k^*

    Parameters
    ----------
    k_star : int >= 1
        Sparsity of the target.
    kappa : float >= 1
        Condition number.
    version : {"corrected", "paper"}
        The paper prints :math:`(86\kappa^4 - 12\kappa^2)k^*`, from a rho with a spurious factor 2.
        With the theorem's own rho even the margin of 1 needs ``13 kappa^2 (13 kappa^2 - 1)``.

    Examples
    --------
    >>> sufficient_k(k_star=1, kappa=1.0), sufficient_k(k_star=1, kappa=1.0, version="paper")
    (312, 74)
    """
    k_star = check_integer("k_star", k_star, low=1)
    square = check_real("kappa", kappa, low=1.0) ** 2
    if check_version(version):
        return math.ceil(2 * 13 * square * (13 * square - 1) * k_star)
    return math.ceil((86 * square**2 - 12 * square) * k_star)


def corollary_contraction(*, kappa: float, version: Version = "corrected") -> float:
    r"""Proof of Corollary 1: bound of :math:`\gamma\rho` at :func:`sufficient_k`, enough ``q``.

    .. math:: (\gamma\rho)^2 \le 1 - \frac{1 - 1/\sqrt2}{13\kappa^2}

    The paper's version has twice that gap.

    Examples
    --------
    >>> round(corollary_contraction(kappa=1.0), 5)
    0.98867
    """
    gap = 1.0 if check_version(version) else 2.0
    square = check_real("kappa", kappa, low=1.0) ** 2
    return math.sqrt(1 - gap * (1 - math.sqrt(0.5)) / (13 * square))


def corollary_iterations(
    *, kappa: float, distance: float, accuracy: float, version: Version = "corrected"
) -> int:
    r"""Proof of Corollary 1: iterations after which the transient is below ``accuracy``.

    .. math:: t \ge 104\,\kappa^2 \log(\|x_0 - x^*\| / \varepsilon)

    Parameters
    ----------
    kappa : float >= 1
        Condition number.
    distance, accuracy : float > 0
        :math:`\|x_0-x^*\|` and :math:`\varepsilon`.
    version : {"corrected", "paper"}
        The paper prints :math:`52\kappa^2\log(1/\varepsilon)\log\|x_0-x^*\|`: the spurious factor
        2 in rho, and a product of logarithms for the logarithm of a product. Its value is 0
        when the distance is 1 or less.

    Examples
    --------
    >>> corollary_iterations(kappa=1.0, distance=1.0, accuracy=0.1)
    240
    """
    square = check_real("kappa", kappa, low=1.0) ** 2
    distance, accuracy = _check_target(distance, accuracy)
    if check_version(version):
        return max(0, math.ceil(104 * square * math.log(distance / accuracy)))
    return max(0, math.ceil(52 * square * math.log(1 / accuracy) * math.log(distance)))


def query_complexity(
    *,
    d: int,
    k: int,
    k_star: int,
    kappa: float,
    support_size: int,
    distance: float,
    accuracy: float,
    version: Version = "corrected",
) -> int:
    r"""Corollaries 1 and 2: queries until the transient is below ``accuracy``.

    .. math:: (q + 1) \cdot 104\,\kappa^2\log(\|x_0-x^*\|/\varepsilon)
              = O\big((k + d/s_2)\,\kappa^2\log(1/\varepsilon)\big)

    with ``q`` of Corollary 2 when ``support_size = d`` and of Corollary 1 otherwise.

    Parameters
    ----------
    d, k, k_star, support_size
        As in :func:`sufficient_q`; ``k`` at least :func:`sufficient_k`.
    kappa, distance, accuracy
        As in :func:`corollary_iterations`.
    version : {"corrected", "paper"}
        The paper counts ``q`` queries per iteration and not the base point; the ends of its
        proofs print ``kappa`` for ``kappa^2``.

    Examples
    --------
    >>> query_complexity(d=5000, k=1560, k_star=5, kappa=1.0, support_size=5000,
    ...                  distance=1.0, accuracy=0.1)
    1501200
    """
    q = sufficient_q(d=d, k=k, k_star=k_star, support_size=support_size)
    if support_size == d:
        q = sufficient_q_smooth(k=k, k_star=k_star)
    least = sufficient_k(k_star=k_star, kappa=kappa, version=version)
    if k < least:
        raise ParameterError(f"`k` must be at least {least} for the corollaries; got k={k}.")
    iterations = corollary_iterations(
        kappa=kappa, distance=distance, accuracy=accuracy, version=version
    )
    return iterations * (q + 1 if check_version(version) else q)


def iterations_to(
    setting: Setting,
    regularity: Regularity,
    *,
    distance: float,
    accuracy: float,
    version: Version = "corrected",
) -> Real:
    r"""Theorem 1: iterations until :math:`(\gamma\rho)^t\|x_0-x^*\| \le \varepsilon`.

    .. math:: t = \lceil \log(\|x_0-x^*\|/\varepsilon) / \log(1/(\gamma\rho)) \rceil

    Infinite when :math:`\gamma\rho \ge 1` and the start is not within ``accuracy``.

    Parameters
    ----------
    setting, regularity
        As in :func:`~szoht.theory.contraction`.
    distance, accuracy : float > 0
        :math:`\|x_0-x^*\|` and :math:`\varepsilon`.
    version : {"corrected", "paper"}
        "paper" takes the corollaries' rho and the product of logarithms.

    Examples
    --------
    >>> setting = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)
    >>> iterations_to(setting, Regularity(), distance=1.0, accuracy=0.1)
    59.0
    """
    distance, accuracy = _check_target(distance, accuracy)
    factor = real(contraction(setting, regularity, version=version))
    if distance <= accuracy:
        return plain(np.zeros_like(factor))
    target = math.log(distance / accuracy)
    if not check_version(version):
        target = max(0.0, math.log(1 / accuracy) * math.log(distance))
    rate = np.where(factor < 1, -np.log(np.minimum(factor, 1.0)), 0.0)
    return plain(np.ceil(np.divide(target, rate, out=np.full(rate.shape, np.inf), where=rate > 0)))


def queries_to(
    setting: Setting,
    regularity: Regularity,
    *,
    distance: float,
    accuracy: float,
    version: Version = "corrected",
) -> Real:
    r"""Theorem 1: :func:`iterations_to` times ``q + 1`` queries, the base point included.

    The paper counts ``q`` per iteration.

    >>> setting = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)
    >>> queries_to(setting, Regularity(), distance=1.0, accuracy=0.1)
    1770059.0
    """
    base = 1 if check_version(version) else 0
    iterations = iterations_to(
        setting, regularity, distance=distance, accuracy=accuracy, version=version
    )
    return plain(iterations * (real(setting.q) + base))


def _check_target(distance: float, accuracy: float) -> tuple[float, float]:
    distance = check_real("distance", distance, low=0.0, open_low=True)
    return distance, check_real("accuracy", accuracy, low=0.0, open_low=True)
