"""Changed variables as bars, each on an axis of its own, as an ``<svg>`` element."""

import math
from collections.abc import Iterable
from html import escape

from szoht.core.changes import Change
from szoht.core.variables import Variables
from szoht.reporting.text import printable

__all__ = ["change_bars"]

WIDTH, ROW = 760, 40
LEFT, RIGHT = 220, 580
MARGIN = 0.15
"""Beyond a value without a bound, as a share of its change."""

SHOWN_NAME = 28
_TEXT, _SOFT, _TRACK, _UP, _DOWN = "#1d2126", "#5c6670", "#d9dcdf", "#2f6fb3", "#e4572e"


def change_bars(changes: Iterable[Change], variables: Variables | None) -> str:
    """Return a bar from the nominal to the new value of each variable, between its bounds.

    >>> "0 to 2" in change_bars([Change(index=0, name="a", nominal=0.0, value=2.0)], None)
    True
    """
    rows = [_row(y, change, variables) for y, change in enumerate(changes)]
    height = ROW * len(rows)
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height}" style="max-width:{WIDTH}px" '
        f'font-family="system-ui, sans-serif" font-size="13"><title>changed variables</title>'
        f"{''.join(rows)}</svg>"
    )


def _row(y: int, change: Change, variables: Variables | None) -> str:
    bounds = _bounds(change, variables)
    low_label, high_label = (f"{one:.4g}" if math.isfinite(one) else "" for one in bounds)
    is_log = variables is not None and bool(variables.log[change.index])
    ends = _ends(change, *bounds, is_log=is_log)
    start, end = (_place(value, *ends, is_log=is_log) for value in (change.nominal, change.value))
    middle = ROW * y + 14
    name = printable(change.name)
    short = name if len(name) <= SHOWN_NAME else f"{name[: SHOWN_NAME - 1]}…"
    color = _UP if change.value > change.nominal else _DOWN
    return (
        f'<text x="{LEFT - 14}" y="{middle + 5}" text-anchor="end" fill="{_TEXT}">{escape(short)}'
        f"<title>{escape(name)}</title></text>"
        f'<rect x="{LEFT}" y="{middle - 2}" width="{RIGHT - LEFT}" height="4" fill="{_TRACK}"/>'
        f'<rect x="{min(start, end):.1f}" y="{middle - 7}" width="{abs(end - start):.1f}" '
        f'height="14" fill="{color}"/>'
        f'<rect x="{start - 1:.1f}" y="{middle - 10}" width="2" height="20" fill="{_TEXT}"/>'
        f'<text x="{LEFT}" y="{middle + 20}" fill="{_SOFT}" font-size="10">{low_label}</text>'
        f'<text x="{RIGHT}" y="{middle + 20}" fill="{_SOFT}" font-size="10" text-anchor="end">'
        f"{high_label}</text>"
        f'<text x="{RIGHT + 14}" y="{middle + 5}" fill="{_TEXT}">{change.nominal:.4g} to '
        f"{change.value:.4g}</text>"
    )


def _bounds(change: Change, variables: Variables | None) -> tuple[float, float]:
    if variables is None:
        return -math.inf, math.inf
    low, high = float(variables.low[change.index]), float(variables.high[change.index])
    is_log = bool(variables.log[change.index])
    return (-math.inf if is_log and low == 0 else low), high


def _ends(change: Change, low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    """Return the ends of an axis: the bounds where there are any, else a bit beyond the change."""
    first, last = sorted((change.nominal, change.value))
    beyond = 0.0 if is_log else MARGIN * (last - first)
    return (
        low if math.isfinite(low) else first - beyond,
        high if math.isfinite(high) else last + beyond,
    )


def _place(value: float, low: float, high: float, *, is_log: bool) -> float:
    if is_log and value > 0 < low:
        value, low, high = math.log(value), math.log(low), math.log(high)
    share = (value - low) / (high - low) if math.isfinite(high - low) and high > low else 0.5
    return LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0)
