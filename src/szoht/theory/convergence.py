"""Theorem 1: step size, contraction, system error and the bound at every iteration."""

import math

import numpy as np

from szoht.core.validation import check_integer, check_real
from szoht.theory.estimator import eps_abs, eps_f, eps_fc, eps_mu
from szoht.theory.expansivity import relaxed_expansivity
from szoht.theory.inputs import Real, Regularity, Setting, Version, check_version, plain, real
from szoht.types import Vector

__all__ = [
    "contraction",
    "distance_bound",
    "error_floor",
    "noise_factor",
    "radius_factor",
    "rho",
    "sparsity_threshold",
    "step_size",
]


def step_size(setting: Setting, regularity: Regularity) -> Real:
    r"""Theorem 1: the step :math:`\eta = \nu / ((4\varepsilon_F + 1) L^2)`.

    It minimises :math:`1 - 2\eta\nu + (4\varepsilon_F+1)L^2\eta^2`.

    Examples
    --------
    >>> setting = Setting(d=5000, k=370, k_star=5, q=2500, support_size=5000)
    >>> round(step_size(setting, Regularity()), 5)
    0.0878
    """
    return plain(regularity.convexity / (_growth(setting) * regularity.smoothness**2))


def rho(setting: Setting, regularity: Regularity, *, version: Version = "corrected") -> Real:
    r"""Theorem 1: the contraction of one gradient step, before thresholding.

    .. math:: \rho^2 = 1 - \frac{\nu^2}{(4\varepsilon_F+1)L^2}

    Parameters
    ----------
    setting : Setting
        The integers; ``k`` and ``q`` may be arrays.
    regularity : Regularity
        Only ``kappa`` matters.
    version : {"corrected", "paper"}
        The theorem is right. The end of its proof and both corollaries print ``2 nu^2`` for
        ``nu^2``, which the step size does not reach: "paper" is that one.

    Examples
    --------
    >>> setting = Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000)
    >>> round(rho(setting, Regularity()), 6)
    0.960764
    """
    gain = 1.0 if check_version(version) else 2.0
    return plain(np.sqrt(1 - gain / (_growth(setting) * regularity.kappa**2)))


def contraction(
    setting: Setting, regularity: Regularity, *, version: Version = "corrected"
) -> Real:
    r"""Theorem 1: :math:`\gamma\rho`, the factor per iteration; the theorem needs it below 1.

    Examples
    --------
    The paper's dimension experiment is outside the theorem, by one per cent.

    >>> setting = Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000)
    >>> round(contraction(setting, Regularity()), 4)
    1.01
    """
    gamma = relaxed_expansivity(k=setting.k, k_star=setting.k_star)
    return plain(gamma * rho(setting, regularity, version=version))


def sparsity_threshold(
    setting: Setting, regularity: Regularity, *, version: Version = "corrected"
) -> Real:
    r"""Theorem 1: the ``k`` that it asks for, :math:`\rho^2 k^* / (1-\rho^2)^2`.

    ``k`` at or above it is the same as :func:`contraction` at or below 1. The right side depends
    on ``k`` through ``rho``: raising ``k`` raises it too.

    Examples
    --------
    >>> setting = Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000)
    >>> round(sparsity_threshold(setting, Regularity()), 1)
    779.8
    """
    square = real(rho(setting, regularity, version=version)) ** 2
    return plain(square * setting.k_star / (1 - square) ** 2)


def noise_factor(
    setting: Setting, regularity: Regularity, *, version: Version = "corrected"
) -> Real:
    r"""Theorem 1: the constant ``a`` of the gradient noise :math:`\sigma`.

    .. math:: a = \eta\Big(\sqrt{(4\varepsilon_F + 2)s + 4\varepsilon_{F^c}(d-k)} + \sqrt s\Big)

    Parameters
    ----------
    setting, regularity
        As in :func:`rho`.
    version : {"corrected", "paper"}
        The paper prints :math:`(4\varepsilon_F s + 2) + \varepsilon_{F^c}(d-k)` under the root:
        the 2 lost its ``s``, and the last term its 4.

    Examples
    --------
    >>> setting = Setting(d=5000, k=370, k_star=5, q=20, support_size=5000)
    >>> round(noise_factor(setting, Regularity()), 2)
    4.21
    >>> round(noise_factor(setting, Regularity(), version="paper"), 2)
    2.55

    Notes
    -----
    Uses :math:`\|g_F\|^2 \le s\|g\|_\infty^2`, the reason for the infinity norm in Remark 1.
    """
    s, on, off = real(setting.union_size), eps_f(setting), eps_fc(setting)
    if check_version(version):
        inside = (4 * on + 2) * s + 4 * off * (setting.d - real(setting.k))
    else:
        inside = 4 * on * s + 2 + off * (setting.d - real(setting.k))
    return plain(step_size(setting, regularity) * (np.sqrt(inside) + np.sqrt(s)))


def radius_factor(
    setting: Setting, regularity: Regularity, *, version: Version = "corrected"
) -> Real:
    r"""Theorem 1: the constant ``b`` of the smoothing radius.

    .. math:: b = \sqrt{\varepsilon_\mu}/L + \eta\sqrt{2\varepsilon_{abs}}

    ``version`` chooses :func:`~szoht.theory.eps_abs`. The end of the proof prints ``mu`` for
    ``mu^2`` and back; the theorem is right.

    Examples
    --------
    >>> setting = Setting(d=5000, k=370, k_star=5, q=2500, support_size=5000)
    >>> round(radius_factor(setting, Regularity()), 1)
    2269.0
    """
    bias = np.sqrt(eps_mu(setting, regularity)) / regularity.smoothness
    remainder = np.sqrt(2 * eps_abs(setting, regularity, version=version))
    return plain(bias + step_size(setting, regularity) * remainder)


def error_floor(
    setting: Setting,
    regularity: Regularity,
    *,
    sigma: float,
    mu: float,
    version: Version = "corrected",
) -> Real:
    r"""Theorem 1: the system error, :math:`\frac{\gamma(a\sigma + b\mu)}{1-\gamma\rho}`.

    Infinite when ``gamma rho >= 1``. Remark 2: it tends to 0 with ``mu`` when :math:`\sigma = 0`,
    that is, when the sparse target is an unconstrained minimiser.

    Parameters
    ----------
    setting, regularity, version
        As in :func:`noise_factor` and :func:`radius_factor`.
    sigma : float >= 0
        Assumption 3: :math:`\sigma^2 = E\|\nabla f_\xi(x^*)\|_\infty^2`.
    mu : float >= 0
        Smoothing radius.

    Examples
    --------
    >>> setting = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)
    >>> round(error_floor(setting, Regularity(), sigma=0.0, mu=1e-6), 4)
    0.2453
    """
    noise = _noise_per_step(setting, regularity, sigma=sigma, mu=mu, version=version)
    gap = 1 - real(contraction(setting, regularity, version=version))
    top = np.broadcast_to(noise, gap.shape)
    return plain(np.divide(top, gap, out=np.full(gap.shape, np.inf), where=gap > 0))


def distance_bound(
    setting: Setting,
    regularity: Regularity,
    *,
    t: float,
    distance: float,
    sigma: float,
    mu: float,
    version: Version = "corrected",
) -> Real:
    r"""Theorem 1: the bound of :math:`E\|x_t - x^*\|`, by the sum of its proof.

    .. math:: (\gamma\rho)^t\|x_0-x^*\| + \gamma(a\sigma + b\mu)\sum_{i=0}^{t-1}(\gamma\rho)^i

    The theorem prints the limit of the sum, :func:`error_floor`, in its place, which is larger and
    needs :math:`\gamma\rho < 1`; the sum is finite for every ``t``, though it says little where
    it grows.

    Parameters
    ----------
    setting, regularity, sigma, mu, version
        As in :func:`error_floor`.
    t : int >= 0, or inf
        Iteration.
    distance : float >= 0
        :math:`\|x_0 - x^*\|`.

    Examples
    --------
    >>> setting = Setting(d=30000, k=1000, k_star=1, q=30000, support_size=30000)
    >>> round(distance_bound(setting, Regularity(), t=100, distance=1.0, sigma=0.0, mu=0.0), 4)
    0.0191

    Notes
    -----
    The last equation of the proof prints ``t`` for ``t + 1`` in the closed form of the sum.
    """
    if t != math.inf:
        t = check_integer("t", t, low=0)
    distance = check_real("distance", distance, low=0.0)
    noise = _noise_per_step(setting, regularity, sigma=sigma, mu=mu, version=version)
    factor = real(contraction(setting, regularity, version=version))
    with np.errstate(over="ignore"):  # a bound beyond the largest float is inf
        transient = _times(factor**t, real(distance))
        return plain(transient + _times(_geometric_sum(factor, t), noise))


def _geometric_sum(factor: Vector, t: float) -> Vector:
    """Return 1 + factor + ... + factor^(t - 1), without cancellation around factor = 1."""
    if t == 0:
        return np.zeros(factor.shape)
    excess = factor - 1
    terms: Vector = np.full(factor.shape, float(t))
    return np.divide(np.expm1(t * np.log1p(excess)), excess, out=terms, where=excess != 0)


def _times(factor: Vector, value: Vector) -> Vector:
    """Return the product, where nothing stays nothing even if the factor is infinite."""
    product: Vector = np.zeros(factor.shape)
    return np.multiply(factor, value, out=product, where=np.broadcast_to(value > 0, factor.shape))


def _noise_per_step(
    setting: Setting, regularity: Regularity, *, sigma: float, mu: float, version: Version
) -> Vector:
    r"""Return :math:`\gamma(a\sigma + b\mu)`, what one iteration adds to the distance at most."""
    sigma, mu = check_real("sigma", sigma, low=0.0), check_real("mu", mu, low=0.0)
    gamma = relaxed_expansivity(k=setting.k, k_star=setting.k_star)
    noise = noise_factor(setting, regularity, version=version) * sigma
    radius = radius_factor(setting, regularity, version=version) * mu
    return real(gamma * (noise + radius))


def _growth(setting: Setting) -> Real:
    return 4 * eps_f(setting) + 1
