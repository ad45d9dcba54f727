"""JSON from files and programs, whoever wrote them: numbers that are floats, text that is text."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from szoht.core.text_files import read_text
from szoht.errors import DataError

__all__ = ["parse_json", "read_json"]

MOST_LEVELS = 100
"""Of lists and objects in one another: nobody who reads them needs to fear for the stack."""


def read_json(path: Path, name: str | None = None) -> Any:
    """Return what a file with JSON holds, or raise a `DataError` that says what is wrong."""
    return parse_json(read_text(path, name), name or str(path))


def parse_json(text: str, name: str) -> Any:
    """Return what JSON says, or raise; ``name`` is what the message calls it.

    NaN and Infinity are read, as Python writes them.

    >>> parse_json('{"x": [1, 2.5, null]}', "x.json")
    {'x': [1, 2.5, None]}
    >>> parse_json("[" * 100_000, "x.json")
    Traceback (most recent call last):
    ...
    szoht.errors.DataError: x.json is nested too deeply: JSON may have at most 100 levels.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise DataError(_too_deep(name)) from error
    except ValueError as error:  # an integer of more than 4300 digits is one, too
        raise DataError(f"{name} is not JSON: {error}.") from error
    _check(value, name)
    return value


def _check(value: Any, name: str) -> None:
    """Raise at what others would stumble over; without recursion."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        for entry in level:
            _check_one(entry, name)
        nested = [entry for entry in level if isinstance(entry, list | dict)]
        if not nested:
            return
        level = [inner for entry in nested for inner in _inside(entry) if type(inner) is not float]
    raise DataError(_too_deep(name))


def _inside(entry: list[Any] | dict[str, Any]) -> Iterator[Any]:
    yield from entry
    if isinstance(entry, dict):
        yield from entry.values()


def _check_one(entry: Any, name: str) -> None:
    if isinstance(entry, int) and not -sys.float_info.max <= entry <= sys.float_info.max:
        raise DataError(f"{name} has an integer beyond the range of floating-point numbers.")
    if isinstance(entry, str) and not entry.isascii():
        try:
            entry.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{name} has text that is no Unicode: {entry[error.start]!r} is half of a "
                "character. Escape both halves, or none."
            ) from error


def _too_deep(name: str) -> str:
    return f"{name} is nested too deeply: JSON may have at most {MOST_LEVELS} levels."
