"""What is wrong with variables: each message names the variable, the rule and the remedy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from szoht.errors import ParameterError
from szoht.types import Mask, Vector

if TYPE_CHECKING:
    from szoht.core.variables import Variables

__all__ = ["SMALLEST_FACTOR", "check_variables", "describe_variable"]

LARGEST_INTEGER = 2.0**53
"""Up to here every integer is a floating-point number."""

SMALLEST_FACTOR = float(np.finfo(np.float64).tiny)
"""On a logarithmic scale."""


def check_variables(v: "Variables") -> None:
    """Raise at the first rule that a variable breaks."""
    _check_names(v.names, v.nominal.size)
    empty = v.low > v.high
    listed = np.array([bool(entries) for entries in v.values] or [False])
    _refuse(
        v,
        v.integer & ~listed & (np.ceil(v.low) > np.floor(v.high)),
        "an integer variable needs an integer between `low` and `high`",
        "Widen the bounds",
    )
    _refuse(v, empty, "`low` must not exceed `high`", "Swap the bounds")
    _refuse(
        v,
        np.isposinf(v.low) | np.isneginf(v.high),
        "`low` must be below inf and `high` above -inf",
        "Leave a bound out where there is none",
    )
    _refuse(
        v,
        ~(np.isnan(v.unit) | ((v.unit > 0) & np.isfinite(v.unit))),
        "`unit` must be a finite number > 0",
        "Leave it out to have it chosen",
    )
    _refuse(
        v,
        v.log & v.integer,
        "a variable is an integer or on a logarithmic scale, not both",
        "List the integers as `values`, such as 1, 2, 4, 8",
    )
    _check_point(v, "nominal", v.nominal)
    _check_point(v, "start", v.start)


def describe_variable(names: Sequence[str], i: int) -> str:
    """Return how a message calls a variable."""
    return f"variable {names[i]!r}" if names else f"variable {i}"


def _check_names(names: Sequence[str], d: int) -> None:
    if names and len(names) != d:
        raise ParameterError(
            f"`names` must have one entry for each of the {d} variables; got {len(names)}."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ParameterError(f"`names` must differ; got {name!r} twice. Rename one.")
        seen.add(name)


def _check_point(v: "Variables", name: str, x: Vector) -> None:
    _refuse(
        v,
        v.log & ~((x >= SMALLEST_FACTOR) & (v.low >= 0)),
        f"`{name}` must be > 0 and `low` >= 0 on a logarithmic scale",
        "Drop `log` for this variable",
        name,
    )
    _refuse(
        v,
        (x < v.low) | (x > v.high),
        f"`{name}` must lie within the bounds",
        f"Widen the bounds, or change `{name}`",
        name,
    )
    lists = {i: entries for i, entries in enumerate(v.values) if entries}
    whole = v.integer.copy()
    whole[list(lists)] = False
    _refuse(
        v,
        whole & ((x != np.rint(x)) | (np.abs(x) > LARGEST_INTEGER)),
        f"`{name}` of an integer variable must be an integer",
        "Round it",
        name,
    )
    for i, entries in lists.items():
        if x[i] not in entries:
            raise ParameterError(
                f"`{name}` must be one of the variable's values; got "
                f"{describe_variable(v.names, i)} with {name}={x[i]:g}, values={entries}."
            )


def _refuse(v: "Variables", wrong: Mask, rule: str, remedy: str, point: str = "nominal") -> None:
    """Raise if any variable is wrong, naming the first of them."""
    if not wrong.any():
        return
    i = int(np.argmax(wrong))
    names = (point, "low", "high") + (("unit",) if "unit" in rule else ())
    got = ", ".join(f"{name}={getattr(v, name)[i]:g}" for name in names)
    raise ParameterError(f"{rule}; got {describe_variable(v.names, i)} with {got}. {remedy}.")
