"""Figures of the theory: contraction against k, estimates, what two-step projections trade."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from szoht.core.validation import check_integer
from szoht.errors import ParameterError
from szoht.reporting.figures import COLORS, load_matplotlib, subplots
from szoht.theory import (
    Regularity,
    Setting,
    Version,
    contraction,
    estimate_sphere,
    two_step_share,
)
from szoht.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["contraction_figure", "estimates", "estimator_figure", "two_step_figure"]

_GRADIENT = (1.0, 0.6, 0.8)
_TRUE, _ESTIMATE, _TRUE_F, _ESTIMATE_F = "#1b1b1b", "#2f6fb3", "#7a5195", "#e4572e"


def contraction_figure(
    *,
    d: int = 30_000,
    k_star: Sequence[int] = (1, 2, 3, 4, 5, 6, 7, 8, 9),
    q: Sequence[int] = (200, 5000, 30_000),
    kappa: float = 1.0,
    k_max: int = 1000,
    support_size: int | None = None,
    version: Version = "corrected",
) -> "Figure":
    r"""Draw :math:`\rho\gamma` against ``k``, one panel per ``q`` and one curve per ``k_star``.

    The defaults are those of the paper's Appendix F: too few directions leave no ``k`` whose
    curve passes below 1.

    Parameters
    ----------
    d : int >= 3
        Dimension.
    k_star : sequence of int >= 1
        Sparsities of the target, one curve each.
    q : sequence of int >= 1
        Directions, one panel each.
    kappa : float >= 1
        Condition number.
    k_max : int
        Right end of the axis; curves stop at ``(d - k_star) / 2``.
    support_size : int in [1, d], optional
        Non-zeros of a direction; ``d`` by default.
    version : {"corrected", "paper"}
        Which rho, see :func:`szoht.theory.rho`; the paper's figure has the theorem's.

    Examples
    --------
    >>> figure = contraction_figure(k_star=(1, 5), q=(5000,))
    >>> len(figure.axes), len(figure.axes[0].lines)
    (1, 3)
    """
    matplotlib = load_matplotlib()
    regularity = Regularity.from_kappa(kappa)
    size = d if support_size is None else support_size
    figure: Figure = matplotlib.figure.Figure(
        figsize=(1.2 + 3.4 * len(q), 3.6), layout="constrained"
    )
    panels = figure.subplots(1, len(q), sharey=True, squeeze=False)[0]
    colors = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.9, len(k_star)))
    for panel, directions in zip(panels, q, strict=True):
        for target, color in zip(k_star, colors, strict=True):
            k = _k_values(d, target, k_max)
            setting = Setting(d=d, k=k, k_star=target, q=directions, support_size=size)
            factor = contraction(setting, regularity, version=version)
            panel.plot(k, factor, color=color, linewidth=1.4, label=f"{target}")
        _format_panel(panel, f"$q = {directions}$", k_max)
    lowest = min(float(np.min(line.get_ydata())) for panel in panels for line in panel.lines)
    panels[0].set(ylabel=r"$\rho\gamma$", ylim=(min(0.95, lowest - 0.01), 1.12))
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        title=r"$k^*$",
        loc="outside right center",
        frameon=False,
    )
    return figure


def estimator_figure(
    *,
    gradient: Sequence[float] = _GRADIENT,
    n_dir: Sequence[int] = (1, 1_000_000),
    seed: int = 224,
) -> "Figure":
    r"""Draw the gradient, its one-direction estimates and their projections on ``z = 0``.

    The picture of Appendix E: full supports, ``mu -> 0``, ``F = {0, 1}``. One estimate is drawn
    as an arrow, many as points; they lie on the sphere of Remark 5.

    Parameters
    ----------
    gradient : three floats
        The true gradient.
    n_dir : sequence of int >= 1
        Random directions, one panel each.
    seed : int >= 0
        Seed of the directions; the default is one whose single estimate shows the point well.

    Notes
    -----
    The root mean square error is written above the points: it is smaller on ``F``, because two
    coordinates carry less noise than three.

    Examples
    --------
    >>> len(estimator_figure(n_dir=(1, 100)).axes)
    2
    """
    matplotlib = load_matplotlib()
    vector = np.asarray(gradient, dtype=np.float64)
    if vector.shape != (3,):
        raise ParameterError(f"`gradient` must have 3 entries; got shape {vector.shape}.")
    figure: Figure = matplotlib.figure.Figure(figsize=(5.2 * len(n_dir), 5.2))
    for column, n in enumerate(n_dir, start=1):
        axes: Any = figure.add_subplot(1, len(n_dir), column, projection="3d")
        cloud = estimates(vector, n_dir=n, seed=seed)
        if n == 1:
            _draw_arrows(axes, vector, cloud[0])
        else:
            _draw_points(axes, vector, cloud)
        axes.set_title(_direction_title(vector, cloud), y=1.0, fontsize=11)
    figure.subplots_adjust(left=0.0, right=0.97, bottom=0.08, top=0.92, wspace=0.02)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    return figure


def estimates(gradient: Vector, *, n_dir: int, seed: int) -> Vector:
    r"""Return ``n_dir`` one-direction estimates :math:`d\langle g, u\rangle u`, shape (n_dir, d).

    >>> estimates(np.array([1.0, 0.0]), n_dir=2, seed=0).shape
    (2, 2)
    """
    n = check_integer("n_dir", n_dir, low=1)
    rng = np.random.default_rng(check_integer("seed", seed, low=0))
    directions = rng.standard_normal((n, gradient.size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    cloud: Vector = gradient.size * (directions @ gradient)[:, None] * directions
    return cloud


def _k_values(d: int, k_star: int, k_max: int) -> Any:
    return np.arange(k_star, min(k_max, (d - k_star) // 2) + 1, dtype=np.int64)


def _format_panel(panel: "Axes", title: str, k_max: int) -> None:
    panel.axhline(1.0, color="#c0392b", linewidth=1.0, linestyle="--")
    panel.axhspan(0.0, 1.0, color="#2e7d32", alpha=0.08, linewidth=0)
    panel.set(title=title, xlabel="$k$", xlim=(0, k_max))
    panel.annotate("contracts", (0.02, 0.02), xycoords="axes fraction", color="#2e7d32", fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(alpha=0.25, linewidth=0.6)


def _arrow(axes: Any, tip: Vector, color: str, label: str) -> None:
    axes.quiver(
        0, 0, 0, *tip, color=color, linewidth=2.2, arrow_length_ratio=0.12, label=label, zorder=5
    )


def _on_plane(vector: Vector) -> Vector:
    flat: Vector = vector * np.array([1.0, 1.0, 0.0])
    return flat


def _draw_arrows(axes: Any, gradient: Vector, estimate: Vector) -> None:
    _arrow(axes, gradient, _TRUE, r"$\nabla f$")
    _arrow(axes, estimate, _ESTIMATE, r"$\hat\nabla f$")
    _arrow(axes, _on_plane(gradient), _TRUE_F, r"$\nabla_F f$")
    _arrow(axes, _on_plane(estimate), _ESTIMATE_F, r"$\hat\nabla_F f$")
    for vector in (gradient, estimate):
        ends = np.stack([vector, _on_plane(vector)])
        axes.plot(*ends.T, color="#888888", linewidth=1.0, linestyle=":")
    extent = 1.15 * max(np.abs(gradient).max(), np.abs(estimate).max())
    _set_limits(axes, np.full(3, -0.35 * extent), np.full(3, extent))


def _draw_points(axes: Any, gradient: Vector, cloud: Vector) -> None:
    center, radius = estimate_sphere(gradient)
    markers = {"marker": ",", "linestyle": "", "rasterized": True}
    alpha = min(0.5, 3e4 / len(cloud))
    plane = _on_plane(cloud)
    axes.plot(*plane.T, color=_ESTIMATE_F, alpha=alpha, zorder=1, **markers)
    axes.plot(*cloud.T, color=_ESTIMATE, alpha=alpha, zorder=2, **markers)
    _arrow(axes, gradient, _TRUE, r"$\nabla f$")
    _arrow(axes, _on_plane(gradient), _TRUE_F, r"$\nabla_F f$")
    _set_limits(axes, center - radius, center + radius)


def _rms_norm(errors: Vector) -> float:
    return float(np.sqrt((errors**2).sum(axis=1).mean()))


def _set_limits(axes: Any, low: Vector, high: Vector) -> None:
    xs, ys = np.meshgrid([low[0], high[0]], [low[1], high[1]])
    axes.plot_surface(xs, ys, np.zeros_like(xs), color="#bbbbbb", alpha=0.18, zorder=0)
    axes.text(high[0], low[1], 0.0, "$F$", color="#555555", fontsize=12)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=1.05)
    axes.view_init(elev=18, azim=-62)
    axes.locator_params(nbins=5)
    axes.tick_params(labelsize=8, pad=-2)
    axes.set_xlabel("$x$", labelpad=-6)
    axes.set_ylabel("$y$", labelpad=-6)
    axes.set_zlabel("$z$", labelpad=-6)


def _direction_title(gradient: Vector, cloud: Vector) -> str:
    n = len(cloud)
    exponent = len(str(n)) - 1
    number = f"10^{{{exponent}}}" if n > 1 and n == 10**exponent else f"{n}"
    errors = cloud - gradient
    whole, part = _rms_norm(errors), _rms_norm(_on_plane(errors))
    name = "rms error" if n > 1 else "error"
    return f"$n_\\mathrm{{dir}} = {number}$; {name} {whole:.2f} in space, {part:.2f} on $F$"


def two_step_figure(*, k_star: int = 10, kappa: Sequence[float] = (1.0, 2.0, 5.0)) -> "Figure":
    r"""Draw the guarantee :math:`1 + 2\rho` of a two-step projection against :math:`k/k^*`.

    Relaxing sparsity buys accuracy: the more coordinates than ``k_star`` are kept, the less may f
    exceed the best value of ``k_star`` coordinates. Curves begin where something is known.

    Parameters
    ----------
    k_star : int >= 1
        Sparsity of the comparison point.
    kappa : sequence of float >= 1
        Condition numbers, one curve each.

    Examples
    --------
    >>> figure = two_step_figure(kappa=(1.0, 2.0))
    >>> [line.get_label() for line in figure.axes[0].lines]
    ['condition number 1', 'condition number 2']
    """
    figure, (panel,) = subplots(size=(5.2, 3.6))
    relaxations = np.unique(np.logspace(0, 4, 200).astype(int))
    for condition, color in zip(kappa, COLORS, strict=False):
        shares = [two_step_share(k=r * k_star, k_star=k_star, kappa=condition) for r in relaxations]
        known = [share is not None for share in shares]
        factors = [1 + 2 * share for share in shares if share is not None]
        label = f"condition number {condition:g}"
        panel.plot(relaxations[known], factors, color=color, label=label)
    panel.set(
        xscale="log",
        xlabel="coordinates kept, in multiples of $k^*$",
        ylabel="f at most this multiple of the best",
        ylim=(1.0, 2.05),
    )
    panel.legend(frameon=False)
    return figure
