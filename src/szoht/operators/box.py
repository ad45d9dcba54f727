"""Bounds on every coordinate."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from szoht.core.validation import real_array, shown
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators.base import check_finite
from szoht.types import Vector

__all__ = ["Bound", "Box", "as_bound", "as_bounds", "check_bounds", "clip_with_gains"]

Bound: TypeAlias = float | Vector
"""One bound for all coordinates, or one for each."""


@dataclass(frozen=True, eq=False)
class Box:
    """The set {x : low <= x <= high}, projected onto by clipping.

    Parameters
    ----------
    low, high : float or array of shape (d,)
        Bounds with low <= high; infinite bounds are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> Box(low=-1.0, high=2.0).prox(np.array([-3.0, 0.5, 3.0]), 1.0)
    array([-1. ,  0.5,  2. ])
    """

    low: Bound
    high: Bound

    def __post_init__(self) -> None:
        as_bounds(self, around_zero=False)

    def check(self, d: int) -> None:
        """Raise unless the bounds are scalars or have d entries."""
        check_bounds(self.low, self.high, d)

    def prox(self, y: Vector, step: float) -> Vector:
        """Return the clipped point; ``step`` does not matter."""
        del step
        check_finite(y)
        clipped: Vector = np.clip(y, self.low, self.high)
        return clipped

    def weighted_prox(self, y: Vector, step: float, weights: Vector) -> Vector:
        """Return the clipped point: coordinates do not compete, so weights do not matter."""
        del weights
        return self.prox(y, step)

    def contains(self, x: Vector) -> bool:
        """Tell whether ``x`` is within the bounds."""
        return bool(np.all((x >= self.low) & (x <= self.high)))

    def lmo(self, gradient: Vector) -> Vector:
        """Return the corner that minimises the inner product with ``gradient``."""
        check_finite(gradient)
        corner: Vector = np.where(gradient > 0, self.low, self.high).astype(np.float64)
        if not np.isfinite(corner).all():
            raise ParameterError("`lmo` needs finite bounds; got an infinite `low` or `high`.")
        return corner


def as_bounds(owner: object, *, around_zero: bool) -> None:
    """Normalise and check the fields ``low`` and ``high`` of a frozen dataclass."""
    for name in ("low", "high"):
        object.__setattr__(owner, name, as_bound(name, getattr(owner, name)))
    low, high = owner.low, owner.high  # type: ignore[attr-defined]
    if np.ndim(low) and np.ndim(high) and np.shape(low) != np.shape(high):
        raise ParameterError(
            f"`low` and `high` must have the same shape; got {np.shape(low)} and {np.shape(high)}."
        )
    if np.any(low > high):
        raise ParameterError(f"`low` must not exceed `high`; got low={low}, high={high}.")
    if around_zero and (np.any(low > 0) or np.any(high < 0)):
        raise ParameterError(
            "a sparse set needs low <= 0 <= high, since most coordinates are zero; "
            f"got low={low}, high={high}."
        )


def check_bounds(low: Bound, high: Bound, d: int) -> None:
    """Raise unless bounds given as arrays have ``d`` entries."""
    for name, bound in (("low", low), ("high", high)):
        if np.ndim(bound) and np.shape(bound) != (d,):
            raise ParameterError(
                f"`{name}` must be a number or have shape (d,); got {np.shape(bound)} with d={d}."
            )


def clip_with_gains(y: Vector, weights: Vector, low: Bound, high: Bound) -> tuple[Vector, Vector]:
    """Return y within its bounds, low <= 0 <= high, and what each entry gains over being zero.

    Keeping entry i, clipped to c_i, instead of zeroing it lowers the weighted squared distance to y
    by ``w_i (y_i^2 - (y_i - c_i)^2)``, which is never negative. Gains are in units of max(y^2).
    """
    check_finite(y)
    clipped: Vector = np.clip(y, low, high)
    # y^2 - (y - c)^2 = c (2 y - c), free of cancellation; in units of max |y|, of overflow too
    unit = float(np.abs(y).max()) or 1.0
    return clipped, weights * (clipped / unit) * ((2 * y - clipped) / unit)


def as_bound(name: str, value: object) -> Bound:
    """Return a number or a read-only array, or raise."""
    try:
        bound = real_array(value)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            f"`{name}` must be a number or an array; got {shown(value)}."
        ) from error
    if np.isnan(bound).any() or bound.ndim > 1:
        raise ParameterError(f"`{name}` must be a number or 1-d, and not NaN; got {shown(value)}.")
    if bound.ndim == 0:
        return float(bound)
    bound.flags.writeable = False
    return bound
