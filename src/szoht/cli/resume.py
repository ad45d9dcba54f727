"""``szoht resume``: continue a stored run."""

import shlex
from typing import Annotated

import typer

from szoht.algorithms.calibration import Calibration
from szoht.cli import options
from szoht.cli.fits import FigureFile, ResidualsFile, check_figure, print_fit
from szoht.cli.interruption import run_until_stopped
from szoht.cli.results import print_result
from szoht.errors import ParameterError
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
    changes: options.ChangesFile = None,
    residuals: ResidualsFile = None,
    figure: FigureFile = None,
) -> None:
    """Continue a stored run; --budget, --seconds and --target replace its limits.

    --residuals and --figure are for calibrations. If the run evaluates a program, that program
    is started again: resume only stores you trust.
    """
    with options.cli_errors():
        options.check_outputs(output=output, changes=changes, residuals=residuals, figure=figure)
        check_figure(figure)
        with (
            Store(store, create=False) as file,
            options.cwd_on_path(),
            options.showing_progress(quiet=quiet) as bar,
        ):
            name = file.find(run)
            spec = file.spec(name)
            source = spec.source
            has_fit = isinstance(spec.method, Calibration) and not spec.method.components
            if (residuals or figure) and not has_fit:
                raise ParameterError(
                    f"`residuals` and `figure` need a calibration; {name} is none."
                )
            if function is None and isinstance(source, Program):
                options.echo(f"run {name}: {shlex.join(source.command)}", err=True)
            fun = None if function is None else options.load_function(function)
            ended = run_until_stopped(
                lambda: resume_run(
                    file,
                    fun,
                    run=name,
                    max_queries=budget,
                    max_seconds=seconds,
                    target=target,
                    **options.executor_kwargs(source, workers, retries),
                    progress=bar,
                )
            )
        result, status = ended
        if result.fit is None:
            print_result(result, output, changes, store=store, function=function, status=status)
        else:
            print_fit(
                result.fit,
                output=output,
                changes=changes,
                residuals=residuals,
                figure=figure,
                store=store,
                function=function,
                status=status,
            )
