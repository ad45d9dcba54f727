"""Tiny checkers with one message style: parameter, rule, value."""

import math
import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from szoht.errors import AnswerShapeError, ParameterError, ParameterTypeError
from szoht.types import Indices, Mask, Vector

__all__ = [
    "answer_array",
    "as_array",
    "as_integers",
    "as_scalar",
    "check_choice",
    "check_flag",
    "check_integer",
    "check_real",
    "check_vector",
    "describe_entries",
    "describe_shape",
    "frozen",
    "real_array",
    "shown",
]

LARGEST_COUNT = 2**63 - 1
"""NumPy and stores count with 64 bits."""

SHOWN_CHARACTERS = 80

Array = TypeVar("Array", Vector, Indices, Mask)


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
        raise ParameterTypeError(f"{rule}; got {name}={shown(value)} of type {_type(value)}.")
    number = int(value)
    if number < low or number > (LARGEST_COUNT if high is None else high):
        context = f" with {high_name}={high}" if high_name and high is not None else ""
        if high is None and number > low:
            context = ", and at most 2**63 - 1 can be counted"
        raise ParameterError(f"{rule}; got {name}={shown(number)}{context}.")
    return number


def check_real(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    infinite: bool = False,
) -> float:
    """Return ``value`` as a finite float in [low, high], or (low, high] when ``open_low``.

    ``infinite`` allows inf too.
    """
    rule = f"`{name}` must be a {'' if infinite else 'finite '}number"
    rule += _interval(low, high, open_low)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ParameterTypeError(f"{rule}; got {name}={shown(value)} of type {_type(value)}.")
    try:
        number = float(value)
    except OverflowError as error:
        raise ParameterError(f"{rule}; got {name}={shown(value)}, beyond 1.8e308.") from error
    too_low = number <= low if open_low else number < low
    wrong = not math.isfinite(number) and not (infinite and number == math.inf)
    if wrong or too_low or number > high:
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


def as_array(name: str, value: object) -> np.ndarray:
    """Return an array of whatever there is, or raise where entries of different shapes make none.

    >>> as_array("edges", [[0, 1], [2]])
    Traceback (most recent call last):
    ...
    szoht.errors.ParameterTypeError: `edges` must be an array; got [[0, 1], [2]].
    """
    try:
        return np.array(value)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(f"`{name}` must be an array; got {shown(value)}.") from error


def as_integers(name: str, value: object) -> Indices:
    """Return a read-only 1-d array of integers, at least one, or raise."""
    array = as_array(name, value)
    if array.dtype.kind not in "iu":
        raise ParameterTypeError(f"`{name}` must hold integers; got an array of {array.dtype}.")
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(
            f"`{name}` must be 1-d with at least one entry; got shape {array.shape}."
        )
    return frozen(array.astype(np.intp))


def real_array(value: object) -> Vector:
    """Return a float64 copy, or raise a TypeError or a ValueError.

    Complex numbers are refused, where NumPy would drop a part of them.
    """
    detach = getattr(value, "detach", None)
    if callable(detach):  # a tensor of PyTorch, perhaps with a gradient or on another device
        value = detach().cpu().numpy()
    array = np.array(value)
    if array.dtype.kind == "c":
        raise TypeError("complex numbers are not real")
    try:
        return array.astype(np.float64)
    except OverflowError as error:  # an integer of 400 digits is an object
        raise ValueError("an integer is beyond the range of floating-point numbers") from error


def describe_entries(answer: list[object] | tuple[object, ...]) -> tuple[str, str]:
    """Say what a function returned in place of numbers, and what to do about it.

    Nothing is converted: entries of different shapes make no array.

    >>> describe_entries((0.5, np.zeros(3)))
    ('a tuple of 2 entries', '; pass the gradient as `gradient=`, or jac=True')
    """
    count = len(answer)
    what = f"a {type(answer).__name__} of {count} entr{'y' if count == 1 else 'ies'}"
    if count == 2:  # noqa: PLR2004
        return what, "; pass the gradient as `gradient=`, or jac=True"
    return what, "; return the value alone"


def as_scalar(answer: Any) -> Any:
    """Return the one number in an array or tensor of shape () or (1,), or in a Decimal.

    Anything else is returned as it is.

    >>> as_scalar(np.array([2.5])), as_scalar(Decimal("0.1")), as_scalar("no number")
    (2.5, 0.1, 'no number')
    """
    if isinstance(answer, Decimal):
        return float(answer)
    shape = getattr(answer, "shape", None)
    if shape is None or tuple(shape) not in ((), (1,)):
        return answer
    for method in ("item", "numpy"):  # of NumPy, PyTorch, JAX, pandas; of TensorFlow
        convert = getattr(answer, method, None)
        if callable(convert):
            number = convert()
            return number.item() if isinstance(number, np.ndarray) else number
    return answer


def answer_array(answer: object) -> np.ndarray:
    """Return what a function returned as an array, or raise if its entries make none."""
    try:
        return np.asarray(answer)
    except ValueError as error:  # entries of different shapes
        if not isinstance(answer, tuple | list):
            raise AnswerShapeError(f"The values must be an array of numbers: {error}.") from error
    what, remedy = describe_entries(answer)
    raise AnswerShapeError(f"The values must be an array of numbers; got {what}{remedy}.")


def describe_shape(answer: object) -> str:
    """Return the shape of ``answer`` for a message; of a tuple, how many entries it has."""
    if answer is None:
        return "None (is a `return` missing?)"
    if not isinstance(answer, tuple):
        return str(answer_array(answer).shape)
    what, remedy = describe_entries(answer)
    return f"{what}, not an array{remedy}"


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        kind = ParameterError if isinstance(value, str) else ParameterTypeError
        raise kind(f"`{name}` must be one of {listed}; got {name}={shown(value)}.")
    return str(value)


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False; 1 and 0 are."""
    if not isinstance(value, numbers.Integral | np.bool_) or value not in (0, 1):
        raise ParameterTypeError(
            f"`{name}` must be True or False; got {name}={shown(value)} of type {_type(value)}."
        )
    return bool(value)


def shown(value: object) -> str:
    """Return a short ``repr`` for a message, whatever it is of.

    >>> shown("k"), shown(10**400)
    ("'k'", 'an integer of 401 digits')
    """
    if isinstance(value, int) and value.bit_length() > SHOWN_CHARACTERS:
        digits = math.floor(math.log10(2) * value.bit_length()) + 1
        return f"an integer of {digits} digits"
    try:
        text = repr(value)
    except Exception:  # of an object that nobody expected
        return f"an object of type {_type(value)}"
    cut = text[: SHOWN_CHARACTERS - 3] + "..."
    return text if len(text) <= SHOWN_CHARACTERS else cut


def frozen(array: Array) -> Array:
    """Mark an array that we own as read-only and return it; a sparse vector always is."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def _type(value: object) -> str:
    return type(value).__name__


def _interval(low: float, high: float, open_low: bool) -> str:
    if low == -math.inf and high == math.inf:
        return ""
    if high == math.inf:
        return f" {'>' if open_low else '>='} {low:g}"
    return f" in {'(' if open_low else '['}{low:g}, {high:g}]"
