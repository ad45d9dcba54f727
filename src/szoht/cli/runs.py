"""``szoht runs``: list the runs of a store."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer
from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from szoht.cli import options
from szoht.reporting.text import printable
from szoht.store import RunSummary, Store

__all__ = ["runs"]

NUMERIC_COLUMNS = ("d", "k", "queries", "best")
TRUNCATED_COLUMNS = ("function", "algorithm")
"""Columns that are truncated if the terminal is narrow."""


def runs(
    *,
    store: options.StorePath,
    as_lines: Annotated[bool, typer.Option("--json", help="One JSON object per run.")] = False,
) -> None:
    """List the runs of a store."""
    with options.cli_errors(), Store(store, create=False) as file:
        found = file.runs()
    if as_lines:
        for summary in found:
            typer.echo(json.dumps(asdict(summary)))
    else:
        Console().print(_table(found))


def _table(found: list[RunSummary]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("run", "started", *TRUNCATED_COLUMNS, *NUMERIC_COLUMNS, "status"):
        justify: JustifyMethod = "right" if name in NUMERIC_COLUMNS else "left"
        # rich narrows columns that it may wrap; their cells are truncated instead
        table.add_column(name, justify=justify, no_wrap=name not in TRUNCATED_COLUMNS)
    for summary in found:
        table.add_row(*map(_cell, _row(summary)))
    return table


def _cell(text: str) -> Text:
    """Return literal text: a command may contain what looks like rich markup."""
    return Text(printable(text), no_wrap=True, overflow="ellipsis")


def _row(summary: RunSummary) -> tuple[str, ...]:
    return (
        summary.name,
        _local(summary.started),
        summary.function or "",
        _short_name(summary.algorithm),
        str(summary.d),
        "" if summary.k is None else str(summary.k),
        f"{summary.queries:,}",
        "" if summary.best is None else f"{summary.best:.4g}",
        f"RUNNING {_time(summary.seconds)}" if summary.status == "RUNNING" else summary.status,
    )


def _local(moment: str) -> str:
    """Return a moment in local time, or as it was written if the calendar ends there."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%m-%d %H:%M")
    except (ValueError, OverflowError):
        return moment


def _time(seconds: float) -> str:
    """Return a time in few characters.

    >>> _time(0.25), _time(75), _time(9000), _time(200_000)
    ('0.25s', '1m15s', '2h30m', '2d07h')
    """
    if seconds < 60:  # noqa: PLR2004
        return f"{seconds:.2g}s"
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d{hour:02}h"
    return f"{hour}h{minute:02}m" if hour else f"{minute}m{second:02}s"


def _short_name(algorithm: str) -> str:
    """Return the estimator and update of a composite algorithm, or the name of another one."""
    if not algorithm.startswith("Composite("):
        return algorithm.partition("(")[0]
    parts = [
        algorithm.partition(f"{name}=")[2].partition("(")[0] for name in ("estimator", "update")
    ]
    return " + ".join(parts)
