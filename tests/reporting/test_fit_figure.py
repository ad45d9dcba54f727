"""Predicted against observed, and residuals."""

import math
from types import SimpleNamespace

import pytest
from matplotlib.colors import to_rgba

from szoht.reporting.fit_figure import fit_figure
from szoht.run.least_squares_result import OutputResidual


def figure_of(*rows):
    table = [
        OutputResidual(f"output $ {i}", value, observed, sigma, (value - observed) / sigma)
        for i, (value, observed, sigma) in enumerate(rows)
    ]
    return fit_figure(SimpleNamespace(residual_table=table), title="run $x")


def points(axes):
    """Return the markers of an axis with error bars, and their colors."""
    lines = [line for line in axes.lines if line.get_marker() == "o"]
    return {
        (float(x), float(y)): line.get_color()
        for line in lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }


def test_outputs_far_off_are_marked_and_named():
    figure = figure_of((1.0, 1.1, 0.1), (2.0, 2.0, 0.1), (3.5, 3.0, 0.1))
    values, residuals = figure.axes
    colors = points(values)
    assert set(colors) == {(1.1, 1.0), (2.0, 2.0), (3.0, 3.5)}
    assert colors[1.1, 1.0] == colors[2.0, 2.0] != colors[3.0, 3.5]
    assert [text.get_text() for text in values.texts] == [r"output \$ 2"]
    bars = [bar for bar in residuals.patches if bar.get_height() == 0.6]
    assert [bar.get_width() for bar in bars] == pytest.approx([-1.0, 0.0, 5.0])
    far = to_rgba(colors[3.0, 3.5])
    assert [bar.get_facecolor() == far for bar in bars] == [False, False, True]
    figure.canvas.draw()  # no name is taken for a formula


def test_missing_outputs_are_left_out():
    figure = figure_of((1.0, math.nan, 0.1), (2.0, 2.0, 0.1), (math.nan, 3.0, 0.1), (1.0, 1.5, 1.0))
    assert set(points(figure.axes[0])) == {(2.0, 2.0), (1.5, 1.0)}


def test_numbers_over_decades_are_on_logarithmic_axes():
    assert figure_of((1.0, 1.1, 0.1), (200.0, 210.0, 1.0)).axes[0].get_xscale() == "log"
    assert figure_of((-1.0, 1.1, 0.1), (200.0, 210.0, 1.0)).axes[0].get_xscale() == "linear"


def test_a_function_that_returns_residuals_has_only_these():
    assert len(figure_of((1.0, 0.0, 1.0), (2.0, 0.0, 1.0)).axes) == 1
    assert len(figure_of().axes) == 1
