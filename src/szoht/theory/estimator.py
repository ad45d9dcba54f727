"""Error bounds of the gradient estimate: Lemmas C.1-C.3 and Proposition 1."""

from dataclasses import dataclass

from szoht.core.validation import check_real
from szoht.theory.inputs import (
    Count,
    Real,
    Regularity,
    Setting,
    Version,
    check_version,
    plain,
    real,
)
from szoht.theory.moments import direction_factors

__all__ = [
    "Constants",
    "batched",
    "bias_bound",
    "eps_abs",
    "eps_f",
    "eps_fc",
    "eps_mu",
    "error_bound",
    "one_direction",
    "second_moment_bound",
]


@dataclass(frozen=True, kw_only=True)
class Constants:
    """The constants that multiply ``|g_F|^2``, ``|g_Fc|^2`` and ``mu^2``."""

    eps_f: Real
    eps_fc: Real
    eps_abs: Real


def one_direction(
    setting: Setting,
    regularity: Regularity,
    *,
    size: int | None = None,
    version: Version = "corrected",
) -> Constants:
    r"""Lemma C.2: constants of :math:`E\|\hat g_F\|^2` for one direction.

    .. math:: \varepsilon_F = \tfrac{2d}{s_2+2}\big(\tfrac{(s-1)(s_2-1)}{d-1}+3\big),\;
              \varepsilon_{F^c} = \tfrac{2d}{s_2+2}\tfrac{s(s_2-1)}{d-1},\;
              \varepsilon_{abs} = 2 L^2 s d

    Parameters
    ----------
    setting : Setting
        ``setting.q`` is not used.
    regularity : Regularity
        Gives ``L``, the smoothness along directions of ``support_size`` coordinates.
    size : int in [1, d], optional
        Size ``s`` of ``F``; ``2 k + k_star`` by default.
    version : {"corrected", "paper"}
        The paper prints :math:`2 d L^2 s s_2 (\frac{(s-1)(s_2-1)}{d-1}+1)` for the last: it puts
        the second moment of the overlap size :math:`|S \cap F|` where :math:`E\|u_F\|^2 = s/d`
        belongs. It also prints "=" for "<=", and ``L_s`` for the constant of order ``s_2``.

    Examples
    --------
    >>> setting = Setting(d=50, k=2, k_star=2, q=1, support_size=50)
    >>> one_direction(setting, Regularity(), size=8).eps_abs
    800.0
    >>> one_direction(setting, Regularity(), size=8, version="paper").eps_abs
    320000.0
    """
    s = real(_size(setting, size))
    on, off = direction_factors(
        d=setting.d, support_size=setting.support_size, size=_size(setting, size)
    )
    smooth = regularity.smoothness**2
    if check_version(version):
        absolute = 2 * smooth * s * setting.d
    else:
        overlap = (s - 1) * (setting.support_size - 1) / (setting.d - 1) + 1
        absolute = 2 * setting.d * smooth * s * setting.support_size * overlap
    return Constants(eps_f=2 * on, eps_fc=2 * off, eps_abs=plain(absolute))


def batched(one: Constants, *, eps_mu: Real, q: Count) -> Constants:
    r"""Lemma C.3: constants of the mean of ``q`` directions from those of one.

    .. math:: \varepsilon_F/q + 2, \quad \varepsilon_{F^c}/q, \quad
              \varepsilon_{abs}/q + 2\varepsilon_\mu

    Notes
    -----
    Its premise (ii) prints :math:`\|E \hat g_F\|^2`; the proof uses :math:`E\|\hat g_F\|^2`.
    The proof gives ``2 (1 - 1/q)`` where the lemma says 2.

    Examples
    --------
    >>> batched(Constants(eps_f=20.0, eps_fc=10.0, eps_abs=8.0), eps_mu=3.0, q=10)
    Constants(eps_f=4.0, eps_fc=1.0, eps_abs=6.8)
    """
    n = real(q)
    return Constants(
        eps_f=plain(one.eps_f / n + 2),
        eps_fc=plain(one.eps_fc / n),
        eps_abs=plain(one.eps_abs / n + 2 * eps_mu),
    )


def eps_mu(setting: Setting, regularity: Regularity, *, size: int | None = None) -> Real:
    r"""Lemma C.1 and Proposition 1: :math:`\varepsilon_\mu = L^2 s d`, the constant of the bias.

    Loose by a factor of at least 4: the remainder of a first-order expansion is at most
    ``L mu / 2``, not ``L mu``.

    >>> eps_mu(Setting(d=50, k=3, k_star=2, q=1, support_size=50), Regularity())
    400.0
    """
    return plain(regularity.smoothness**2 * real(_size(setting, size)) * setting.d)


def eps_f(setting: Setting, *, size: int | None = None) -> Real:
    r"""Proposition 1: the constant of :math:`\|g_F\|^2`.

    .. math:: \varepsilon_F = \frac{2d}{q(s_2+2)}\Big(\frac{(s-1)(s_2-1)}{d-1}+3\Big) + 2

    Examples
    --------
    >>> round(eps_f(Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000)), 6)
    2.9996
    """
    return batched(one_direction(setting, Regularity(), size=size), eps_mu=0.0, q=setting.q).eps_f


def eps_fc(setting: Setting, *, size: int | None = None) -> Real:
    r"""Proposition 1: the constant of :math:`\|g_{F^c}\|^2`.

    .. math:: \varepsilon_{F^c} = \frac{2d}{q(s_2+2)}\,\frac{s(s_2-1)}{d-1}

    Examples
    --------
    >>> eps_fc(Setting(d=100, k=4, k_star=2, q=10, support_size=1))
    0.0
    """
    return batched(one_direction(setting, Regularity(), size=size), eps_mu=0.0, q=setting.q).eps_fc


def eps_abs(
    setting: Setting,
    regularity: Regularity,
    *,
    size: int | None = None,
    version: Version = "corrected",
) -> Real:
    r"""Proposition 1: the constant of :math:`\mu^2`.

    .. math:: \varepsilon_{abs} = 2 L^2 s d\,(1/q + 1)

    Parameters
    ----------
    setting, regularity, size
        As in :func:`one_direction`.
    version : {"corrected", "paper"}
        The paper prints :math:`\frac{2 d L^2 s s_2}{q}(\frac{(s-1)(s_2-1)}{d-1}+1) + L^2 s d`:
        it adds :math:`\varepsilon_\mu` once where Lemma C.3 adds it twice, and starts from the
        loose constant of Lemma C.2.

    Examples
    --------
    >>> setting = Setting(d=50, k=3, k_star=2, q=1, support_size=50)
    >>> eps_abs(setting, Regularity()), eps_abs(setting, Regularity(), version="paper")
    (1600.0, 320400.0)
    """
    bias = eps_mu(setting, regularity, size=size)
    one = one_direction(setting, regularity, size=size, version=version)
    if check_version(version):
        return batched(one, eps_mu=bias, q=setting.q).eps_abs
    return plain(one.eps_abs / real(setting.q) + bias)


def bias_bound(
    setting: Setting, regularity: Regularity, *, mu: float, size: int | None = None
) -> Real:
    r"""Proposition 1 (a): :math:`\|E\hat g_F - g_F\|^2 \le \varepsilon_\mu \mu^2`.

    >>> setting = Setting(d=50, k=3, k_star=2, q=1, support_size=50)
    >>> bias_bound(setting, Regularity(), mu=0.5)
    100.0
    """
    mu = check_real("mu", mu, low=0.0)
    return eps_mu(setting, regularity, size=size) * mu**2


def second_moment_bound(
    setting: Setting,
    regularity: Regularity,
    *,
    on: float,
    off: float,
    mu: float,
    size: int | None = None,
    version: Version = "corrected",
) -> Real:
    r"""Proposition 1 (b): bound of :math:`E\|\hat g_F\|^2`.

    .. math:: \varepsilon_F\|g_F\|^2 + \varepsilon_{F^c}\|g_{F^c}\|^2 + \varepsilon_{abs}\mu^2

    ``F`` must not depend on the directions. The proof of Theorem 1 uses it for the union of
    supports, which does depend on them; the bound can fail there, see ``docs/errata.md``.

    Examples
    --------
    >>> setting = Setting(d=100, k=4, k_star=2, q=10, support_size=1)
    >>> second_moment_bound(setting, Regularity(), on=1.0, off=1.0, mu=0.0)
    22.0
    """
    on, off = check_real("on", on, low=0.0), check_real("off", off, low=0.0)
    mu = check_real("mu", mu, low=0.0)
    absolute = eps_abs(setting, regularity, size=size, version=version)
    return eps_f(setting, size=size) * on + eps_fc(setting, size=size) * off + absolute * mu**2


def error_bound(
    setting: Setting,
    regularity: Regularity,
    *,
    on: float,
    off: float,
    mu: float,
    size: int | None = None,
    version: Version = "corrected",
) -> Real:
    r"""Proposition 1 (c): bound of :math:`E\|\hat g_F - g_F\|^2`.

    .. math:: 2(\varepsilon_F + 1)\|g_F\|^2 + 2\varepsilon_{F^c}\|g_{F^c}\|^2
              + 2\varepsilon_{abs}\mu^2

    Examples
    --------
    >>> setting = Setting(d=100, k=4, k_star=2, q=10, support_size=1)
    >>> error_bound(setting, Regularity(), on=1.0, off=1.0, mu=0.0)
    46.0
    """
    moment = second_moment_bound(
        setting, regularity, on=on, off=off, mu=mu, size=size, version=version
    )
    return 2 * moment + 2 * on


def _size(setting: Setting, size: int | None) -> Count:
    return setting.union_size if size is None else size
