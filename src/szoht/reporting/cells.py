"""Cells of the tables of a page: numbers, colored words, links, and values with error bars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Badge", "ErrorBar", "Link", "cell_html"]

BAR_WIDTH = 88
"""Of the drawing of an interval, in pixels."""

LONG_TEXT = 30
"""Longer texts get a wide column; on a narrow page their table scrolls."""


@dataclass(frozen=True)
class Badge:
    """A word in color: good, warning, bad or plain."""

    text: str
    style: str = "plain"


@dataclass(frozen=True)
class Link:
    """A link to a file beside the page."""

    text: str
    target: str


@dataclass(frozen=True, kw_only=True)
class ErrorBar:
    """A value with its error bar, drawn on an axis that the cells of a column share.

    Parameters
    ----------
    value : float, optional
        None if there is none, such as the l2 norm of successes where nothing succeeded.
    low, high : float, optional
        Ends of the error bar.
    axis : pair of float
        Ends of the axis, the same in all cells that are compared; see `shared_axis`.
    target : float, optional
        The paper's value, drawn as a tick and written in parentheses.
    text : str
        The value in words; its number by default.

    Examples
    --------
    >>> cell = ErrorBar(value=79.0, low=70.0, high=86.0, axis=(0.0, 100.0), target=75.0)
    >>> cell.words
    '79 [70, 86] (75)'
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    axis: tuple[float, float] = (0.0, 1.0)
    target: float | None = None
    text: str = ""

    @property
    def words(self) -> str:
        """The cell as text: value, interval, and the paper's value in parentheses."""
        if self.value is None:
            shown = self.text or "no value"
        else:
            shown = self.text or f"{self.value:.3g}"
            if self.low is not None and self.high is not None:
                shown += f" [{self.low:.3g}, {self.high:.3g}]"
        return shown if self.target is None else f"{shown} ({self.target:.3g})"

    @staticmethod
    def shared_axis(cells: "Sequence[ErrorBar]") -> tuple[float, float]:
        """Return an axis that holds all values, error bars and targets.

        >>> ErrorBar.shared_axis([ErrorBar(value=2.0, high=3.0), ErrorBar(value=None, target=5.0)])
        (0.0, 5.0)
        """
        parts = [part for one in cells for part in (one.value, one.low, one.high, one.target)]
        found = [float(part) for part in parts if part is not None and math.isfinite(part)]
        return min([0.0, *found]), max([0.0, *found]) or 1.0


def cell_html(value: object) -> str:
    """Return a cell as HTML; numbers sort by value, everything else by its text."""
    if isinstance(value, Badge):
        return f'<td><span class="badge {escape(value.style)}">{escape(value.text)}</span></td>'
    if isinstance(value, Link):
        link = f'<a href="{escape(value.target)}">{escape(value.text)}</a>'
        return f"<td{_long(value.text)}>{link}</td>"
    if isinstance(value, ErrorBar):
        key = "" if value.value is None else f' data-value="{value.value!r}"'
        return f'<td class="number"{key}>{escape(value.words)}{_bar(value)}</td>'
    if isinstance(value, int | float) and not isinstance(value, bool):
        shown = f"{value:.6g}" if isinstance(value, float) else f"{value}"
        return f'<td class="number" data-value="{value!r}">{shown}</td>'
    return f"<td{_long(str(value))}>{escape(str(value))}</td>"


def _long(text: str) -> str:
    return ' class="long"' if len(text) > LONG_TEXT else ""


def _bar(cell: ErrorBar) -> str:
    """Return the drawing of an interval: a line, a dot, and a tick at the paper's value."""
    start, end = cell.axis
    parts = ['<line class="axis" x1="0" y1="7" x2="100%" y2="7"/>']

    def place(number: float | None) -> float | None:
        if number is None or not math.isfinite(number) or end <= start:
            return None
        return round(2 + (BAR_WIDTH - 4) * min(max((number - start) / (end - start), 0), 1), 1)

    low, high, value, target = map(place, (cell.low, cell.high, cell.value, cell.target))
    if low is not None and high is not None:
        parts.append(f'<line class="range" x1="{low}" y1="7" x2="{high}" y2="7"/>')
    if target is not None:
        parts.append(f'<line class="target" x1="{target}" y1="1" x2="{target}" y2="13"/>')
    if value is not None:
        parts.append(f'<circle cx="{value}" cy="7" r="3"/>')
    body = "".join(parts)
    return f'<svg class="bar" width="{BAR_WIDTH}" height="14" aria-hidden="true">{body}</svg>'
