import sys

import numpy as np
import pytest

from szoht.errors import MissingExtraError, ParameterError
from szoht.reporting.figures import save_figure
from szoht.reporting.theory_figures import (
    contraction_figure,
    estimates,
    estimator_figure,
    two_step_figure,
)
from szoht.theory import Regularity, Setting, contraction, estimate_sphere


def test_the_curves_are_those_of_the_paper():
    """Appendix F: no curve contracts at q = 200, all nine do at q = 30000 and k = 1000."""
    figure = contraction_figure()
    assert len(figure.axes) == 3
    for panel, title in zip(figure.axes, ("200", "5000", "30000"), strict=True):
        assert title in panel.get_title()
    ends = [[line.get_ydata()[-1] for line in panel.lines[:9]] for panel in figure.axes]
    lows = [[min(line.get_ydata()) for line in panel.lines[:9]] for panel in figure.axes]
    assert min(lows[0]) > 1
    assert [value < 1 for value in ends[1]] == [True] * 7 + [False] * 2
    assert max(ends[2]) < 1
    assert ends[2][0] == pytest.approx(0.9612, abs=5e-5)
    curve = figure.axes[1].lines[4]
    k = curve.get_xdata().astype(np.int64)
    assert (k[0], k[-1]) == (5, 1000)
    setting = Setting(d=30000, k=k, k_star=5, q=5000, support_size=30000)
    np.testing.assert_array_equal(curve.get_ydata(), contraction(setting, Regularity()))


def test_curves_stop_where_the_theorem_does():
    figure = contraction_figure(d=100, k_star=(4,), q=(10,), k_max=1000, support_size=7)
    assert figure.axes[0].lines[0].get_xdata()[-1] == 48


def test_the_printed_version_is_drawn_lower():
    case = {"k_star": (1,), "q": (5000,)}
    right = contraction_figure(**case).axes[0].lines[0].get_ydata()
    printed = contraction_figure(**case, version="paper").axes[0].lines[0].get_ydata()
    assert (printed < right).all()
    bottom = contraction_figure(**case, version="paper").axes[0].get_ylim()[0]
    assert bottom < printed.min()


def test_every_estimate_of_the_picture_is_on_the_sphere():
    gradient = np.array([1.0, 0.6, 0.8])
    cloud = estimates(gradient, n_dir=5000, seed=1)
    centre, radius = estimate_sphere(gradient)
    np.testing.assert_allclose(np.linalg.norm(cloud - centre, axis=1), radius, rtol=1e-12)
    # and their mean is the gradient
    error = cloud.std(axis=0) / np.sqrt(5000)
    assert (np.abs(cloud.mean(axis=0) - gradient) < 4 * error).all()


def test_the_picture_states_the_exact_error():
    """|g|^2 = 2: the error is 2 |g|^2 in space and 1.4 |g_F|^2 + 1.2 |g_Fc|^2 on F."""
    figure = estimator_figure(n_dir=(1, 100_000))
    titles = [axes.get_title() for axes in figure.axes]
    assert "n_\\mathrm{dir} = 1$" in titles[0]
    assert "10^{5}" in titles[1]
    assert f"{np.sqrt(4):.2f} in space" in titles[1]
    assert f"{np.sqrt(1.4 * 1.36 + 1.2 * 0.64):.2f} on $F$" in titles[1]


@pytest.mark.parametrize("ending", ["png", "svg", "PNG"])
def test_figures_are_written(tmp_path, ending):
    path = tmp_path / f"picture.{ending}"
    assert save_figure(estimator_figure(n_dir=(1, 50)), path) == path
    start = path.read_bytes()[:5]
    assert start == (b"\x89PNG\r" if ending.lower() == "png" else b"<?xml")


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"`path` must end in .png or .svg"):
        save_figure(estimator_figure(n_dir=(1,)), tmp_path / "picture.gif")


def test_a_gradient_of_the_wrong_length_is_refused():
    with pytest.raises(ParameterError, match="`gradient` must have 3 entries"):
        estimator_figure(gradient=(1.0, 2.0))


@pytest.mark.parametrize("draw", [contraction_figure, estimator_figure])
def test_without_matplotlib_the_remedy_is_named(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r'pip install "szoht\[plot\]"'):
        draw()


def test_pyplot_is_never_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would now fail
    assert len(estimator_figure(n_dir=(1, 10)).axes) == 2
    assert len(contraction_figure(k_star=(1,), q=(10,)).axes) == 1


def test_more_coordinates_buy_accuracy():
    curves = two_step_figure(k_star=7, kappa=(1.0, 3.0)).axes[0].lines
    for curve, kappa in zip(curves, (1.0, 3.0), strict=True):
        relaxation, factor = curve.get_data()
        assert relaxation[0] == pytest.approx(4 * kappa**2, rel=0.06)
        assert factor[0] == pytest.approx(2.0, abs=0.03)
        assert (np.diff(factor) < 0).all()
        assert factor[-1] < 1 + 4.01 * kappa / np.sqrt(relaxation[-1])
