"""``szoht reproduce``: the paper's figures, one command each, and a verdict on every claim."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from szoht import paper
from szoht.cli import options
from szoht.paper.experiment import Job
from szoht.paper.report import summary
from szoht.paper.reproduce import Watch
from szoht.paper.runner import Finished

__all__ = ["reproduce"]

STYLES = {"holds": "green", "differs": "yellow", "fails": "bold red", "not judged": "dim"}


def reproduce(
    *,
    names: Annotated[list[str], typer.Argument(help=f"{', '.join(paper.names())}, or all.")],
    quick: Annotated[bool, typer.Option("--quick", help="Minutes; smaller settings.")] = False,
    seeds: Annotated[int | None, typer.Option("--seeds", help="Runs per curve.")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the report.")] = Path(
        "out/reproduce"
    ),
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; default: one per core.")
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Search the grids first; finished points are kept.")
    ] = False,
) -> None:
    """Regenerate figures of the paper and say, claim by claim, whether it holds.

    An interrupted run goes on where it was when the command is given again.
    """
    console = Console()
    try:
        with options.complaints():
            options.check_output("out", out / "report.html", make_folder=True)
            for name in _with_grid(names) if tune else ():
                with _bar(console) as watch:
                    found = paper.tune(name, quick=quick, out=out, workers=workers, watch=watch)
                options.echo(f"wrote {found}")
            with _bar(console) as watch:
                report = paper.reproduce(
                    names, quick=quick, seeds=seeds, out=out, workers=workers, watch=watch
                )
    except KeyboardInterrupt:
        options.echo(f"Stopped. Finished curves are kept in {out}; the same command goes on.")
        raise typer.Exit(code=options.INTERRUPTED) from None
    console.print(_verdicts(report))
    for outcome in report.outcomes:
        for problem in outcome.problems:
            console.print(f"{outcome.experiment.name}: {problem}", markup=False)
    console.print(summary(report.outcomes))
    options.echo(f"wrote {report.path}")


def _with_grid(names: Sequence[str]) -> list[str]:
    wanted = paper.names() if "all" in names else names
    return [name for name in wanted if paper.find(name).grid is not None]


def _verdicts(report: paper.Report) -> Table:
    table = Table(title="Claims")
    for name in ("experiment", "claim", "target", "measured", "verdict"):
        table.add_column(name)
    for one in report.judged:
        measured = one.reason if one.measured is None else one.measured.text
        style = STYLES[one.verdict]
        table.add_row(
            one.claim.experiment,
            one.claim.id,
            one.claim.wanted(quick=one.quick),
            measured,
            f"[{style}]{one.verdict}[/]",
        )
    return table


@contextmanager
def _bar(console: Console) -> Iterator[Watch]:
    """Show how much of the work is done, and an estimate of the time left.

    The time left is guessed from the jobs' own estimates of their cost, scaled by the pace so far.
    """
    bar = Progress(
        TextColumn("{task.fields[curve]:<34}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    task = bar.add_task("", total=None, curve="", count="")
    done = 0

    def watch(jobs: Sequence[Job], finished: Finished | None) -> None:
        nonlocal done
        if finished is None:
            bar.update(task, total=sum(job.cost for job in jobs), count=f"0/{len(jobs)}")
            return
        done += 1
        curve = f"{finished.job.experiment} {finished.job.curve}"[:34]
        bar.update(task, curve=curve, count=f"{done}/{len(jobs)}")
        if finished.cached:  # costs nothing now, so it must not count for the pace
            total = bar.tasks[0].total or 0.0
            bar.update(task, total=total - finished.job.cost)
        else:
            bar.advance(task, finished.job.cost)

    with bar:
        yield watch
