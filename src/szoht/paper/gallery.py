"""Thumbnails of all experiments with a traffic light each."""

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from szoht.paper.claims import Verdict, Whose, count_verdicts
from szoht.paper.experiment_result import ExperimentResult
from szoht.reporting.page import Gallery, Thumbnail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["make_gallery"]

THUMBNAIL_PIXELS = 480
"""Width of a thumbnail: twice that on the page, for screens with fine pixels."""


def make_gallery(experiment_results: Sequence[ExperimentResult]) -> Gallery:
    """Return a thumbnail for each experiment, of its first figure, that links to its section."""
    return Gallery([_thumbnail(result) for result in experiment_results])


def _thumbnail(result: ExperimentResult) -> Thumbnail:
    plot = next(iter(result.plots.values()), None)
    return Thumbnail(
        title=result.experiment.title,
        target=f"#{result.experiment.name}",
        light=result.light,
        text=_counts(result),
        image="" if plot is None else _png(plot.figure),
    )


def _counts(result: ExperimentResult) -> str:
    """Return the verdicts on the paper's claims, in words."""
    counts = count_verdicts(result.claim_results).get(Whose.PAPER)
    if not counts:
        return "No claim of the paper."
    words = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.DIFFERS: ("differs", "differ"),
        Verdict.FAILS: ("fails", "fail"),
        Verdict.SKIPPED: ("not run", "not run"),
    }
    parts = [f"{counts[kind]} {words[kind][counts[kind] > 1]}" for kind in Verdict if counts[kind]]
    return f"Of {counts.total()} claims of the paper {', '.join(parts)}."


def _png(figure: "Figure") -> str:
    """Return the fullest panel of a figure as the ``data:`` address of a small picture."""
    figure.canvas.draw()  # the panels have their places only now
    panel = max(reversed(figure.axes), key=lambda axes: len(axes.lines) + len(axes.collections))
    box = panel.get_tightbbox()
    assert box is not None  # noqa: S101 - a panel that was drawn has one
    inches = box.transformed(figure.dpi_scale_trans.inverted()).padded(0.05)
    layout, buffer = figure.get_layout_engine(), io.BytesIO()
    figure.set_layout_engine("none")  # else the panels move while the picture is cut out
    for legend in figure.legends:
        legend.set_visible(False)  # it belongs to all panels, and would lie over this one
    dpi = THUMBNAIL_PIXELS / inches.width
    figure.savefig(buffer, format="png", dpi=dpi, bbox_inches=inches)
    for legend in figure.legends:
        legend.set_visible(True)
    figure.set_layout_engine(layout)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
