"""Prices or returns from a CSV file: a column of dates, then one column per asset."""

import math
import os
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.core.csv_text import parse_csv
from szoht.core.text_files import read_text
from szoht.core.validation import check_choice
from szoht.errors import DataError, DataWarning, ParameterError, warn
from szoht.problems.assets import Assets, check_table, from_returns
from szoht.problems.dates import RowDates, read_dates
from szoht.problems.periods import PeriodsPerYear
from szoht.types import Vector

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
    before; an asset without a first price is left out then, too. What is left out is told by a
    `DataWarning`, and assets are in ``dropped``. ``periods`` says how many periods a year has,
    as far as the dates tell.

    Raises
    ------
    DataError
        With line and column, where a price is missing and ``missing`` is None, where one is not a
        number or not positive, a date occurs twice or the order of the dates is not clear.
    """
    table = _read(Path(file), missing)
    prices = table.numbers
    if not (prices > 0).all():
        row, column = np.argwhere(~(prices > 0))[0]
        raise DataError(
            f"{file}, line {table.lines[row]}: prices must be positive; that of "
            f"{table.names[column]!r} is {prices[row, column]:g}. If these are returns, use "
            "`read_returns` (--returns)."
        )
    if len(prices) < 3:  # noqa: PLR2004
        raise DataError(
            f"{file} must have at least 3 rows of prices, for 2 returns; got {len(prices)}."
        )
    return table.assets(prices[1:] / prices[:-1] - 1.0)


def read_returns(file: str | os.PathLike[str], *, missing: Missing | None = None) -> Assets:
    """Read simple returns per period, in the same layout as `read_prices`.

    A return is no price: it cannot be taken from the day before.
    """
    if missing == "forward-fill":
        raise ParameterError(
            "`missing` must be 'drop-assets' or 'drop-days' for returns; got 'forward-fill', which "
            "would repeat the return of the day before."
        )
    table = _read(Path(file), missing)
    return table.assets(table.numbers)


@dataclass(frozen=True, kw_only=True)
class _Table:
    """The columns of a file, the line of each row, and the numbers, oldest row first."""

    file: Path
    names: list[str]
    lines: list[int]
    numbers: Vector
    dropped: tuple[str, ...] = ()
    periods: PeriodsPerYear | None = None

    def assets(self, returns: Vector) -> Assets:
        """Return what the returns say, with the names of the file."""
        try:
            found = from_returns(returns, self.names)
        except DataError as error:
            raise DataError(f"{self.file}: {error}") from error
        return replace(found, dropped=self.dropped, periods=self.periods)


def _read(file: Path, missing: Missing | None) -> _Table:
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
    order, periods = _dates(file, lines, [row[0] for _, row in rows[1:]])
    read = _Table(
        file=file,
        names=names,
        lines=[lines[i] for i in order],
        numbers=numbers[order],
        periods=periods,
    )
    if missing is not None:
        read = _without_missing(read, missing)
    try:
        check_table(read.numbers, read.names, what="rows")
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    return read


def _without_missing(table: _Table, missing: Missing) -> _Table:
    """Return the table without missing numbers, and warn of what is left out."""
    check_choice("missing", missing, get_args(Missing))
    numbers, names = table.numbers, table.names
    if missing == "forward-fill":
        for before, row in pairwise(numbers):
            np.copyto(row, before, where=np.isnan(row))
    gaps = np.isnan(numbers)
    if missing == "drop-days":
        days = np.flatnonzero(~gaps.any(axis=1))
        if days.size < len(numbers):
            count = f"{len(numbers) - days.size:,} of {len(numbers):,}"
            warn(f"{table.file}: rows that lack a number are left out, {count}.", DataWarning)
        return replace(table, lines=[table.lines[i] for i in days], numbers=numbers[days])
    assets = np.flatnonzero(~gaps.any(axis=0))
    if not assets.size:
        raise DataError(
            f"{table.file}: no asset is left without a missing value. Drop days instead."
        )
    dropped = tuple(names[i] for i in np.flatnonzero(gaps.any(axis=0)))
    if dropped:
        which = "have no first price" if missing == "forward-fill" else "lack a number"
        count = f"{len(dropped):,} of {len(names):,}: {', '.join(dropped)}"
        warn(f"{table.file}: assets that {which} are left out, {count}.", DataWarning)
    kept = [names[i] for i in assets]
    return replace(table, names=kept, numbers=numbers[:, assets], dropped=dropped)


def _dates(file: Path, lines: list[int], labels: list[str]) -> RowDates:
    """Return what the dates say, with a warning if the rows are not sorted by them."""
    found = read_dates(labels, [f"{file}, line {line}" for line in lines])
    falls = np.diff(found.order) < 0
    if falls.any():
        what = "newest first" if falls.all() else "not in the order of their dates"
        warn(f"{file}: the rows are {what}; they were sorted, oldest first.", DataWarning)
    return found


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
