"""``szoht report``: summarize a stored run."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from szoht.cli import options
from szoht.core.validation import check_real
from szoht.errors import MissingExtraError, ParameterError, RunMismatchError
from szoht.reporting.figures import save_figure
from szoht.reporting.fit_figure import fit_figure
from szoht.reporting.fit_report import changes_to_csv, residuals_to_csv
from szoht.reporting.page import Page
from szoht.reporting.run_page import run_page, snapshot_page
from szoht.reporting.run_report import (
    describe_run,
    describe_snapshot,
    save_run_figure,
    write_history,
)
from szoht.result import Result, Status
from szoht.run.external import replay
from szoht.run.least_squares_fit import with_fit
from szoht.run.least_squares_result import LeastSquaresResult
from szoht.store import RunSpec, RunSummary, Store

__all__ = ["report"]

SHORTEST_WATCH = 0.5
"""Every page is made from a replay of the run."""


def report(
    *,
    store: options.StorePath,
    run: options.RunName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write history.csv and, with matplotlib, history.png here; of a calibration "
            "also changes.csv, residuals.csv and fit.png.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a page that needs no other file or network access."),
    ] = None,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch", help="Write the page again every so many seconds, until the run has ended."
        ),
    ] = None,
) -> None:
    """Summarize a stored run, without evaluating anything."""
    with options.cli_errors():
        if out is not None:
            options.check_output("out", out / "history.csv", make_folder=True)
        if html is not None:
            options.check_output("html", html)
        elif watch is not None:
            raise ParameterError("`watch` needs --html, the page to be written again.")
        if watch is not None:
            check_real("watch", watch, low=SHORTEST_WATCH)
        with Store(store, create=False) as file:
            name = file.find(run)
            told = _tell(file, name)
            options.echo(told.text)
            if html is not None:
                _write_page(told, html, watch)
                typer.echo(f"wrote {html}")
            while html and watch and told.summary.status == Status.RUNNING.name:
                time.sleep(watch)
                told = _tell(file, name)
                _write_page(told, html, watch)
        if out is not None and told.result is not None:
            _write_files(told.result, out, name)


class _Told(NamedTuple):
    """What there is to say about a run, in words and as a page."""

    summary: RunSummary
    result: Result | None
    text: str
    page: Page


def _tell(file: Store, name: str) -> _Told:
    summary = file.summary(name)
    try:
        replayed = replay(file, name)
    except RunMismatchError as error:
        known = describe_snapshot(summary, file.snapshot(name), _readable_spec(file, name))
        text = f"{known}\n\n{error}"
        return _Told(summary, None, text, snapshot_page(summary, text))
    result = replayed.result
    if result.status is Status.RUNNING:  # the replay has measured its own time
        result = replace(result, seconds=summary.seconds)
    result = with_fit(replayed, result)
    faults = file.faults(name)
    page = run_page(summary, result, faults)
    return _Told(summary, result, describe_run(summary, result, faults), page)


def _write_page(told: _Told, path: Path, watch: float | None) -> None:
    """Write the page as a whole, so that a browser never loads half of it."""
    is_live = told.summary.status == Status.RUNNING.name
    page = replace(told.page, refresh_seconds=watch if is_live else None)
    part = path.with_name(path.name + ".part")
    part.write_text(page.html(), encoding="utf-8")
    part.replace(path)


def _write_files(result: Result, out: Path, name: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    fit: LeastSquaresResult | None = result.fit
    write_history(result, out / "history.csv")
    typer.echo(f"wrote {out / 'history.csv'}")
    if fit is not None:
        for path, text in (("changes.csv", changes_to_csv), ("residuals.csv", residuals_to_csv)):
            (out / path).write_text(text(fit), encoding="utf-8")
            typer.echo(f"wrote {out / path}")
    try:
        save_run_figure(result, out / "history.png", title=f"run {name}")
        typer.echo(f"wrote {out / 'history.png'}")
        if fit is not None:
            typer.echo(f"wrote {save_figure(fit_figure(fit), out / 'fit.png')}")
    except MissingExtraError as error:
        typer.echo(str(error), err=True)


def _readable_spec(file: Store, name: str) -> RunSpec | None:
    """Return what is stored of a run, None if this version cannot read it."""
    try:
        return file.spec(name)
    except RunMismatchError:
        return None
