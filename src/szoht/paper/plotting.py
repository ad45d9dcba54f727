"""Plots of the curves of an experiment, beside the paper's."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from szoht.paper.experiment import Plot, Results
from szoht.reporting.figures import COLORS, plot_median_and_range, subplots
from szoht.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["paired_plot", "plot_curves", "short_ticks"]


def short_ticks(axes: "Axes") -> None:
    """Write thousands of queries as a power of ten, so that labels do not overlap."""
    axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 3))


def plot_curves(
    axes: "Axes", results: Results, labels: Mapping[str, str], column: str, *, x: str = "directions"
) -> None:
    """Plot a column of each curve that was computed: median and range over seeds.

    ``labels`` are the labels by the name of the curve; each has a color of its own.
    """
    for (curve, label), color in zip(labels.items(), COLORS, strict=False):
        if curve in results:
            plot_median_and_range(
                axes,
                results.columns(curve, x)[0],
                results.columns(curve, column),
                label=label,
                color=color,
            )


def paired_plot(
    draw: "Callable[[Axes], None]",
    points: Mapping[str, Vector],
    *,
    labels: Mapping[str, str],
    title: str,
    caption: str,
    **settings: Any,
) -> Plot:
    """Return one panel of the paper beside ours, on the same axes.

    Parameters
    ----------
    draw : callable
        ``draw(axes)`` draws our curves, in the colors of `plot_curves`.
    points : mapping
        The paper's points by curve, as `digitized_curves` has them for this panel. Without any,
        ours stands alone.
    labels : mapping
        The labels by curve, in the order of their colors.
    title, caption : str
        Of our panel; the title of the paper's says that its points were read off.
    settings
        Of the axes, such as ``yscale`` and ``ylim``; both panels get the same.
    """
    figure, (ours,) = subplots(size=(4.8, 3.6))
    draw(ours)
    _finish(ours, title, settings)
    if not points:
        return Plot(figure=figure, caption=caption)
    other, (paper,) = subplots(size=(4.8, 3.6))
    for (curve, label), color in zip(labels.items(), COLORS, strict=False):
        if curve in points:
            x, y = points[curve].T
            paper.plot(x, y, "o:", color=color, markersize=4, linewidth=1.0, label=label)
    _finish(paper, "the paper's figure, points read off", settings)
    xlim = _union(ours.get_xlim(), paper.get_xlim())
    ylim = _union(ours.get_ylim(), paper.get_ylim())
    for axes in (ours, paper):
        axes.set(xlim=xlim, ylim=ylim)
    return Plot(figure=figure, caption=caption, paper=other)


def _finish(axes: "Axes", title: str, settings: Mapping[str, Any]) -> None:
    axes.set(title=title, **settings)
    short_ticks(axes)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)


def _union(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    return min(first[0], second[0]), max(first[1], second[1])
