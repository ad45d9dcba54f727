"""``szoht reproduce``: the paper's figures, one command each, and a check of every claim."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from szoht import paper
from szoht.cli import options
from szoht.cli.verdicts import print_experiments, print_verdicts
from szoht.paper.experiment import Job
from szoht.paper.reproduce import ProgressCallback
from szoht.paper.runner import JobResult

__all__ = ["reproduce"]

CURVE_CHARACTERS = 26
"""Of the name of a curve in the progress bar, which fits into 80 columns."""


def reproduce(
    *,
    names: Annotated[
        list[str] | None, typer.Argument(help=f"{', '.join(paper.experiment_names())}, or all.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the experiments with their time and data, and end.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller settings that take minutes.")
    ] = False,
    seeds: Annotated[int | None, typer.Option("--seeds", help="Runs per curve.")] = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option("--dataset", help="Of the attacks: mnist, cifar10 or imagenet; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path(
        "out/reproduce"
    ),
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; default: one per core.")
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Run the grid searches first; finished runs are cached.")
    ] = False,
) -> None:
    """Regenerate figures of the paper and check its claims one by one.

    Repeat the command to continue an interrupted run.
    """
    console = Console()
    if listed:
        print_experiments(console, [paper.get_experiment(name) for name in _requested(names)])
        return
    if not names:
        raise typer.BadParameter("name an experiment, or all; --list lists them.")
    with options.cli_errors():
        options.check_output("out", out / "report.html", make_folder=True)
        try:
            for name in _tunable(names) if tune else ():
                with _progress_bar(console) as callback:
                    found = paper.tune(
                        name,
                        quick=quick,
                        datasets=datasets or (),
                        out=out,
                        workers=workers,
                        callback=callback,
                    )
                options.echo(f"wrote {found}")
            with _progress_bar(console) as callback:
                report = paper.reproduce(
                    names,
                    quick=quick,
                    seeds=seeds,
                    datasets=datasets or (),
                    out=out,
                    workers=workers,
                    callback=callback,
                )
        except KeyboardInterrupt:
            options.echo(
                f"Stopped. Finished curves are kept in {out}; repeat the command to continue."
            )
            raise
    print_verdicts(console, report.experiment_results)
    options.echo(f"wrote {report.path}")


def _requested(names: Sequence[str] | None) -> list[str]:
    return paper.experiment_names() if not names or "all" in names else list(names)


def _tunable(names: Sequence[str]) -> list[str]:
    return [
        name for name in _requested(names) if paper.get_experiment(name).tuning_jobs is not None
    ]


@contextmanager
def _progress_bar(console: Console) -> Iterator[ProgressCallback]:
    """Show a progress bar, and yield its callback.

    The time left is estimated from the costs of the jobs and the speed so far.
    """
    bar = Progress(
        TextColumn(f"{{task.fields[curve]:<{CURVE_CHARACTERS}}}"),
        BarColumn(bar_width=10),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    task = bar.add_task("", total=None, curve="", count="")
    done = 0

    def callback(jobs: Sequence[Job], finished: JobResult | None) -> None:
        nonlocal done
        if finished is None:
            bar.update(task, total=sum(job.cost for job in jobs), count=f"0/{len(jobs)}")
            return
        done += 1
        curve = f"{finished.job.experiment} {finished.job.curve}"[:CURVE_CHARACTERS]
        bar.update(task, curve=curve, count=f"{done}/{len(jobs)}")
        if finished.cached:  # took no time, so it must not affect the estimated speed
            total = bar.tasks[0].total or 0.0
            bar.update(task, total=total - finished.job.cost)
        else:
            bar.advance(task, finished.job.cost)

    with bar:
        yield callback
