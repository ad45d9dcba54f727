"""Prices or returns from a CSV file: a column of dates, then one column per asset."""

import csv
import os
from pathlib import Path

import numpy as np

from szoht.errors import DataError
from szoht.problems.assets import Assets, check_table, from_returns
from szoht.types import Vector

__all__ = ["read_prices", "read_returns"]


def read_prices(file: str | os.PathLike[str]) -> Assets:
    """Read prices, oldest first, and turn them into simple returns p_t / p_(t-1) - 1.

    The first line names the assets, the first column holds dates or any other labels.

    Raises
    ------
    DataError
        With line and column, where a price is missing, not a number or not positive.
    """
    names, lines, prices = _read(Path(file))
    if not (prices > 0).all():
        row, column = np.argwhere(~(prices > 0))[0]
        raise DataError(
            f"{file}, line {lines[row]}: prices must be positive; that of {names[column]!r} is "
            f"{prices[row, column]:g}. If the file holds returns already, say so (--returns)."
        )
    if len(prices) < 3:  # noqa: PLR2004
        raise DataError(
            f"{file} must have at least 3 rows of prices, for 2 returns; got {len(prices)}."
        )
    return _named(file, prices[1:] / prices[:-1] - 1.0, names)


def read_returns(file: str | os.PathLike[str]) -> Assets:
    """Read simple returns per period, in the same layout as prices."""
    names, _, returns = _read(Path(file))
    return _named(file, returns, names)


def _named(file: str | os.PathLike[str], returns: Vector, names: list[str]) -> Assets:
    try:
        return from_returns(returns, names)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error


def _read(file: Path) -> tuple[list[str], list[int], Vector]:
    """Return the names, the line of each row, and the numbers."""
    with file.open(newline="", encoding="utf-8-sig", errors="replace") as stream:
        reader = csv.reader(stream)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    if not rows:
        raise DataError(f"{file} is empty; its first line must name the assets.")
    names = [cell.strip() for cell in rows[0][1][1:]]
    if not names:
        raise DataError(f"{file}, line 1: expected a column of dates and one per asset; got one.")
    lines = [line for line, _ in rows[1:]]
    table = [_numbers(file, line, row[1:], names) for line, row in rows[1:]]
    numbers = np.array(table, dtype=float).reshape(len(table), len(names))
    try:
        check_table(numbers, names, what="rows")
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    return names, lines, numbers


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
