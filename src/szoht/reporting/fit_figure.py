"""The answer of `least_squares` as a figure: predicted against observed, and the residuals."""

from typing import TYPE_CHECKING

import numpy as np

from szoht.reporting.figures import COLORS, subplots
from szoht.reporting.text import printable
from szoht.run.least_squares_result import LeastSquaresResult, OutputResidual

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["fit_figure"]

FEW_OUTPUTS = 25
"""So many can be named on an axis."""

SHOWN_LABEL = 24
NAMED_OUTLIERS = 5
MARKED_RESIDUAL = 3.0
"""Residuals beyond so many standard deviations are marked."""

DECADES = 2.0
"""Positive numbers that span so many are drawn on logarithmic axes."""

_GOOD, _BAD, _SOFT = COLORS[0], COLORS[1], "#5c6670"


def fit_figure(fit: LeastSquaresResult, *, title: str = "") -> "Figure":
    """Draw predicted against observed values with bars of one sigma, and residuals over sigma.

    Missing outputs are left out. Where all observed values are the same, as those of a function
    that returns residuals, only the residuals are drawn.

    Parameters
    ----------
    fit : LeastSquaresResult
        What `least_squares` returned.
    title : str
        Above the figure.

    Examples
    --------
    >>> import numpy as np
    >>> import szoht
    >>> fit = szoht.least_squares(lambda x: x[:2] - [1, 2], np.zeros(3), k=2, rng=0)
    >>> len(fit_figure(fit).axes)
    1
    """
    present = [row for row in fit.residual_table if np.isfinite(row.residual)]
    compares = len({row.observed for row in present}) > 1
    figure, axes = subplots(columns=2 if compares else 1, size=(5.2, 4.4))
    if compares:
        _draw_values(axes[0], present)
    if present:
        _draw_residuals(axes[-1], present)
    if title:
        figure.suptitle(_literal(title), x=0.01, ha="left")
    return figure


def _draw_values(axes: "Axes", rows: list[OutputResidual]) -> None:
    observed = np.array([row.observed for row in rows])
    predicted = np.array([row.value for row in rows])
    sigma = np.array([row.sigma for row in rows])
    far = np.abs([row.residual for row in rows]) > MARKED_RESIDUAL
    both = np.concatenate([observed, predicted])
    if both.min() > 0 and np.log10(both.max() / both.min()) >= DECADES:
        axes.set_xscale("log", nonpositive="clip")
        axes.set_yscale("log")
    ends = [both.min(), both.max()]
    axes.plot(ends, ends, color=_SOFT, linewidth=1, zorder=1)
    for which, color in ((~far, _GOOD), (far, _BAD)):
        if which.any():
            axes.errorbar(
                observed[which],
                predicted[which],
                xerr=sigma[which],
                fmt="o",
                color=color,
                markersize=4,
                elinewidth=1,
                alpha=0.85,
            )
    for i in np.argsort(-np.abs([row.residual for row in rows]))[:NAMED_OUTLIERS]:
        if far[i]:
            above = predicted[i] > observed[i]  # the text is on the side away from the diagonal
            axes.annotate(
                _short(rows[i].name),
                (observed[i], predicted[i]),
                xytext=(-6, 4) if above else (6, -9),
                ha="right" if above else "left",
                textcoords="offset points",
                fontsize=8,
                color=_BAD,
            )
    axes.set_xlabel("observed, ± sigma")
    axes.set_ylabel("predicted")


def _draw_residuals(axes: "Axes", rows: list[OutputResidual]) -> None:
    residuals = np.array([row.residual for row in rows])
    place = np.arange(len(rows))
    axes.set_axisbelow(True)
    axes.axvspan(-2, 2, color=_GOOD, alpha=0.08, linewidth=0)
    axes.axvline(0, color=_SOFT, linewidth=1)
    colors = np.where(np.abs(residuals) > MARKED_RESIDUAL, _BAD, _GOOD).tolist()
    axes.barh(place, residuals, height=0.6 if len(rows) <= FEW_OUTPUTS else 1.0, color=colors)
    if len(rows) <= FEW_OUTPUTS:
        axes.set_yticks(place, [_short(row.name) for row in rows], fontsize=8)
    else:
        axes.set_ylabel("output")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("residual / sigma; shaded: within two")


def _short(name: str) -> str:
    text = printable(name)
    return _literal(text if len(text) <= SHOWN_LABEL else f"{text[: SHOWN_LABEL - 1]}…")


def _literal(text: str) -> str:
    """Return text in which matplotlib sees no formula."""
    return text.replace("$", r"\$")
