"""Prices or returns from a CSV file: a column of dates, then one column per asset."""

import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.core.csv_text import parse_csv
from szoht.core.text_files import read_text
from szoht.core.validation import check_choice
from szoht.errors import DataError, DataWarning, ParameterError, warn
from szoht.problems.assets import Assets, check_table, from_returns
from szoht.problems.dates import chronological_order
from szoht.types import Indices, Vector

__all__ = ["Missing", "read_prices", "read_returns"]

EMPTY = ("", "nan", "na", "n/a", "null", "-")
"""Cells without a number, in lower case."""

Missing: TypeAlias = Literal["drop-assets", "drop-days", "forward-fill"]
"""What to do about cells without a number."""


def read_prices(file: str | os.PathLike[str], *, missing: Missing | None = None) -> Assets:
    """Read prices and turn them into simple returns p_t / p_(t-1) - 1.

    The first line names the assets, the first column holds dates, or numbers such as years. Rows
    that are not in ascending order are sorted, with a `DataWarning`. Other labels are accepted if
    none of them is a date; the rows must then be in order, oldest first. Columns are separated by
    commas, tabs or semicolons; with semicolons, 1,5 is a number. ``missing`` says what to do about
    empty cells: leave out the assets or the days that have one, or take the price of the day
    before; an asset without a first price is left out then, too.

    Raises
    ------
    DataError
        With line and column, where a price is missing and ``missing`` is None, where one is not a
        number or not positive, a date occurs twice or the order of the dates is not clear.
    """
    names, lines, prices = _read(Path(file), missing)
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


def read_returns(file: str | os.PathLike[str], *, missing: Missing | None = None) -> Assets:
    """Read simple returns per period, in the same layout as `read_prices`.

    A return is no price: it cannot be taken from the day before.
    """
    if missing == "forward-fill":
        raise ParameterError(
            "`missing` must be 'drop-assets' or 'drop-days' for returns; got 'forward-fill', which "
            "would repeat the return of the day before."
        )
    names, _, returns = _read(Path(file), missing)
    return _named(file, returns, names)


def _named(file: str | os.PathLike[str], returns: Vector, names: list[str]) -> Assets:
    try:
        return from_returns(returns, names)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error


def _read(file: Path, missing: Missing | None) -> tuple[list[str], list[int], Vector]:
    """Return the names, the line of each row, and the numbers, oldest row first."""
    found = parse_csv(read_text(file), str(file))
    rows = found.rows
    if not rows:
        raise DataError(f"{file} is empty; its first line must name the assets.")
    names = rows[0][1][1:]
    if not names:
        raise DataError(
            f"{file}, line 1: expected a column of dates and one per asset; got one. Separate "
            "columns by commas, semicolons or tabs."
        )
    lines = [line for line, _ in rows[1:]]
    decimal = "," if found.delimiter == ";" else "."
    table = [
        _numbers(file, line, [cell.replace(decimal, ".") for cell in row[1:]], names, missing)
        for line, row in rows[1:]
    ]
    numbers = np.array(table, dtype=float).reshape(len(table), len(names))
    order = _order(file, lines, [row[0] for _, row in rows[1:]])
    lines, numbers = [lines[i] for i in order], numbers[order]
    try:
        if missing is not None:
            names, lines, numbers = _without_missing(names, lines, numbers, missing)
        check_table(numbers, names, what="rows")
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    return names, lines, numbers


def _without_missing(
    names: list[str], lines: list[int], numbers: Vector, missing: Missing
) -> tuple[list[str], list[int], Vector]:
    """Return the table without missing numbers; the rows are in the order of their dates."""
    check_choice("missing", missing, get_args(Missing))
    if missing == "forward-fill":
        for before, row in pairwise(numbers):
            np.copyto(row, before, where=np.isnan(row))
    gaps = np.isnan(numbers)
    if missing == "drop-days":
        days = np.flatnonzero(~gaps.any(axis=1))
        return names, [lines[i] for i in days], numbers[days]
    assets = np.flatnonzero(~gaps.any(axis=0))
    if not assets.size:
        raise DataError("no asset is left without a missing value. Drop days instead.")
    return [names[i] for i in assets], lines, numbers[:, assets]


def _order(file: Path, lines: list[int], labels: list[str]) -> Indices:
    """Return the chronological order of the rows, with a warning if they are not sorted."""
    order = chronological_order(labels, [f"{file}, line {line}" for line in lines])
    descending = (np.diff(order) < 0).all()
    if (np.diff(order) < 0).any():
        found = "newest first" if descending else "not in the order of their dates"
        warn(f"{file}: the rows are {found}; they were sorted, oldest first.", DataWarning)
    return order


def _numbers(
    file: Path, line: int, cells: list[str], names: list[str], missing: Missing | None
) -> list[float]:
    if len(cells) != len(names):
        raise DataError(
            f"{file}, line {line}: expected a label and {len(names)} numbers; got a label and "
            f"{len(cells)}."
        )
    return [
        math.nan if missing and cell.lower() in EMPTY else _number(file, line, cell, name)
        for cell, name in zip(cells, names, strict=True)
    ]


def _number(file: Path, line: int, cell: str, name: str) -> float:
    try:
        number = float(cell or "nan")
    except ValueError as error:
        raise DataError(
            f"{file}, line {line}, column {name!r}: {cell!r:.60} is not a number."
        ) from error
    if not np.isfinite(number):
        raise DataError(
            f"{file}, line {line}, column {name!r}: the value is missing ({cell!r}). Choose by "
            "`missing` (--missing) what to do: 'drop-assets', 'drop-days' or 'forward-fill'."
        )
    return number
