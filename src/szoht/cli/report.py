"""``szoht report``: summarize a stored run."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from szoht.cli import options
from szoht.errors import MissingExtraError, RunMismatchError
from szoht.reporting.run_page import run_page
from szoht.reporting.run_report import (
    describe_run,
    describe_snapshot,
    save_run_figure,
    write_history,
)
from szoht.result import Result, Status
from szoht.run.external import replay
from szoht.store import RunSpec, Store

__all__ = ["report"]


def report(
    *,
    store: options.StorePath,
    run: options.RunName = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write history.csv and, with matplotlib, history.png here."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a page that needs no other file or network access."),
    ] = None,
) -> None:
    """Summarize a stored run, without evaluating anything."""
    with options.cli_errors():
        if out is not None:
            options.check_output("out", out / "history.csv", make_folder=True)
        if html is not None:
            options.check_output("html", html)
        with Store(store, create=False) as file:
            name = file.find(run)
            (summary,) = [one for one in file.runs() if one.name == name]
            try:
                result = replay(file, name).result
            except RunMismatchError as error:
                known = describe_snapshot(summary, file.snapshot(name), _readable_spec(file, name))
                options.echo(f"{known}\n\n{error}")
                return
            if result.status is Status.RUNNING:  # the replay has measured its own time
                result = replace(result, seconds=summary.seconds)
            faults = file.faults(name)
            options.echo(describe_run(summary, result, faults))
        if html is not None:
            html.write_text(run_page(summary, result, faults).html(), encoding="utf-8")
            typer.echo(f"wrote {html}")
        if out is not None:
            _write_history(result, out, name)


def _write_history(result: Result, out: Path, name: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_history(result, out / "history.csv")
    typer.echo(f"wrote {out / 'history.csv'}")
    try:
        save_run_figure(result, out / "history.png", title=f"run {name}")
    except MissingExtraError as error:
        typer.echo(str(error), err=True)
    else:
        typer.echo(f"wrote {out / 'history.png'}")


def _readable_spec(file: Store, name: str) -> RunSpec | None:
    """Return what is stored of a run, None if this version cannot read it."""
    try:
        return file.spec(name)
    except RunMismatchError:
        return None
