"""Order and periods of the rows of a table, from the dates in its first column."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from szoht.errors import DataError
from szoht.problems.periods import PeriodsPerYear, periods_per_year
from szoht.types import Indices

__all__ = ["RowDates", "read_dates"]

DATE_FORMATS = (
    "%Y/%m/%d",
    "%y-%m-%d",
    "%y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
MONTH_FORMATS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%b-%y", "%b-%Y", "%B %Y")
TIME_FORMATS = ("", " %H:%M", " %H:%M:%S")

Parser = Callable[[str], Any]
"""From a label to a comparable value; raises ValueError."""


class RowDates(NamedTuple):
    """The indices of the rows, oldest first, and how many periods their dates say a year has."""

    order: Indices
    periods: PeriodsPerYear | None


def read_dates(labels: Sequence[str], row_names: Sequence[str]) -> RowDates:
    """Return what the first column says about the rows.

    If no label is a date or a number, the rows keep their order. Periods are unknown where dates
    may be read as day/month and as month/day, and it matters for their distance.

    Parameters
    ----------
    labels : sequence of str
        The first column.
    row_names : sequence of str
        Names of the rows in error messages, such as "prices.csv, line 2".

    Raises
    ------
    DataError
        If a date occurs twice, if only some labels are dates, or if they may be read as
        day/month and as month/day and the order depends on it.

    Examples
    --------
    >>> read_dates(["31.01.2024", "28.02.2024", "15.02.2024"], ["row 1", "row 2", "row 3"]).order
    array([0, 2, 1])
    """
    read = [_read(labels, parse) for parse in _parsers()]
    n_parsed = max(map(len, read))
    if n_parsed < len(labels):
        if n_parsed or any(_read(labels[-1:], parse) for parse in _parsers()):
            like = "those before" if n_parsed else "the last"
            raise DataError(
                f"{row_names[n_parsed]}: {labels[n_parsed]!r} is not a date like {like}."
            )
        return RowDates(np.arange(len(labels)), None)
    dates = [found for found in read if len(found) == len(labels)]
    order, *others = (np.argsort(_ranks(found), kind="stable") for found in dates)
    _check_unique(dates[0], labels, row_names)
    if any((other != order).any() for other in others):
        raise DataError(
            f"{row_names[0]}: {labels[0]!r} and the dates below may be read as day/month or as "
            "month/day, and the order of the rows depends on it. Write year-month-day, such as "
            "2024-01-31."
        )
    readings = {periods_per_year([found[i] for i in order]) for found in dates}
    return RowDates(order, readings.pop() if len(readings) == 1 else None)


def _parsers() -> list[Parser]:
    formats = [day + time for day in DATE_FORMATS for time in TIME_FORMATS] + list(MONTH_FORMATS)
    return [_iso, *(partial(_strptime, form) for form in formats), _number]


def _iso(label: str) -> datetime:
    date = datetime.fromisoformat(label)
    return date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None)


def _strptime(form: str, label: str) -> datetime:
    return datetime.strptime(label, form)


def _number(label: str) -> float:
    """Read a year, or the number of a day or of a row."""
    number = float(label)
    if not np.isfinite(number):
        raise ValueError(label)
    return number


def _read(labels: Sequence[str], parse: Parser) -> list[Any]:
    """Return the parsed labels up to the first that cannot be parsed."""
    found = []
    for label in labels:
        try:
            found.append(parse(label))
        except ValueError:
            break
    return found


def _ranks(dates: Sequence[Any]) -> list[int]:
    ranks = {date: rank for rank, date in enumerate(sorted(set(dates)))}
    return [ranks[date] for date in dates]


def _check_unique(dates: Sequence[Any], labels: Sequence[str], row_names: Sequence[str]) -> None:
    first: dict[Any, int] = {}
    for row, date in enumerate(dates):
        if date in first:
            raise DataError(
                f"{row_names[row]}: the date {labels[row]!r} is also that of "
                f"{row_names[first[date]]}. Drop one of the two."
            )
        first[date] = row
