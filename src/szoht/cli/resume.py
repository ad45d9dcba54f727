"""``szoht resume``: go on with a stored run."""

import shlex
from typing import Annotated

import typer

from szoht.cli import options
from szoht.evaluation.programs import Program
from szoht.run.resume import resume as go_on
from szoht.store import Store

__all__ = ["resume"]


def resume(
    *,
    store: options.StorePath,
    run: options.RunName = None,
    function: Annotated[
        str | None,
        typer.Option(
            "--function", help="package.module:function, if the store does not know its name."
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
    """Go on with a stored run; --budget, --seconds and --target replace its limits.

    A run of a program starts that program again: resume only what you would have started yourself.
    """
    with options.complaints():
        if output is not None:
            options.check_output("output", output)
        with Store(store, create=False) as file, options.from_here():
            name = file.find(run)
            source = file.settings(name).source
            if function is None and isinstance(source, Program):
                options.echo(f"run {name}: {shlex.join(source.command)}", err=True)
            result = go_on(
                file,
                None if function is None else options.load(function),
                run=name,
                max_queries=budget,
                max_seconds=seconds,
                target=target,
                **options.staff(workers, retries, program=isinstance(source, Program)),
                progress=not quiet,
            )
        options.show(result, output)
