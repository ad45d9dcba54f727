"""Coordinates of a sparse set that are free and not counted: intercepts, diagonals."""

import numpy as np

from szoht.core.validation import check_integer, shown
from szoht.errors import ParameterTypeError
from szoht.operators.base import largest
from szoht.types import Indices, Vector

__all__ = ["as_always", "check_always", "count_others", "describe_always", "with_always"]


def as_always(always: object) -> tuple[int, ...]:
    """Return the coordinates in order, each once."""
    try:
        given = None if isinstance(always, str) else list(always)  # type: ignore[call-overload]
    except TypeError:
        given = None
    if given is None:
        raise ParameterTypeError(f"`always` must be a list of coordinates; got {shown(always)}.")
    return tuple(sorted({check_integer("always", i, low=0, high_name="d - 1") for i in given}))


def check_always(always: tuple[int, ...], d: int) -> None:
    """Raise unless all of the coordinates exist."""
    for i in always[-1:]:
        check_integer("always", i, low=0, high=d - 1, high_name="d - 1")


def describe_always(always: tuple[int, ...]) -> str:
    """Return the coordinates as the last argument of a call, nothing if there are none."""
    return f", always={list(always)}" if always else ""


def count_others(x: Vector, always: tuple[int, ...]) -> int:
    """Return how many coordinates that count are not zero."""
    return int(np.count_nonzero(x)) - int(np.count_nonzero(x[list(always)]) if always else 0)


def with_always(scores: Vector, k: int, always: tuple[int, ...]) -> Indices:
    """Return the coordinates to keep: those that are free, and the k best of the others."""
    if not always:
        return largest(scores, k)
    free = np.asarray(always, dtype=np.intp)
    others = np.delete(np.arange(scores.size), free)
    return np.union1d(free, others[largest(scores[others], k)])
