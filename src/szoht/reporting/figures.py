"""Shared by all figures: lazy import of matplotlib, subplots, colors, saving, inline SVG."""

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from szoht.errors import MissingExtraError, ParameterError
from szoht.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLORS",
    "inline_svg",
    "load_matplotlib",
    "plot_median_and_range",
    "save_figure",
    "subplots",
]

COLORS = ("#2f6fb3", "#e4572e", "#2e7d32", "#7a5195", "#b8860b", "#1b1b1b", "#008b8b", "#c2185b")
"""Distinguishable in print and by color-blind readers; use them in order."""


_WIDTHS = ' style="max-width:{high:g}pt;min-width:{low:g}pt"'
"""Below 60 % of its size the text of a figure is too small to read; the page scrolls it instead."""


def load_matplotlib() -> Any:
    """Return matplotlib, or raise an error that names the extra to install."""
    try:
        import matplotlib.figure  # noqa: PLC0415 - an extra, needed only to draw
    except ImportError as error:
        raise MissingExtraError('figures need matplotlib: pip install "szoht[plot]"') from error
    return matplotlib


def subplots(
    *, rows: int = 1, columns: int = 1, size: tuple[float, float] = (4.2, 3.4), sharey: bool = False
) -> tuple["Figure", list["Axes"]]:
    """Return a figure and its axes, row by row, with a light grid and no top or right spine.

    >>> figure, axes = subplots(rows=1, columns=2)
    >>> len(axes)
    2
    """
    matplotlib = load_matplotlib()
    figure: Figure = matplotlib.figure.Figure(
        figsize=(size[0] * columns, size[1] * rows), layout="constrained"
    )
    grid = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    axes: list[Axes] = list(grid.ravel())
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.grid(alpha=0.25, linewidth=0.6)
    return figure, axes


def plot_median_and_range(
    axes: "Axes",
    x: Vector,
    curves: Sequence[Vector],
    *,
    label: str,
    color: str,
    line: str = "-",
) -> None:
    """Plot the median of several curves over ``x`` and shade the range from minimum to maximum."""
    stack = np.stack(curves)
    axes.plot(x, np.median(stack, axis=0), color=color, linestyle=line, linewidth=1.6, label=label)
    if len(stack) > 1:
        low, high = stack.min(axis=0), stack.max(axis=0)
        axes.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)


def inline_svg(figure: "Figure", name: str, description: str = "") -> str:
    """Return the figure as an ``<svg>`` element with ids that are unique on the page.

    The output is deterministic: no date, and ids that depend only on ``name``.

    >>> svg = inline_svg(subplots()[0], "empty")
    >>> svg.startswith('<svg id="empty"'), 'id="empty-' in svg, "http" in svg.split(">")[0]
    (True, True, False)
    """
    matplotlib = load_matplotlib()
    text = io.StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata=no_metadata)
    body = text.getvalue()
    body = body[body.index("<svg") :]
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    opening, rest = body.split(">", 1)
    view = re.search(r'viewBox="[^"]+"', opening)
    width = re.search(r'width="([\d.]+)pt"', opening)
    shape = (view.group(0) if view else "") + (
        _WIDTHS.format(high=float(width.group(1)), low=0.6 * float(width.group(1))) if width else ""
    )
    title = f"<title>{escape(description)}</title>" if description else ""
    return f'<svg id="{name}" role="img" {shape}>{title}{rest}'


def save_figure(figure: "Figure", path: str | Path) -> Path:
    """Write a figure as PNG or SVG, depending on the suffix of the path, and return the path."""
    target = Path(path)
    if target.suffix.lower() not in {".png", ".svg"}:
        raise ParameterError(f"`path` must end in .png or .svg; got path={str(path)!r}.")
    figure.savefig(target, dpi=200)
    return target
