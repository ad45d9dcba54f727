"""The asset figures: the paper's points on the left, ours on the same axes."""

import numpy as np
import pytest

from szoht.paper import Curve, Job, Results
from szoht.paper.digitized import digitized_curves
from szoht.paper.portfolio_figures import figures

pytest.importorskip("matplotlib")


def results():
    table = {
        "directions": np.array([0.0, 1e4, 2e4]),
        "f": np.array([0.09, 0.05, 0.07]),
        "best_f": np.array([0.09, 0.05, 0.05]),
        "l0_large": np.array([10.0, 10.0, 10.0]),
    }
    names = [f"{name} tuned szoht" for name in ("port3", "port4", "port5")]
    names += ["port4 stated szoht", "port5 stated szoht", "port3 auto"]
    return Results(
        [
            Curve(
                job=Job(experiment="assets", curve=name, settings={}, seed=seed),
                table={**table, "f": table["f"] * (1 + seed)},
                seconds=0.0,
            )
            for name in names
            for seed in range(2)
        ]
    )


def test_both_panels_of_a_row_have_the_same_axes():
    plots = figures(results())
    assert list(plots) == ["port3", "port4", "port5"]
    for plot in plots.values():
        axes = plot.figure.axes
        for left, right in ((axes[0], axes[1]), (axes[3], axes[4])):
            assert left.get_xlim() == right.get_xlim()
            assert left.get_ylim() == right.get_ylim()
            assert left.get_yscale() == right.get_yscale() == "log"


def test_the_left_panel_has_the_points_of_the_paper():
    left = figures(results())["port4"].figure.axes[0]
    drawn = [np.column_stack(line.get_data()) for line in left.lines]
    for points in digitized_curves("assets")["port4"].values():
        assert any(np.array_equal(points, line) for line in drawn)


def test_the_lowest_so_far_stands_beside_the_last():
    right = figures(results())["port4"].figure.axes[1]
    ends = [float(line.get_ydata()[-1]) for line in right.lines]
    for value in (0.07 * 1.5, 0.05):  # the median of two seeds, and the lowest of both
        assert any(end == pytest.approx(value) for end in ends)


def test_a_panel_says_that_nothing_is_stated():
    def words(name):
        return " ".join(text.get_text() for text in figures(results())[name].figure.axes[1].texts)

    assert "neither radius nor step" in words("port3")
    assert words("port4") == ""
