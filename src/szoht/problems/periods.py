"""How many periods a year has, from the dates of the rows."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PeriodsPerYear", "periods_per_year"]

DAYS_OF_YEAR = 365.25

REGULAR = {
    "weekly": (6.0, 8.0, 52.0),
    "monthly": (27.5, 32.0, 12.0),
    "quarterly": (88.0, 95.0, 4.0),
    "half-yearly": (178.0, 187.0, 2.0),
    "yearly": (360.0, 371.0, 1.0),
}
"""Least and largest median distance in days, and how many periods a year then has."""

TRADING_DAYS, ALL_DAYS = 252.0, 365.0
"""In a year: of an exchange, and of markets that never close."""

SATURDAY, WEEKENDS = 5, 0.1
"""Share of Saturdays and Sundays, 2/7 where markets never close and 0 at exchanges."""

FIRST_YEAR, LAST_YEAR = 1800, 2200
"""Numbers between these that count by one are years."""


class PeriodsPerYear(NamedTuple):
    """A number, and what it follows from."""

    number: float
    source: str


def periods_per_year(dates: Sequence[Any]) -> PeriodsPerYear | None:
    """Return how many periods a year has, None if labels are no dates or too few.

    The median distance between dates decides, so that holidays do not matter. Where there are
    several dates a day, the mean does: nights count as well.

    Parameters
    ----------
    dates : sequence of datetime, or of numbers
        In ascending order, all different. Of numbers, only years say something.

    Examples
    --------
    >>> weeks = [datetime(2024, 1, 5), datetime(2024, 1, 12), datetime(2024, 1, 19)]
    >>> periods_per_year(weeks)
    PeriodsPerYear(number=52.0, source='weekly dates')
    """
    if len(dates) < 2:  # noqa: PLR2004
        return None
    if not isinstance(dates[0], datetime):
        return _of_numbers(dates)
    days = [(date - dates[0]) / timedelta(days=1) for date in dates]
    distance = float(np.median(np.diff(days)))
    if distance < 1:
        mean = days[-1] / (len(days) - 1)
        return PeriodsPerYear(DAYS_OF_YEAR / mean, f"{1 / mean:.3g} dates a day")
    return _of_days(dates) if distance == 1 else _of_distance(distance)


def _of_numbers(labels: Sequence[float]) -> PeriodsPerYear | None:
    by_one = bool((np.diff(np.asarray(labels, dtype=float)) == 1).all())
    years = by_one and labels[0] >= FIRST_YEAR and labels[-1] <= LAST_YEAR
    return PeriodsPerYear(1.0, "years") if years else None


def _of_days(dates: Sequence[datetime]) -> PeriodsPerYear:
    weekends = np.mean([date.weekday() >= SATURDAY for date in dates])
    if weekends > WEEKENDS:
        return PeriodsPerYear(ALL_DAYS, "daily dates, weekends among them")
    return PeriodsPerYear(TRADING_DAYS, "daily dates")


def _of_distance(days: float) -> PeriodsPerYear:
    for name, (least, largest, number) in REGULAR.items():
        if least <= days <= largest:
            return PeriodsPerYear(number, f"{name} dates")
    return PeriodsPerYear(DAYS_OF_YEAR / days, f"{days:.3g} days between dates")
