"""Plots of the curves of an experiment."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from szoht.paper.experiment import Results
from szoht.reporting.figures import COLORS, plot_median_and_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_curves"]


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
