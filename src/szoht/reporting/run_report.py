"""A run in words, as a table of its history and as a figure: value against queries."""

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from szoht.errors import MissingExtraError
from szoht.reporting.text import counted
from szoht.result import Result
from szoht.store import Fault, RunSummary
from szoht.store.snapshots import Snapshot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_run", "run_figure", "summarise", "summarise_snapshot", "write_history"]

SHOWN_FAULTS = 5
SHOWN_ENTRIES = 10
_VALUE, _BEST = "#9db7d5", "#1f4e8c"


def summarise(summary: RunSummary, result: Result, faults: Sequence[Fault] = ()) -> str:
    """Return a run in words: what it was, how far it came, what failed."""
    rows = [
        f"run {summary.name}, started {summary.started}: {summary.status}",
        "",
        str(result),
        *(f"     {line}" for line in result.explain),
    ]
    if faults:
        rows += ["", f"{counted(len(faults), 'evaluation')} failed:"]
        reasons = Counter(fault.reason for fault in faults)
        rows += [f"  {count:>5} x {reason}" for reason, count in reasons.most_common(SHOWN_FAULTS)]
        words = next((fault.stderr for fault in reversed(faults) if fault.stderr), "")
        if words:
            rows += ["  the end of standard error:"]
            rows += [f"    {line}" for line in words.splitlines()[-SHOWN_FAULTS:]]
    return "\n".join(rows)


def summarise_snapshot(summary: RunSummary, snapshot: Snapshot | None) -> str:
    """Return in words what is known of a run that cannot be replayed here."""
    best = None if snapshot is None else snapshot.best
    rows = [
        f"run {summary.name}, started {summary.started}: {summary.status}",
        f"{summary.algorithm}, seed {summary.seed}",
        f"{counted(summary.queries, 'query', 'queries')}, "
        f"{counted(summary.iteration, 'iteration')}, {summary.seconds:.3g} seconds",
    ]
    if best is not None:
        support = np.flatnonzero(best.x)
        entries = ", ".join(f"{i}: {best.x[i]:.6g}" for i in support[:SHOWN_ENTRIES])
        rows.append(
            f"best value {best.value:.10g} with {counted(support.size, 'non-zero')} {{{entries}}}"
        )
    return "\n".join(rows)


def write_history(result: Result, path: Path) -> None:
    """Write the history as comma-separated values, one row per iteration."""
    names = list(result.history)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in zip(*result.history.values(), strict=True):
            writer.writerow([" ".join(map(str, x)) if isinstance(x, tuple) else x for x in row])


def run_figure(result: Result, *, title: str = "") -> "Figure":
    """Draw the value of the iterates, and the best so far, against the queries spent.

    The axis of values is logarithmic if all of them are positive.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "figures need the package matplotlib: pip install 'szoht[plot]'"
        ) from error
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    queries = np.asarray(result.history.get("queries", []))
    value = np.asarray(result.history.get("value", []), dtype=np.float64)
    best = np.asarray(result.history.get("best", []), dtype=np.float64)
    axes.plot(queries, value, ".", color=_VALUE, markersize=4, label="value of the iterate")
    axes.step(queries, best, where="post", color=_BEST, linewidth=1.6, label="best so far")
    known = np.concatenate([value, best])
    known = known[np.isfinite(known)]
    if known.size and known.min() > 0:
        axes.set_yscale("log")
    axes.set_xlabel("queries")
    axes.set_ylabel("value")
    axes.set_title(title, loc="left")
    axes.grid(visible=True, color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False)
    return figure


def draw_run(result: Result, path: Path, *, title: str = "") -> None:
    """Write the figure of a run to a file."""
    run_figure(result, title=title).savefig(path, dpi=150)
