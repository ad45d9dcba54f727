"""Reports on a run: a text summary, its history as CSV, and a figure of value against queries."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from szoht.core.changes import describe_changes
from szoht.core.csv_text import write_csv
from szoht.reporting.figures import subplots
from szoht.reporting.fit_report import describe_fit_tables
from szoht.reporting.text import format_count
from szoht.result import Result
from szoht.store import Fault, RunSpec, RunSummary
from szoht.store.snapshots import Snapshot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["describe_run", "describe_snapshot", "run_figure", "save_run_figure", "write_history"]

MAX_FAULTS_SHOWN = 5
MAX_ENTRIES_SHOWN = 10
_VALUE, _BEST = "#9db7d5", "#1f4e8c"


def describe_run(summary: RunSummary, result: Result, faults: Sequence[Fault] = ()) -> str:
    """Return a text summary of a run: its configuration, its progress and its failures."""
    rows = [
        f"run {summary.name}, started {summary.started}: {summary.status}",
        "",
        str(result if result.fit is None else result.fit),
        *(f"     {line}" for line in result.explain),
    ]
    if result.fit is not None:
        rows += ["", describe_fit_tables(result.fit)]
    elif result.variables is not None:
        rows += ["", str(result.changes)]
    if faults:
        rows += ["", f"{format_count(len(faults), 'evaluation')} failed:"]
        reasons = Counter(fault.reason for fault in faults)
        rows += [
            f"  {count:>5} x {reason}" for reason, count in reasons.most_common(MAX_FAULTS_SHOWN)
        ]
        stderr = next((fault.stderr for fault in reversed(faults) if fault.stderr), "")
        if stderr:
            rows += ["  last lines of standard error:"]
            rows += [f"    {line}" for line in stderr.splitlines()[-MAX_FAULTS_SHOWN:]]
    return "\n".join(rows)


def describe_snapshot(
    summary: RunSummary, snapshot: Snapshot | None, spec: RunSpec | None = None
) -> str:
    """Return a text summary of a run that cannot be replayed here."""
    best = None if snapshot is None else snapshot.best
    variables = None if spec is None else spec.variables
    rows = [
        f"run {summary.name}, started {summary.started}: {summary.status}",
        f"{summary.algorithm}, seed {summary.seed}",
        f"{format_count(summary.queries, 'query', 'queries')}, "
        f"{format_count(summary.iteration, 'iteration')}, {summary.seconds:.3g} seconds",
    ]
    if best is not None and variables is not None:
        shown = describe_changes(variables.to_x(best.x), variables)
        rows.append(f"best value {summary.best:.10g} with {shown}")
    elif best is not None:
        support = np.flatnonzero(best.x)
        entries = ", ".join(f"{i}: {best.x[i]:.6g}" for i in support[:MAX_ENTRIES_SHOWN])
        non_zeros = format_count(support.size, "non-zero")
        rows.append(f"best value {best.value:.10g} with {non_zeros} {{{entries}}}")
    return "\n".join(rows)


def write_history(result: Result, path: Path) -> None:
    """Write the history as comma-separated values, one row per iteration."""
    rows = (
        [" ".join(map(str, x)) if isinstance(x, tuple) else x for x in row]
        for row in zip(*result.history.values(), strict=True)
    )
    path.write_text(write_csv(result.history, rows), encoding="utf-8")


def run_figure(result: Result, *, title: str = "") -> "Figure":
    """Draw the value of the iterates, and the best so far, against the queries spent.

    The vertical axis is logarithmic if all values are positive.
    """
    figure, (axes,) = subplots(size=(7, 4.2))
    queries = np.asarray(result.history.get("queries", []))
    value = np.asarray(result.history.get("value", []), dtype=np.float64)
    best = np.asarray(result.history.get("best", []), dtype=np.float64)
    axes.plot(queries, value, ".", color=_VALUE, markersize=4, label="value of the iterate")
    axes.step(queries, best, where="post", color=_BEST, linewidth=1.6, label="best so far")
    plotted = np.concatenate([value, best])
    plotted = plotted[np.isfinite(plotted)]
    if plotted.size and plotted.min() > 0:
        axes.set_yscale("log")
    axes.set_xlabel("queries")
    axes.set_ylabel("value")
    axes.set_title(title, loc="left")
    axes.legend(frameon=False)
    return figure


def save_run_figure(result: Result, path: Path, *, title: str = "") -> None:
    """Write the figure of a run to a file."""
    run_figure(result, title=title).savefig(path, dpi=150)
