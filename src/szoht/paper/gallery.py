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

THUMBNAIL_PIXELS = 640
"""Width of a thumbnail: twice that on the page, for screens with fine pixels."""


def make_gallery(experiment_results: Sequence[ExperimentResult]) -> Gallery:
    """Return a thumbnail for each experiment, its first figure, which links to its section."""
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
    """Return a figure as the ``data:`` address of a small picture."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=THUMBNAIL_PIXELS / figure.get_figwidth())
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
