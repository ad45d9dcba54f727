"""Efficient frontiers with a cardinality constraint: risk against k, and return against risk."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from szoht.reporting.figures import subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["frontier_figure"]

_LINE_COLOR, _SELECTED_COLOR = "#2f6fb3", "#e4572e"


def frontier_figure(
    sizes: Sequence[tuple[float, float]],
    returns: Sequence[tuple[float, float]],
    *,
    selected: tuple[int, float, float],
    risk_name: str = "volatility",
    unit: str = "per year",
) -> "Figure":
    """Draw risk against the number of assets, and expected return against risk.

    Parameters
    ----------
    sizes : sequence of (k, risk)
        The left panel.
    returns : sequence of (risk, return)
        The right panel, with risk on the horizontal axis as is usual.
    selected : (k, risk, return)
        The portfolio to mark.
    risk_name, unit : str
        For the labels.

    Examples
    --------
    >>> figure = frontier_figure([(1, 0.3), (2, 0.2)], [(0.2, 0.05)], selected=(2, 0.2, 0.05))
    >>> len(figure.axes)
    2
    """
    figure, (left, right) = subplots(columns=2, size=(5, 4))
    from matplotlib.ticker import MaxNLocator, PercentFormatter  # noqa: PLC0415 - an extra

    k, risk, expected = selected
    _plot(left, sizes, (float(k), risk), f"{k} assets")
    left.set(xlabel="number of assets k", ylabel=f"{risk_name} {unit}", title="Risk against k")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.yaxis.set_major_formatter(PercentFormatter(1.0))
    _plot(right, returns, (risk, expected), "selected portfolio")
    right.set(
        xlabel=f"{risk_name} {unit}",
        ylabel=f"expected return {unit}",
        title=f"Efficient frontier, at most {k} assets",
    )
    right.xaxis.set_major_locator(MaxNLocator(6))
    right.xaxis.set_major_formatter(PercentFormatter(1.0))
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    return figure


def _plot(
    axes: "Axes",
    points: Sequence[tuple[float, float]],
    selected: tuple[float, float],
    label: str,
) -> None:
    x, y = zip(*points, strict=True)
    axes.plot(x, y, "o-", color=_LINE_COLOR, markersize=4)
    axes.plot(*selected, "D", color=_SELECTED_COLOR, markersize=8, label=label)
    axes.legend(frameon=False)
