"""Remark 4: how many directions are necessary, and which ``k`` a number of directions allows."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.core.validation import check_integer, check_real
from szoht.errors import ParameterError
from szoht.theory.inputs import Count, Real, Version, check_counts, check_version, plain, real
from szoht.types import Vector

__all__ = [
    "largest_kappa",
    "necessary_q",
    "smallest_d",
    "smallest_q",
    "smallest_q_for",
    "sparsity_range",
]


@dataclass(frozen=True, kw_only=True)
class _RadiusProblem:
    """The constants A, B, C of the proof: 1 / (1 - rho^2) = (A k + B) / q + C."""

    d: int
    k_star: int
    kappa: float
    support_size: int

    def __post_init__(self) -> None:
        d = check_integer("d", self.d, low=3)
        check_integer("k_star", self.k_star, low=1, high=d, high_name="d")
        check_integer("support_size", self.support_size, low=1, high=d, high_name="d")
        check_real("kappa", self.kappa, low=1.0)

    @property
    def slope(self) -> float:
        share = (self.support_size - 1) / (self.d - 1)
        return 16 * self.d * self.kappa**2 * share / (self.support_size + 2)

    @property
    def intercept(self) -> float:
        share = (self.support_size - 1) / (self.d - 1)
        scale = 8 * self.d * self.kappa**2 / (self.support_size + 2)
        return scale * (share * (self.k_star - 1) + 3)

    @property
    def limit(self) -> float:
        return 9 * self.kappa**2

    @property
    def largest_k(self) -> int:
        return (self.d - self.k_star) // 2


def necessary_q(
    *, d: int, k_star: int, kappa: float, support_size: int, version: Version = "corrected"
) -> float:
    r"""Remark 4: a number of directions below which Theorem 1 applies for no ``k``.

    For :math:`s_2 > 1`, with :math:`A = \frac{16 d \kappa^2 (s_2-1)}{(s_2+2)(d-1)}` and
    :math:`C = 9\kappa^2`,

    .. math:: q_{min} = A k^* \Big[2C - 1 + 2\sqrt{C(C-1) + \tfrac12 - \tfrac1{2k^*}
              + \tfrac32 \tfrac{d-1}{k^*(s_2-1)}}\Big]

    and :math:`q_{min} = 8\kappa^2 d / (\sqrt{d/k^*} + 1 - 9\kappa^2)` for :math:`s_2 = 1`.

    Parameters
    ----------
    d : int >= 3
        Dimension.
    k_star : int in [1, d]
        Sparsity of the target.
    kappa : float >= 1
        Condition number.
    support_size : int in [1, d]
        Non-zeros of each direction.
    version : {"corrected", "paper"}
        For ``support_size = 1`` the paper's last step drops ``- 9 kappa^2`` from the denominator,
        which keeps the condition necessary and makes it weak. Corrected, it is infinite when the
        denominator is not positive. For ``support_size > 1`` both versions agree.

    Examples
    --------
    >>> round(necessary_q(d=5000, k_star=5, kappa=1.0, support_size=5000), 1)
    2723.1
    >>> round(necessary_q(d=5000, k_star=5, kappa=1.0, support_size=1))
    1693

    See Also
    --------
    smallest_q : necessary and sufficient, with ``k`` an integer at most ``(d - k_star) / 2``.
    """
    corrected = check_version(version)
    problem = _RadiusProblem(d=d, k_star=k_star, kappa=kappa, support_size=support_size)
    c = problem.limit
    if support_size > 1:
        ratio = 0.5 - 0.5 / k_star + 1.5 * (d - 1) / (k_star * (support_size - 1))
        return problem.slope * k_star * (2 * c - 1 + 2 * math.sqrt(c * (c - 1) + ratio))
    bottom = math.sqrt(d / k_star) + 1 - (c if corrected else 0.0)
    return problem.intercept / bottom if bottom > 0 else math.inf


def smallest_q_for(*, d: int, k: Count, k_star: int, kappa: float, support_size: int) -> Real:
    r"""Real ``q`` at which :math:`\gamma\rho = 1` for a given ``k``; above it Theorem 1 contracts.

    .. math:: q = \frac{A k + B}{Y - C}, \quad Y = \tfrac12\big(1 + \sqrt{1 + 4k/k^*}\big),
              \quad B = \tfrac{8 d \kappa^2}{s_2+2}\big(\tfrac{(s_2-1)(k^*-1)}{d-1} + 3\big)

    and infinite when :math:`Y \le C`.

    Parameters
    ----------
    d, k_star, kappa, support_size
        As in :func:`necessary_q`.
    k : int in [k_star, (d - k_star) / 2], or an integer array of such
        Coordinates kept.

    Examples
    --------
    >>> round(smallest_q_for(d=5000, k=1560, k_star=5, kappa=1.0, support_size=5000), 1)
    2726.8

    Notes
    -----
    Ours. With :math:`y = 1/(1-\rho^2)` the theorem's condition reads :math:`y(y-1) \le k/k^*`,
    and ``y`` is affine in ``1/q``.
    """
    problem = _RadiusProblem(d=d, k_star=k_star, kappa=kappa, support_size=support_size)
    kept = check_counts("k", k, low=k_star, high=max(k_star, problem.largest_k))
    return plain(_balance(problem, real(kept)))


def smallest_q(*, d: int, k_star: int, kappa: float, support_size: int) -> tuple[int, int] | None:
    r"""Smallest integer ``q`` for which some ``k`` has :math:`\gamma\rho < 1`, with that ``k``.

    Parameters
    ----------
    d, k_star, kappa, support_size
        As in :func:`necessary_q`.

    Returns
    -------
    tuple of int (q, k), or None
        None when no number of directions is enough: ``k <= (d - k_star) / 2`` is too small.

    Examples
    --------
    >>> smallest_q(d=5000, k_star=5, kappa=1.0, support_size=5000)
    (2724, 1448)
    >>> smallest_q(d=500, k_star=5, kappa=1.0, support_size=500) is None
    True
    """
    problem = _RadiusProblem(d=d, k_star=k_star, kappa=kappa, support_size=support_size)
    kept = np.arange(k_star, problem.largest_k + 1, dtype=np.int64)
    needed = _balance(problem, real(kept))
    if not np.isfinite(needed).any():
        return None
    best = int(np.argmin(needed))
    return math.floor(needed[best]) + 1, int(kept[best])


def largest_kappa(*, d: int, k_star: int) -> float | None:
    r"""Condition number below which some ``q`` and ``k`` have :math:`\gamma\rho < 1`.

    .. math:: \kappa^2 = \tfrac1{18}\Big(1 + \sqrt{1 + 4k/k^*}\Big), \quad
              k = \lfloor (d - k^*) / 2 \rfloor

    Parameters
    ----------
    d, k_star
        As in :func:`necessary_q`.

    Returns
    -------
    float, or None
        None when not even ``kappa = 1`` will do. The support size does not matter.

    Examples
    --------
    >>> round(largest_kappa(d=5000, k_star=5), 3)
    1.593
    >>> largest_kappa(d=500, k_star=5) is None
    True

    Notes
    -----
    Ours: in :func:`smallest_q_for`, :math:`Y > C` at the largest ``k``.
    """
    problem = _RadiusProblem(d=d, k_star=k_star, kappa=1.0, support_size=1)
    bound = math.sqrt((1 + math.sqrt(1 + 4 * problem.largest_k / k_star)) / 18)
    return bound if bound > 1 else None


def smallest_d(*, k_star: int, kappa: float) -> float:
    r"""Dimension from which on some ``q`` and ``k`` have :math:`\gamma\rho < 1`.

    .. math:: d = 2k + k^*, \quad k = \lfloor C(C-1)k^* \rfloor + 1, \quad C = 9\kappa^2

    Parameters
    ----------
    k_star, kappa
        As in :func:`necessary_q`.

    Examples
    --------
    >>> smallest_d(k_star=5, kappa=1.0), smallest_d(k_star=5, kappa=10.0)
    (727.0, 8091007.0)
    """
    k_star = check_integer("k_star", k_star, low=1)
    limit = 9 * check_real("kappa", kappa, low=1.0) ** 2
    return 2 * (float(np.floor(limit * (limit - 1) * k_star)) + 1) + k_star


def sparsity_range(
    *, d: int, k_star: int, kappa: float, q: int, support_size: int
) -> tuple[float, float] | None:
    r"""Theorem 1: the interval of ``k`` with :math:`\gamma\rho \le 1` for a given ``q``.

    The roots of :math:`a^2k^2 + (2ab - a - 1/k^*)k + b^2 - b`, with :math:`a = A/q` and
    :math:`b = B/q + C`, cut at ``k_star`` and ``(d - k_star) / 2``.

    Parameters
    ----------
    d, k_star, kappa, support_size
        As in :func:`necessary_q`.
    q : int >= 1
        Directions.

    Returns
    -------
    tuple of float (low, high), or None
        None when no ``k`` qualifies.

    Examples
    --------
    >>> low, high = sparsity_range(d=5000, k_star=5, kappa=1.0, q=6000, support_size=5000)
    >>> round(low, 1), round(high, 1)
    (477.1, 2497.5)
    >>> sparsity_range(d=5000, k_star=5, kappa=1.0, q=2723, support_size=5000) is None
    True
    """
    problem = _RadiusProblem(d=d, k_star=k_star, kappa=kappa, support_size=support_size)
    q = check_integer("q", q, low=1)
    a, b = problem.slope / q, problem.intercept / q + problem.limit
    roots = (k_star * b * (b - 1), math.inf) if a == 0 else _roots(a, b, k_star)
    if roots is None:
        return None
    low, high = max(roots[0], k_star), min(roots[1], (d - k_star) / 2)
    return (low, high) if low <= high else None


def _balance(problem: _RadiusProblem, k: Vector) -> Vector:
    if k.size == 0:
        raise ParameterError(
            "`k_star` must be at most d / 3, so that 2 k + k_star <= d for some k >= k_star; "
            f"got k_star={problem.k_star} with d={problem.d}."
        )
    room = 0.5 * (1 + np.sqrt(1 + 4 * k / problem.k_star)) - problem.limit
    top = problem.slope * k + problem.intercept
    needed: Vector = np.divide(top, room, out=np.full(k.shape, np.inf), where=room > 0)
    return needed


def _roots(a: float, b: float, k_star: int) -> tuple[float, float] | None:
    half = (1 / k_star + a - 2 * a * b) / (2 * a * a)
    product = b * (b - 1) / (a * a)
    if half <= 0 or half * half < product:
        return None
    high = half + math.sqrt(half * half - product)
    return product / high, high  # the small root as a quotient: no cancellation
