"""A run as one self-contained HTML page."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from szoht.errors import MissingExtraError
from szoht.reporting.bars import change_bars
from szoht.reporting.cells import Badge
from szoht.reporting.figures import inline_svg, subplots
from szoht.reporting.fit_page import fit_sections
from szoht.reporting.page import HtmlFigure, HtmlTable, Page, Section
from szoht.reporting.run_report import run_figure
from szoht.reporting.text import format_count, printable
from szoht.result import Result, Status
from szoht.store import Fault, RunSummary

__all__ = ["run_page", "snapshot_page"]

SHOWN_BARS = 30
SHOWN_REASONS = 20


def run_page(summary: RunSummary, result: Result, faults: Sequence[Fault] = ()) -> Page:
    """Return the page: result, trajectory, changes, what the solver did, faults, timings.

    Of a calibration also the fit, its errors and residuals, and what else explains the data.
    """
    return Page(
        title=f"Run {summary.name}",
        subtitle=printable(f"{summary.function or 'evaluated elsewhere'}, {summary.started}"),
        sections=(
            _result(summary, result),
            _trajectory(result),
            _changes(result),
            *(() if result.fit is None else fit_sections(result.fit)),
            _explanation(result),
            _faults(result, faults),
            _timings(result),
        ),
    )


def snapshot_page(summary: RunSummary, text: str) -> Page:
    """Return a page about a run that cannot be replayed here: what is known in words."""
    lines = tuple(printable(line) for line in text.splitlines() if line)
    return Page(
        title=f"Run {summary.name}",
        subtitle=printable(summary.function or "evaluated elsewhere"),
        sections=(Section(anchor="result", title="Result", text=lines),),
    )


def _result(summary: RunSummary, result: Result) -> Section:
    style = "good" if result.success else "bad" if result.failure is not None else "plain"
    best = "maximized" if result.maximize else "minimized"
    error = f", standard error {result.fun_error:.2g}" if result.fun_error > 0 else ""
    rows = [
        ("status", Badge(summary.status, style)),
        (f"{'value' if result.fit is None else 'cost'}, {best}", f"{result.fun:.10g}{error}"),
        ("queries", result.nfev),
        ("iterations", result.nit),
        ("seconds", float(result.seconds)),
        ("variables", f"{result.support.size} changed of {result.x.size}"),
        ("method", printable(result.method)),
        ("seed", str(result.seed)),
    ]
    message = result.message if result.status is not Status.RUNNING else result.status.text
    return Section(
        anchor="result",
        title="Result",
        text=(printable(message),),
        content=(HtmlTable(header=("what", "value"), rows=rows),),
    )


def _trajectory(result: Result) -> Section:
    if not len(result.history.get("queries", ())):
        return Section(anchor="trajectory", title="Trajectory", text=("No value is known yet.",))
    try:
        figures = _trajectory_figures(result)
    except MissingExtraError as error:
        return Section(anchor="trajectory", title="Trajectory", text=(str(error),))
    return Section(anchor="trajectory", title="Trajectory", content=figures)


def _trajectory_figures(result: Result) -> tuple[HtmlFigure, ...]:
    over_time, (axes,) = subplots(size=(7, 3.2))
    seconds, queries = result.history["seconds"], result.history["queries"]
    axes.step(np.append(0.0, seconds), np.append(0, queries), where="post", color="#1f4e8c")
    axes.set_xlabel("seconds")
    axes.set_ylabel("queries")
    return (
        HtmlFigure(
            svg=inline_svg(run_figure(result), "values", "values against queries"),
            caption="The value of the points that were kept, and the best so far.",
        ),
        HtmlFigure(
            svg=inline_svg(over_time, "pace", "queries against seconds"),
            caption="Queries over time; callbacks and interruptions do not count.",
        ),
    )


def _changes(result: Result) -> Section:
    changes = result.changes if result.fit is None else result.fit.changes
    if not len(changes):
        return Section(anchor="changes", title="Changes", text=("Nothing is changed.",))
    shown = changes[:SHOWN_BARS]
    caption = "From the nominal value (black) to the new one; each axis has its own numbers."
    if len(shown) < len(changes):
        caption += f" {len(shown)} of {len(changes)} are drawn."
    rows = [
        (
            printable(change.name),
            change.nominal,
            change.value,
            change.bound,
            "not measured" if math.isnan(change.effect) else change.effect,
        )
        for change in changes
    ]
    header = ("name", "nominal", "value", "bound hit", "effect when put back")
    return Section(
        anchor="changes",
        title="Changes",
        content=(
            HtmlFigure(svg=change_bars(shown, result.variables), caption=caption),
            HtmlTable(header=header, rows=rows),
        ),
    )


def _explanation(result: Result) -> Section:
    lines = tuple(map(printable, result.explain)) or ("This method explains nothing.",)
    return Section(anchor="explain", title="What the solver did", text=lines)


def _faults(result: Result, faults: Sequence[Fault]) -> Section:
    failed = format_count(result.counts.failures, "point")
    text = [f"{failed} could not be evaluated; {format_count(len(faults), 'attempt')} failed."]
    reasons = Counter(printable(fault.reason) for fault in faults).most_common(SHOWN_REASONS)
    table = HtmlTable(header=("reason", "attempts"), rows=reasons)
    stderr = next((fault.stderr for fault in reversed(faults) if fault.stderr), "")
    text += [f"Standard error: {printable(line)}" for line in stderr.splitlines()[-5:]]
    return Section(anchor="faults", title="Faults", text=text, content=(table,) if reasons else ())


def _timings(result: Result) -> Section:
    seconds = np.append(0.0, np.asarray(result.history.get("seconds", ()), dtype=np.float64))
    rows: list[tuple[str, object]] = [("seconds in all", float(result.seconds))]
    if result.nfev:
        rows.append(("seconds per query, mean", float(result.seconds / result.nfev)))
    if seconds.size > 1:
        steps = np.diff(seconds)
        rows += [
            ("longest step, seconds", float(steps.max())),
            ("median step, seconds", float(np.median(steps))),
            ("queries at once, at most", int(np.diff(result.history["queries"], prepend=0).max())),
        ]
    return Section(
        anchor="timings",
        title="Timings",
        text=(
            "A step is a row of the history. Queries that are asked at once can run in parallel.",
        ),
        content=(HtmlTable(header=("what", "value"), rows=rows),),
    )
