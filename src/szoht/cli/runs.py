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
from szoht.errors import SzohtError
from szoht.store import RunSummary, Store

__all__ = ["runs"]

WIDTH = 24
COLUMNS = ("run", "started", "function", "algorithm", "d", "k", "queries", "best", "status")


def runs(
    *,
    store: options.StorePath,
    as_lines: Annotated[bool, typer.Option("--json", help="One JSON object per run.")] = False,
) -> None:
    """List the runs of a store."""
    try:
        with Store(store, create=False) as file:
            found = file.runs()
    except (SzohtError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    if as_lines:
        for summary in found:
            typer.echo(json.dumps(asdict(summary)))
    else:
        Console().print(_table(found))


def _table(found: list[RunSummary]) -> Table:
    """Return the list; where the terminal is narrow, function and algorithm are cut short."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    rows = [_row(summary) for summary in found]
    for i, name in enumerate(COLUMNS):
        table.add_column(
            name,
            justify="right" if name in ("d", "k", "queries", "best") else "left",
            no_wrap=True,
            max_width=WIDTH,
            min_width=0 if name in ("function", "algorithm") else _width(name, i, rows),
        )
    for row in rows:
        table.add_row(*row)
    return table


def _width(name: str, i: int, rows: list[tuple[str, ...]]) -> int:
    return max(len(name), *(len(row[i]) for row in rows), 0)


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
