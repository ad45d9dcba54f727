"""Tiny checkers with one message style: parameter, rule, value."""

import math
import numbers
from collections.abc import Sequence

import numpy as np

from szoht.errors import ParameterError, ParameterTypeError
from szoht.types import Vector

__all__ = [
    "check_choice",
    "check_integer",
    "check_real",
    "check_vector",
    "frozen",
    "real_array",
]


def check_integer(
    name: str, value: object, *, low: int, high: int | None = None, high_name: str = ""
) -> int:
    """Return ``value`` as an int in [low, high], or raise naming the rule.

    >>> check_integer("k", 0, low=1, high=100, high_name="d")
    Traceback (most recent call last):
    ...
    szoht.errors.ParameterError: `k` must be an integer in [1, d]; got k=0 with d=100.
    """
    upper = f"{high_name or high}]" if high_name or high is not None else "inf)"
    rule = f"`{name}` must be an integer in [{low}, {upper}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise ParameterTypeError(f"{rule}; got {name}={value!r} of type {type(value).__name__}.")
    number = int(value)
    if number < low or (high is not None and number > high):
        context = f" with {high_name}={high}" if high_name and high is not None else ""
        raise ParameterError(f"{rule}; got {name}={number}{context}.")
    return number


def check_real(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
) -> float:
    """Return ``value`` as a finite float in [low, high], or (low, high] when ``open_low``."""
    rule = f"`{name}` must be a finite number" + _interval(low, high, open_low)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ParameterTypeError(f"{rule}; got {name}={value!r} of type {type(value).__name__}.")
    number = float(value)
    too_low = number <= low if open_low else number < low
    if not math.isfinite(number) or too_low or number > high:
        raise ParameterError(f"{rule}; got {name}={number!r}.")
    return number


def check_vector(name: str, value: object, *, size: int | None = None) -> Vector:
    """Return ``value`` as a read-only 1-d float64 copy with finite entries."""
    try:
        array = real_array(value)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(
            f"`{name}` must be a 1-d array of real numbers; got {type(value).__name__}: "
            f"{str(error).rstrip('.')}."
        ) from error
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(
            f"`{name}` must be 1-d with at least one entry; got an array of shape {array.shape}."
        )
    if size is not None and array.size != size:
        raise ParameterError(f"`{name}` must have {size} entries; got {array.size}.")
    finite = np.isfinite(array)
    if not finite.all():
        i = int(np.argmin(finite))
        raise ParameterError(f"`{name}` must be finite; got {name}[{i}]={array[i]}.")
    return frozen(array)


def real_array(value: object) -> Vector:
    """Return a float64 copy; complex numbers are refused, where NumPy would drop a part of them."""
    detach = getattr(value, "detach", None)
    if callable(detach):  # a tensor of PyTorch, perhaps with a gradient or on another device
        value = detach().cpu().numpy()
    array = np.array(value)
    if array.dtype.kind == "c":
        raise TypeError("complex numbers are not real")
    return array.astype(np.float64)


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(f"`{name}` must be one of {listed}; got {name}={value!r}.")
    return str(value)


def frozen(array: Vector) -> Vector:
    """Mark an array that we own as read-only and return it; a sparse vector always is."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def _interval(low: float, high: float, open_low: bool) -> str:
    if low == -math.inf and high == math.inf:
        return ""
    if high == math.inf:
        return f" {'>' if open_low else '>='} {low:g}"
    return f" in {'(' if open_low else '['}{low:g}, {high:g}]"
