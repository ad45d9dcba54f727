"""``szoht runs``: what is in a store."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from szoht.cli import options
from szoht.store import RunSummary, Store

__all__ = ["runs"]

COLUMNS = ("run", "started", "function", "algorithm", "d", "k", "queries", "best", "status")
ELASTIC = ("function", "algorithm")
LEAST = 6
PADDING = 2 * len(COLUMNS) + 2


def runs(
    *,
    store: options.StorePath,
    as_lines: Annotated[bool, typer.Option("--json", help="One JSON object per run.")] = False,
) -> None:
    """List the runs of a store."""
    with options.complaints(), Store(store, create=False) as file:
        found = file.runs()
    if as_lines:
        for summary in found:
            typer.echo(json.dumps(asdict(summary)))
    else:
        console = Console()
        console.print(_table(found, console.width))


def _table(found: list[RunSummary], width: int) -> Table:
    """Return the list; where the terminal is narrow, function and algorithm are cut short."""
    rows = [_row(summary) for summary in found]
    widths = {
        name: max([len(name), *(len(row[i]) for row in rows)]) for i, name in enumerate(COLUMNS)
    }
    rest = sum(size for name, size in widths.items() if name not in ELASTIC)
    room = max(LEAST, (width - rest - PADDING) // len(ELASTIC))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in COLUMNS:
        table.add_column(
            name,
            justify="right" if name in ("d", "k", "queries", "best") else "left",
            no_wrap=True,
            width=min(widths[name], room) if name in ELASTIC else widths[name],
        )
    for row in rows:
        table.add_row(*row)
    return table


def _row(summary: RunSummary) -> tuple[str, ...]:
    return (
        summary.name,
        datetime.fromisoformat(summary.started).astimezone().strftime("%m-%d %H:%M"),
        summary.function or "",
        _short(summary.algorithm),
        str(summary.d),
        "" if summary.k is None else str(summary.k),
        f"{summary.queries:,}",
        "" if summary.best is None else f"{summary.best:.4g}",
        summary.status,
    )


def _short(algorithm: str) -> str:
    """Return the names of the parts that tell algorithms apart: estimator and update."""
    if not algorithm.startswith("Composite("):
        return algorithm.partition("(")[0]
    parts = [
        algorithm.partition(f"{name}=")[2].partition("(")[0] for name in ("estimator", "update")
    ]
    return " + ".join(parts)
