"""Tables of variables, one row for each: CSV files and DataFrames."""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from szoht.core.csv_text import parse_csv
from szoht.core.text_files import read_text
from szoht.core.validation import shown
from szoht.errors import ParameterError, ParameterTypeError

__all__ = ["read_csv", "read_frame"]

SWITCHES = {"on": 1.0, "off": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}

FLAGS = SWITCHES | {"y": 1.0, "n": 0.0, "t": 1.0, "f": 0.0, "x": 1.0}
"""As people tick boxes."""

CATEGORIES = (
    "Categories without an order are no numbers: make one on/off variable for each, or run once "
    "for each."
)


def read_csv(path: Path) -> dict[str, Any]:
    """Return the arguments of `Variables` in a file with a header."""
    rows = parse_csv(read_text(path), str(path)).rows
    if not rows:
        raise ParameterError(f"`variables` must be a table with a header; {path} is empty.")
    columns = [cell.lower() for cell in rows[0][1]]
    _check_columns(columns, str(path))
    records = []
    for line, row in rows[1:]:
        if len(row) > len(columns):
            raise ParameterError(
                f"`variables` must have {len(columns)} cells in each line, as in the header; got "
                f"{len(row)} in line {line} of {path}."
            )
        records.append((f"line {line} of {path}", dict(zip(columns, row, strict=False))))
    return _arguments(columns, records, str(path))


def read_frame(frame: Any) -> dict[str, Any]:
    """Return the arguments of `Variables` in a DataFrame."""
    if not all(hasattr(frame, name) for name in ("columns", "index", "itertuples")):
        raise ParameterTypeError(f"`frame` must be a DataFrame; got {shown(frame)}.")
    columns = [str(column).strip().lower() for column in frame.columns]
    _check_columns(columns, "the DataFrame")
    rows = list(frame.itertuples(index=False, name=None))
    index = [str(entry) for entry in frame.index]
    if "name" not in columns and type(frame.index).__name__ != "RangeIndex":
        columns = ["name", *columns]
        rows = [(name, *row) for name, row in zip(index, rows, strict=True)]
    records = [
        (f"row {name!r} of the DataFrame", dict(zip(columns, row, strict=True)))
        for name, row in zip(index, rows, strict=True)
    ]
    return _arguments(columns, records, "the DataFrame")


def _check_columns(columns: Sequence[str], where: str) -> None:
    for column in columns:
        if column not in PARSERS:
            near = difflib.get_close_matches(column, PARSERS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(
                f"`variables` may have the columns {', '.join(PARSERS)}; got {column!r} in "
                f"{where}.{hint}"
            )
        if columns.count(column) > 1:
            raise ParameterError(f"`variables` must have one column {column!r}; {where} has two.")
    if "nominal" not in columns:
        raise ParameterError(
            f"`variables` must have a column 'nominal'; {where} has {', '.join(columns)}."
        )


def _arguments(
    columns: Sequence[str], records: Sequence[tuple[str, Mapping[str, Any]]], where: str
) -> dict[str, Any]:
    if not records:
        raise ParameterError(f"`variables` must have at least one row; {where} has none.")
    table = {
        column: [_parse(column, record.get(column), place) for place, record in records]
        for column in columns
    }
    for (place, _), nominal in zip(records, table["nominal"], strict=True):
        if nominal is None:
            raise ParameterError(f"`nominal` must be given for each variable; {place} has none.")
    if "name" in table:
        table["names"] = table.pop("name")
        if any(name is None for name in table["names"]):
            raise ParameterError(f"`name` must be given for each variable; {where} has a gap.")
    if "start" in table:
        pairs = zip(table["start"], table["nominal"], strict=True)
        table["start"] = [nominal if start is None else start for start, nominal in pairs]
    return table


def _parse(column: str, cell: Any, place: str) -> Any:
    is_empty = cell is None or (isinstance(cell, str) and cell == "")
    if is_empty or (isinstance(cell, float) and math.isnan(cell)):
        return None
    try:
        return PARSERS[column](cell)
    except Exception as error:  # a DataFrame may hold anything
        hint = f" {CATEGORIES}" if column in ("nominal", "values") else ""
        expected = EXPECTED.get(column, "a number")
        raise ParameterError(
            f"`{column}` must be {expected}; got {shown(cell)} in {place}.{hint}"
        ) from error


def _number(cell: Any) -> float:
    if isinstance(cell, str) and cell.lower() in SWITCHES:
        return SWITCHES[cell.lower()]
    return float(cell)


def _flag(cell: Any) -> bool:
    number = FLAGS[cell.lower()] if isinstance(cell, str) and cell.lower() in FLAGS else float(cell)
    if number not in (0.0, 1.0):
        raise ValueError(cell)
    return bool(number)


def _list(cell: Any) -> list[float]:
    parts = cell.replace("|", " ").split() if isinstance(cell, str) else list(cell)
    return sorted(map(_number, parts))


PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "name": str,
    "nominal": _number,
    "low": _number,
    "high": _number,
    "unit": _number,
    "log": _flag,
    "integer": _flag,
    "values": _list,
    "start": _number,
}
"""The columns of a table, and how a cell is read."""

EXPECTED = {"log": "yes or no", "integer": "yes or no", "values": "numbers separated by spaces"}
