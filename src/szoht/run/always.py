"""Variables that are free and not counted, as the user names them."""

from collections.abc import Sequence
from typing import TypeAlias

from szoht.core.algorithm import Algorithm
from szoht.core.validation import shown
from szoht.core.variables import Variables
from szoht.errors import ParameterError, ParameterTypeError
from szoht.operators.always import as_always, check_always

__all__ = ["Always", "coordinates_of"]

Always: TypeAlias = Sequence[int | str] | None
"""Coordinates by number, or variables by name."""


def coordinates_of(
    always: Sequence[int | str], d: int, variables: Variables | None, *, method: str | Algorithm
) -> tuple[int, ...]:
    """Return the coordinates that are free and not counted, sorted."""
    if not isinstance(method, str):
        raise ParameterError(
            "`always` is part of the constraint of an algorithm object and must not be given "
            f"beside it; got always={shown(always)}. Pass it Sparse(k, always=...)."
        )
    try:
        always = [always] if isinstance(always, str) else list(always)
    except TypeError as error:
        raise ParameterTypeError(
            f"`always` must be a list of variables, by number or name; got always={shown(always)}."
        ) from error
    labels = () if variables is None else variables.labels
    places = {label: i for i, label in enumerate(labels)}
    for name in always:
        if isinstance(name, str) and name not in places:
            known = f"they are {', '.join(labels[:10])}" if labels else "they have none; pass names"
            raise ParameterError(
                f"`always` must name variables, or be their numbers; got {shown(name)}, and "
                f"{known}."
            )
    free = as_always([places[i] if isinstance(i, str) else i for i in always])
    check_always(free, d)
    return free
