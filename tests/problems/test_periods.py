"""How many periods a year has, from dates."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from szoht.problems.dates import read_dates
from szoht.problems.periods import periods_per_year


def days(first, count, step=1.0):
    return [datetime.fromisoformat(first) + timedelta(days=step * i) for i in range(count)]


def ends(months, count):
    """Return the last weekday of every so many months."""
    found = []
    for i in range(1, count + 1):
        next_month = np.datetime64("2015-01") + np.timedelta64(months * i, "M")
        last = next_month.astype("datetime64[D]").item() - timedelta(days=1)
        found.append(last - timedelta(days=max(0, last.weekday() - 4)))
    return [datetime(day.year, day.month, day.day) for day in found]


TRADING = [day for day in days("2023-01-02", 500) if day.weekday() < 5]
HOLIDAYS = [day for i, day in enumerate(TRADING) if i % 13]
OPEN_HOURS = [day + timedelta(hours=h) for day in TRADING[:60] for h in range(9, 17)]


@pytest.mark.parametrize(
    ("dates", "number", "source"),
    [
        (TRADING, 252, "daily dates"),
        (HOLIDAYS, 252, "daily dates"),
        ([day + timedelta(hours=16) for day in TRADING], 252, "daily dates"),
        (days("2023-01-01", 100), 365, "daily dates, weekends among them"),
        (days("2023-01-06", 60, 7), 52, "weekly dates"),
        (ends(1, 40), 12, "monthly dates"),
        (ends(3, 20), 4, "quarterly dates"),
        (ends(6, 11), 2, "half-yearly dates"),
        (ends(12, 8), 1, "yearly dates"),
        (days("2023-01-02", 30, 14), 365.25 / 14, "14 days between dates"),
        (days("2023-01-02", 30, 2.5), 365.25 / 2.5, "2.5 days between dates"),
        (days("2023-01-01", 241, 1 / 24), 365.25 * 24, "24 dates a day"),
        ([1990.0, 1991.0, 1992.0], 1, "years"),
    ],
)
def test_the_median_distance_decides(dates, number, source):
    found = periods_per_year(dates)
    assert found.number == pytest.approx(number, rel=1e-12)
    assert found.source == source


def test_nights_and_weekends_count_where_there_are_several_dates_a_day():
    found = periods_per_year(OPEN_HOURS)
    assert found.number == pytest.approx(252 * 8, rel=0.1)


@pytest.mark.parametrize("labels", [[], [5.0], [1.0, 2.0, 3.0], [1990.0, 1992.0], [1.5, 2.5]])
def test_what_says_nothing(labels):
    assert periods_per_year(labels) is None


@pytest.mark.parametrize(
    ("labels", "number"),
    [
        (["2024-01", "2024-02", "2024-03"], 12),
        (["Mar 2024", "Jun 2024", "Sep 2024", "Dec 2024"], 4),
        (["31.12.2021", "31.12.2022", "31.12.2023"], 1),
        (["2001", "2002", "2003"], 1),
        (["day 1", "day 2", "day 3"], None),
        (["1", "2", "3"], None),
        (["01/02/2024", "01/03/2024", "01/04/2024"], None),  # days, or months
        (["01/05/2024", "01/12/2024", "01/19/2024"], 52),
    ],
)
def test_labels(labels, number):
    found = read_dates(labels, labels).periods
    assert (None if found is None else found.number) == number
    backwards = read_dates(labels[::-1], labels[::-1])
    assert backwards.periods == found
