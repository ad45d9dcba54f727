"""Frozen inputs of every statement: the setting of a run, the regularity of the objective."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from szoht.core.validation import check_choice, check_integer, check_real
from szoht.errors import ParameterError, SzohtWarning
from szoht.types import Vector

__all__ = ["Count", "Real", "Regularity", "Setting", "TheoryWarning", "Version"]

Version: TypeAlias = Literal["paper", "corrected"]
"""As printed in the paper, or as its own derivation gives it."""

Count: TypeAlias = int | NDArray[np.int64]
"""A whole number, or an array of them when a bound is swept."""

Real: TypeAlias = float | Vector
"""A bound: a float, or an array when the setting holds an array."""


class TheoryWarning(SzohtWarning):
    """The paper's theorem does not cover the setting."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """The integers that the bounds of SZOHT depend on.

    Parameters
    ----------
    d : int >= 3
        Dimension.
    k : int in [k_star, d] with ``2 k + k_star <= d``, or an integer array of such
        Coordinates kept by hard thresholding.
    k_star : int in [1, d]
        Sparsity of the target.
    q : int >= 1, or an integer array of such
        Random directions per gradient estimate.
    support_size : int in [1, d]
        Non-zeros of each direction; ``s_2`` in the paper.

    Notes
    -----
    ``k`` and ``q`` may be arrays that broadcast against each other: every bound is then an array.
    The rule ``2 k + k_star <= d`` is the one of Theorem 1.

    Examples
    --------
    >>> Setting(d=5000, k=500, k_star=5, q=2014, support_size=5000).union_size
    1005
    """

    d: int
    k: Count
    k_star: int
    q: Count
    support_size: int

    def __post_init__(self) -> None:
        d = check_integer("d", self.d, low=3)
        k_star = check_integer("k_star", self.k_star, low=1, high=d, high_name="d")
        k = check_counts("k", self.k, low=k_star, high=d, high_name="d")
        largest = int(np.max(k))
        if 2 * largest + k_star > d:
            raise ParameterError(
                f"`k` must satisfy 2 k + k_star <= d; got k={largest} with k_star={k_star}, d={d}."
            )
        support_size = check_integer(
            "support_size", self.support_size, low=1, high=d, high_name="d"
        )
        q = check_counts("q", self.q, low=1)
        checked = {"d": d, "k": k, "k_star": k_star, "q": q, "support_size": support_size}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def union_size(self) -> Count:
        """Bound ``s = 2 k + k_star`` on the size of supp(x_t) U supp(x_{t+1}) U supp(x*)."""
        return 2 * self.k + self.k_star

    @property
    def smoothness_order(self) -> Count:
        """Remark 3: order ``s' = max(s_2, s)`` at which restricted smoothness is assumed."""
        size = self.union_size
        if isinstance(size, int):
            return max(self.support_size, size)
        return np.maximum(size, self.support_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Setting):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        k, q = np.asarray(self.k), np.asarray(self.q)
        shapes = (k.shape, k.tobytes(), q.shape, q.tobytes())
        return (self.d, self.k_star, self.support_size, *shapes)


@dataclass(frozen=True, kw_only=True)
class Regularity:
    """Assumptions 1, 2 and 4: smoothness ``L`` and restricted strong convexity ``nu``.

    Parameters
    ----------
    smoothness : float > 0
        Restricted smoothness of order ``max(support_size, 2 k + k_star)``; the plain smoothness
        constant is valid for every order.
    convexity : float in (0, smoothness]
        Restricted strong convexity of order ``2 k + k_star``.

    Examples
    --------
    >>> Regularity(smoothness=4.0, convexity=2.0).kappa
    2.0
    """

    smoothness: float = 1.0
    convexity: float = 1.0

    def __post_init__(self) -> None:
        smoothness = check_real("smoothness", self.smoothness, low=0.0, open_low=True)
        convexity = check_real("convexity", self.convexity, low=0.0, open_low=True)
        if convexity > smoothness:
            raise ParameterError(
                "`convexity` must be at most `smoothness`; "
                f"got convexity={convexity!r} with smoothness={smoothness!r}."
            )
        object.__setattr__(self, "smoothness", smoothness)
        object.__setattr__(self, "convexity", convexity)

    @classmethod
    def from_kappa(cls, kappa: float, *, smoothness: float = 1.0) -> "Regularity":
        """Build from the condition number ``kappa >= 1`` and the smoothness.

        >>> Regularity.from_kappa(2.0)
        Regularity(smoothness=1.0, convexity=0.5)
        """
        number = check_real("kappa", kappa, low=1.0)
        smooth = check_real("smoothness", smoothness, low=0.0, open_low=True)
        return cls(smoothness=smooth, convexity=smooth / number)

    @property
    def kappa(self) -> float:
        """Condition number ``L / nu``."""
        return self.smoothness / self.convexity


def check_version(version: str) -> bool:
    """Return whether the corrected version is asked for."""
    return check_choice("version", version, ("paper", "corrected")) == "corrected"


def check_counts(
    name: str, value: object, *, low: int, high: int | None = None, high_name: str = ""
) -> Count:
    """Return an integer, or a read-only integer array, whose values lie in [low, high]."""
    if not isinstance(value, np.ndarray):
        return check_integer(name, value, low=low, high=high, high_name=high_name)
    if value.size == 0 or not np.issubdtype(value.dtype, np.integer):
        raise ParameterError(
            f"`{name}` must be an integer or a non-empty integer array; "
            f"got an array of {value.dtype} with shape {value.shape}."
        )
    for extreme in (int(value.min()), int(value.max())):
        check_integer(name, extreme, low=low, high=high, high_name=high_name)
    counts = value.astype(np.int64)
    counts.flags.writeable = False
    return counts


def real(value: Count | Real) -> Vector:
    """Return counts as a float array, so that large products cannot overflow."""
    return np.asarray(value, dtype=np.float64)


def plain(value: Real) -> Real:
    """Return a Python float when there is nothing to sweep."""
    return float(value) if np.ndim(value) == 0 else value
