"""Prices or returns from a CSV file: a column of dates, then one column per asset."""

import csv
import os
from pathlib import Path

import numpy as np

from szoht.errors import DataError, DataWarning, warn
from szoht.problems.assets import Assets, check_table, from_returns
from szoht.problems.dates import chronological_order
from szoht.types import Indices, Vector

__all__ = ["read_prices", "read_returns"]

SEPARATORS = ",;\t"


def read_prices(file: str | os.PathLike[str]) -> Assets:
    """Read prices and turn them into simple returns p_t / p_(t-1) - 1.

    The first line names the assets, the first column holds dates, or numbers such as years. Rows
    that are not in ascending order are sorted, with a `DataWarning`. Other labels are accepted if
    none of them is a date; the rows must then be in order, oldest first. Columns are separated by
    commas, tabs or semicolons; with semicolons, 1,5 is a number.

    Raises
    ------
    DataError
        With line and column, where a price is missing, not a number or not positive, a date occurs
        twice or the order of the dates is not clear.
    """
    names, lines, prices = _read(Path(file))
    if not (prices > 0).all():
        row, column = np.argwhere(~(prices > 0))[0]
        raise DataError(
            f"{file}, line {lines[row]}: prices must be positive; that of {names[column]!r} is "
            f"{prices[row, column]:g}. If these are returns, use `read_returns` (--returns)."
        )
    if len(prices) < 3:  # noqa: PLR2004
        raise DataError(
            f"{file} must have at least 3 rows of prices, for 2 returns; got {len(prices)}."
        )
    return _named(file, prices[1:] / prices[:-1] - 1.0, names)


def read_returns(file: str | os.PathLike[str]) -> Assets:
    """Read simple returns per period, in the same layout as `read_prices`."""
    names, _, returns = _read(Path(file))
    return _named(file, returns, names)


def _named(file: str | os.PathLike[str], returns: Vector, names: list[str]) -> Assets:
    try:
        return from_returns(returns, names)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error


def _read(file: Path) -> tuple[list[str], list[int], Vector]:
    """Return the names, the line of each row, and the numbers, oldest row first."""
    with file.open(newline="", encoding="utf-8-sig", errors="replace") as stream:
        text = stream.read()
    separator = _separator(text)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=separator)
    rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    if not rows:
        raise DataError(f"{file} is empty; its first line must name the assets.")
    names = [cell.strip() for cell in rows[0][1][1:]]
    if not names:
        raise DataError(
            f"{file}, line 1: expected a column of dates and one per asset; got one. Separate "
            "columns by commas, semicolons or tabs."
        )
    lines = [line for line, _ in rows[1:]]
    decimal = "," if separator == ";" else "."
    table = [
        _numbers(file, line, [cell.replace(decimal, ".") for cell in row[1:]], names)
        for line, row in rows[1:]
    ]
    numbers = np.array(table, dtype=float).reshape(len(table), len(names))
    try:
        check_table(numbers, names, what="rows")
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    order = _order(file, lines, [row[0].strip() for _, row in rows[1:]])
    return names, [lines[i] for i in order], numbers[order]


def _separator(text: str) -> str:
    """Return the separator that gives the most columns in the first non-blank line."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(SEPARATORS, key=lambda char: len(next(csv.reader([first], delimiter=char), [])))


def _order(file: Path, lines: list[int], labels: list[str]) -> Indices:
    """Return the chronological order of the rows, with a warning if they are not sorted."""
    order = chronological_order(labels, [f"{file}, line {line}" for line in lines])
    descending = (np.diff(order) < 0).all()
    if (np.diff(order) < 0).any():
        found = "newest first" if descending else "not in the order of their dates"
        warn(f"{file}: the rows are {found}; they were sorted, oldest first.", DataWarning)
    return order


def _numbers(file: Path, line: int, cells: list[str], names: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise DataError(
            f"{file}, line {line}: expected a label and {len(names)} numbers; got a label and "
            f"{len(cells)}."
        )
    return [_number(file, line, *pair) for pair in zip(cells, names, strict=True)]


def _number(file: Path, line: int, cell: str, name: str) -> float:
    try:
        number = float(cell.strip() or "nan")
    except ValueError as error:
        raise DataError(
            f"{file}, line {line}, column {name!r}: {cell!r} is not a number."
        ) from error
    if not np.isfinite(number):
        raise DataError(
            f"{file}, line {line}, column {name!r}: the value is missing ({cell!r}). Fill it or "
            "drop the line first."
        )
    return number
