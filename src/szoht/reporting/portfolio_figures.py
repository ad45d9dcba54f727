"""The frontier of few assets: risk against their number, and against the wanted return."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from szoht.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["frontier_figure"]

_LINE, _CHOSEN = "#2f6fb3", "#e4572e"


def frontier_figure(
    sizes: Sequence[tuple[float, float]],
    returns: Sequence[tuple[float, float]],
    *,
    chosen: tuple[int, float, float],
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
    chosen : (k, risk, return)
        The portfolio to mark.
    risk_name, unit : str
        For the labels.

    Examples
    --------
    >>> figure = frontier_figure([(1, 0.3), (2, 0.2)], [(0.2, 0.05)], chosen=(2, 0.2, 0.05))
    >>> len(figure.axes)
    2
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
        from matplotlib.ticker import MaxNLocator, PercentFormatter  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "Figures need the package matplotlib: pip install 'szoht[plot]'"
        ) from error
    k, risk, expected = chosen
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw(left, sizes, (float(k), risk), f"{k} assets")
    left.set(xlabel="number of assets k", ylabel=f"{risk_name} {unit}", title="Risk against k")
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.yaxis.set_major_formatter(PercentFormatter(1.0))
    _draw(right, returns, (risk, expected), "the portfolio")
    right.set(
        xlabel=f"{risk_name} {unit}",
        ylabel=f"expected return {unit}",
        title=f"Least risk for a wanted return, at most {k} assets",
    )
    right.xaxis.set_major_locator(MaxNLocator(6))
    right.xaxis.set_major_formatter(PercentFormatter(1.0))
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    return figure


def _draw(
    axes: "Axes",
    points: Sequence[tuple[float, float]],
    chosen: tuple[float, float],
    label: str,
) -> None:
    across, up = zip(*points, strict=True)
    axes.plot(across, up, "o-", color=_LINE, markersize=4)
    axes.plot(*chosen, "D", color=_CHOSEN, markersize=8, label=label)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
