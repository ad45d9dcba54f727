"""``szoht report``: what happened in a stored run."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from szoht.cli import options
from szoht.errors import MissingExtraError, RunMismatchError
from szoht.reporting.run_report import (
    draw_run,
    summarise,
    summarise_snapshot,
    write_history,
)
from szoht.result import Status
from szoht.run.external import replay
from szoht.store import Store

__all__ = ["report"]


def report(
    *,
    store: options.StorePath,
    run: options.RunName = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write history.csv and, with matplotlib, history.png here."),
    ] = None,
) -> None:
    """Say what happened in a stored run, without evaluating anything."""
    with options.complaints():
        if out is not None:
            options.check_output("out", out / "history.csv", make_folder=True)
        with Store(store, create=False) as file:
            name = file.find(run)
            (summary,) = [known for known in file.runs() if known.name == name]
            try:
                result = replay(file, name).result
            except RunMismatchError as error:
                options.echo(f"{summarise_snapshot(summary, file.snapshot(name))}\n\n{error}")
                return
            if result.status is Status.RUNNING:  # the time that the replay took says nothing
                result = replace(result, seconds=summary.seconds)
            options.echo(summarise(summary, result, file.faults(name)))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            write_history(result, out / "history.csv")
            typer.echo(f"wrote {out / 'history.csv'}")
            try:
                draw_run(result, out / "history.png", title=f"run {name}")
            except MissingExtraError as error:
                typer.echo(str(error), err=True)
            else:
                typer.echo(f"wrote {out / 'history.png'}")
