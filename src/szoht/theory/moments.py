"""Exact second moments of the gradient estimate on a fixed set of coordinates."""

import numpy as np

from szoht.core.validation import check_integer, check_real
from szoht.errors import ParameterError
from szoht.theory.inputs import Count, Real, Setting, plain, real
from szoht.types import Vector

__all__ = [
    "direction_factors",
    "error_second_moment",
    "orthonormal_second_moment",
    "second_moment",
    "subspace_second_moment",
]


def direction_factors(*, d: int, support_size: int, size: Count) -> tuple[Real, Real]:
    r"""Per-direction factors of the exact second moment, inside and outside ``F``.

    .. math:: c_F = \frac{d}{s_2+2}\Big(\frac{(s-1)(s_2-1)}{d-1} + 3\Big), \qquad
              c_{F^c} = \frac{d}{s_2+2}\,\frac{s(s_2-1)}{d-1}

    so that :math:`E\|\hat g_F\|^2 = c_F \|g_F\|^2 + c_{F^c} \|g_{F^c}\|^2` for one direction as
    ``mu`` tends to 0. Proof of Lemma C.2.

    Parameters
    ----------
    d : int >= 1
        Dimension.
    support_size : int in [1, d]
        Non-zeros of a direction.
    size : int in [1, d], or an integer array of such
        ``s``, the number of coordinates in ``F``.

    Examples
    --------
    >>> on, off = direction_factors(d=100, support_size=100, size=10)
    >>> round(on, 6), round(off, 6)
    (11.764706, 9.803922)
    """
    d = check_integer("d", d, low=1)
    support_size = check_integer("support_size", support_size, low=1, high=d, high_name="d")
    s = _check_size(size, d)
    scale = d / (support_size + 2)
    share = (support_size - 1) / (d - 1) if d > 1 else 0.0  # chance that a second index is drawn
    return plain(scale * ((s - 1) * share + 3)), plain(scale * s * share)


def second_moment(
    setting: Setting,
    *,
    on: float,
    off: float,
    size: int | None = None,
    curvature: float = 0.0,
    mu: float = 0.0,
) -> Real:
    r"""Exact :math:`E\|\hat g_F\|^2` for a quadratic with Hessian ``curvature`` times identity.

    .. math:: \frac{c_F}{q}\|g_F\|^2 + \frac{c_{F^c}}{q}\|g_{F^c}\|^2
              + \Big(1 - \frac1q\Big)\|g_F\|^2 + \frac{d s L^2 \mu^2}{4 q}

    Parameters
    ----------
    setting : Setting
        Gives ``d``, ``q`` and ``support_size``.
    on, off : float >= 0
        Squared norms of the gradient on ``F`` and outside it.
    size : int in [1, d], optional
        Size of ``F``; ``2 k + k_star`` by default.
    curvature : float >= 0
        ``L``; 0 for a linear function, whose estimate does not depend on ``mu``.
    mu : float >= 0
        Smoothing radius.

    Examples
    --------
    >>> setting = Setting(d=100, k=4, k_star=2, q=10, support_size=100)
    >>> round(second_moment(setting, on=1.0, off=1.0), 6)
    3.056863

    Notes
    -----
    Ours; the paper has bounds only. ``F`` must not depend on the directions drawn.
    """
    on, off = check_real("on", on, low=0.0), check_real("off", off, low=0.0)
    curvature = check_real("curvature", curvature, low=0.0)
    mu = check_real("mu", mu, low=0.0)
    s = setting.union_size if size is None else size
    inside, outside = direction_factors(d=setting.d, support_size=setting.support_size, size=s)
    # d^2 (L mu / 2)^2 E|u_F|^2, and E|u_F|^2 = s/d; odd moments vanish, so there is no cross term.
    remainder = 0.25 * setting.d * real(s) * (curvature * mu) ** 2
    q = real(setting.q)
    return plain((inside * on + outside * off + remainder - on) / q + on)


def error_second_moment(
    setting: Setting,
    *,
    on: float,
    off: float,
    size: int | None = None,
    curvature: float = 0.0,
    mu: float = 0.0,
) -> Real:
    r"""Exact :math:`E\|\hat g_F - g_F\|^2`: :func:`second_moment` minus :math:`\|g_F\|^2`.

    The forward difference of a quadratic has no bias, so the error is all variance.

    >>> setting = Setting(d=100, k=4, k_star=2, q=10, support_size=100)
    >>> round(error_second_moment(setting, on=1.0, off=1.0), 12)
    2.056862745098
    """
    total = second_moment(setting, on=on, off=off, size=size, curvature=curvature, mu=mu)
    return plain(total - on)


def subspace_second_moment(*, d: int, q: int, dimension: int, on: float, off: float) -> float:
    r"""Exact :math:`E\|P_T \hat g\|^2` for any fixed subspace ``T``, full supports, ``mu -> 0``.

    .. math:: \frac{d}{q(d+2)}\big[(D+2)\|P_T g\|^2 + D\|g - P_T g\|^2\big]
              + \Big(1-\frac1q\Big)\|P_T g\|^2

    Parameters
    ----------
    d : int >= 1
        Dimension of the space.
    q : int >= 1
        Directions.
    dimension : int in [1, d]
        ``D``, the dimension of ``T``.
    on, off : float >= 0
        Squared norms of the gradient in ``T`` and orthogonal to it.

    Examples
    --------
    >>> subspace_second_moment(d=8, q=2, dimension=3, on=1.0, off=0.0)
    2.5
    """
    d, q, dimension, on, off = _check_subspace(d, q, dimension, on, off)
    one = d / (d + 2) * ((dimension + 2) * on + dimension * off)
    return one / q + (1 - 1 / q) * on


def orthonormal_second_moment(*, d: int, q: int, dimension: int, on: float, off: float) -> float:
    r"""Exact :math:`E\|P_T \hat g\|^2` when the ``q <= d`` directions are orthonormal (Haar).

    .. math:: \Big(\frac dq\Big)^2 \big(a\|P_T g\|^2 + b D \|g\|^2\big),\quad
              b = \frac{q(d-q)}{d(d+2)(d-1)},\quad a = \frac qd - d\,b

    The noise from outside ``T`` is ``(d-q)/(d-1)`` of that of independent directions.

    >>> orthonormal_second_moment(d=8, q=8, dimension=3, on=1.0, off=5.0)
    1.0
    """
    d, q, dimension, on, off = _check_subspace(d, q, dimension, on, off)
    check_integer("q", q, low=1, high=d, high_name="d")
    b = q * (d - q) / (d * (d + 2) * (d - 1)) if d > 1 else 0.0
    a = q / d - d * b
    return (d / q) ** 2 * (a * on + b * dimension * (on + off))


def _check_size(size: Count, d: int) -> Vector:
    sizes = np.asarray(size)
    if sizes.size == 0 or not np.issubdtype(sizes.dtype, np.integer):
        raise ParameterError(f"`size` must be an integer in [1, d]; got size={size!r} with d={d}.")
    for extreme in (int(sizes.min()), int(sizes.max())):
        check_integer("size", extreme, low=1, high=d, high_name="d")
    return real(size)


def _check_subspace(
    d: int, q: int, dimension: int, on: float, off: float
) -> tuple[int, int, int, float, float]:
    d = check_integer("d", d, low=1)
    dimension = check_integer("dimension", dimension, low=1, high=d, high_name="d")
    q = check_integer("q", q, low=1)
    return d, q, dimension, check_real("on", on, low=0.0), check_real("off", off, low=0.0)
