"""A constraint as JSON: a set and its parameters."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from szoht.cli.options import read_vector
from szoht.core.json_text import parse_json, read_json
from szoht.core.operator import Operator
from szoht.core.validation import check_choice
from szoht.errors import ParameterError, ParameterTypeError
from szoht.store.names import PATHS, find_class

__all__ = ["SETS", "read_constraint"]

SETS = tuple(sorted(PATHS["Operator"]))


def read_constraint(text: str) -> Operator:
    """Return the constraint that JSON text, or a file with it, states.

    >>> read_constraint('{"set": "low_rank", "r": 2, "shape": [3, 4]}')
    LowRank(r=2, shape=(3, 4))
    """
    inline = text.lstrip().startswith("{")
    if inline:
        return _operator(parse_json(text, "`constraint`"), Path())
    path = Path(text)
    return _operator(read_json(path, f"`constraint` {path}"), path.parent)


def _operator(stated: object, folder: Path) -> Operator:
    if not isinstance(stated, Mapping) or "set" not in stated:
        raise ParameterTypeError(
            '`constraint` must be a JSON object with "set" and the parameters of the set; got '
            f"{stated!r:.60}."
        )
    name = check_choice("set", stated["set"], SETS)
    kind = find_class(name)[1]
    parameters = {key: _value(key, value, folder) for key, value in stated.items() if key != "set"}
    try:
        inspect.signature(kind).bind(**parameters)
    except TypeError as error:
        raise ParameterError(
            f"`constraint` must have the parameters of {kind.__name__}{inspect.signature(kind)}; "
            f"{error}."
        ) from error
    operator: Operator = kind(**parameters)
    return operator


def _value(name: str, value: object, folder: Path) -> Any:
    """Return a parameter: a set, the array in a file, or what it is."""
    if isinstance(value, Mapping):
        return _operator(value, folder)
    if isinstance(value, str) and value.endswith(".npy"):
        return read_vector(name, folder / value)
    return value
