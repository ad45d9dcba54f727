"""The order of the rows of a table, from the dates in its first column."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from szoht.errors import DataError
from szoht.types import Indices

__all__ = ["order_of_rows"]

DAYS = (
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
MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%b-%y", "%b-%Y", "%B %Y")
TIMES = ("", " %H:%M", " %H:%M:%S")

Parser = Callable[[str], Any]
"""From a label to something that can be compared; raises ValueError."""


def order_of_rows(labels: Sequence[str], places: Sequence[str]) -> Indices:
    """Return the numbers of the rows, oldest first.

    Labels of which none is a date or a number say nothing of the order: the rows stay as they are.

    Parameters
    ----------
    labels : sequence of str
        The first column.
    places : sequence of str
        What an error calls each row, such as "prices.csv, line 2".

    Raises
    ------
    DataError
        If a date occurs twice, if only some labels are dates, or if they may be read as
        day/month and as month/day and the order depends on it.

    Examples
    --------
    >>> order_of_rows(["31.01.2024", "28.02.2024", "15.02.2024"], ["line 2", "line 3", "line 4"])
    array([0, 2, 1])
    """
    read = [_read(labels, parse) for parse in _parsers()]
    longest = max(map(len, read))
    if longest < len(labels):
        if longest or any(_read(labels[-1:], parse) for parse in _parsers()):
            like = "those before" if longest else "the last"
            raise DataError(f"{places[longest]}: {labels[longest]!r} is no date like {like}.")
        return np.arange(len(labels))
    dates = [found for found in read if len(found) == len(labels)]
    order, *others = (np.argsort(_ranks(found), kind="stable") for found in dates)
    _refuse_duplicates(dates[0], labels, places)
    if any((other != order).any() for other in others):
        raise DataError(
            f"{places[0]}: {labels[0]!r} and the dates below may be read as day/month or as "
            "month/day, and the order of the rows depends on it. Write year-month-day, such as "
            "2024-01-31."
        )
    return order


def _parsers() -> list[Parser]:
    formats = [day + time for day in DAYS for time in TIMES] + list(MONTHS)
    return [_iso, *(partial(_strptime, form) for form in formats), _number]


def _iso(label: str) -> datetime:
    moment = datetime.fromisoformat(label)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _strptime(form: str, label: str) -> datetime:
    return datetime.strptime(label, form)


def _number(label: str) -> float:
    """Read a year, or the number of a day or of a row."""
    number = float(label)
    if not np.isfinite(number):
        raise ValueError(label)
    return number


def _read(labels: Sequence[str], parse: Parser) -> list[Any]:
    """Return what the first labels mean, up to one that cannot be read."""
    found = []
    for label in labels:
        try:
            found.append(parse(label))
        except ValueError:
            break
    return found


def _ranks(dates: Sequence[Any]) -> list[int]:
    place = {date: rank for rank, date in enumerate(sorted(set(dates)))}
    return [place[date] for date in dates]


def _refuse_duplicates(dates: Sequence[Any], labels: Sequence[str], places: Sequence[str]) -> None:
    first: dict[Any, int] = {}
    for row, date in enumerate(dates):
        if date in first:
            raise DataError(
                f"{places[row]}: the date {labels[row]!r} is also that of {places[first[date]]}. "
                "Drop one of the two."
            )
        first[date] = row
