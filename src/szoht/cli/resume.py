"""``szoht resume``: continue a stored run."""

import shlex
from typing import Annotated

import typer

from szoht.cli import options
from szoht.cli.results import print_result
from szoht.evaluation.programs import Program
from szoht.run.resume import resume as resume_run
from szoht.store import Store

__all__ = ["resume"]


def resume(
    *,
    store: options.StorePath,
    run: options.RunName = None,
    function: Annotated[
        str | None,
        typer.Option(
            "--function",
            help="package.module:function, if it cannot be imported by its stored name.",
        ),
    ] = None,
    budget: options.Budget = None,
    seconds: options.Seconds = None,
    target: options.Target = None,
    workers: options.Workers = None,
    retries: options.Retries = None,
    quiet: options.Quiet = False,
    output: options.Output = None,
) -> None:
    """Continue a stored run; --budget, --seconds and --target replace its limits.

    If the run evaluates a program, that program is started again: resume only stores you trust.
    """
    with options.cli_errors():
        if output is not None:
            options.check_output("output", output)
        with (
            Store(store, create=False) as file,
            options.cwd_on_path(),
            options.showing_progress(quiet=quiet) as bar,
        ):
            name = file.find(run)
            source = file.spec(name).source
            if function is None and isinstance(source, Program):
                options.echo(f"run {name}: {shlex.join(source.command)}", err=True)
            result = resume_run(
                file,
                None if function is None else options.load_function(function),
                run=name,
                max_queries=budget,
                max_seconds=seconds,
                target=target,
                **options.executor_kwargs(workers, retries, program=isinstance(source, Program)),
                progress=bar,
            )
        print_result(result, output, store=store, function=function)
