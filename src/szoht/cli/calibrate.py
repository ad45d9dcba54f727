"""``szoht calibrate``: which few parameters of a simulator explain measurements."""

from typing import Annotated, Any, cast

import typer

from szoht.algorithms.calibration.residuals import Loss
from szoht.cli import observed as stated_data
from szoht.cli import options, programs
from szoht.cli import variables as stated
from szoht.cli.fits import FigureFile, ResidualsFile, check_figure, print_fit
from szoht.cli.interruption import run_until_stopped
from szoht.evaluation.oracle import OnError
from szoht.run.least_squares import least_squares

__all__ = ["calibrate"]


def calibrate(
    *,
    function: programs.Function = None,
    command: programs.Command = None,
    input_format: programs.InputFormat = "json",
    sparse: programs.SparseInput = False,
    output_format: Annotated[
        str,
        typer.Option(
            "--output-format",
            help="Format of the program's outputs: json, a list or an object; csv, lines with a "
            "number or with name,value; or npy.",
        ),
    ] = "json",
    timeout: programs.ProgramTimeout = None,
    observed: stated_data.ObservedFile = None,
    sigma: stated_data.Sigma = None,
    loss: stated_data.LossName = "linear",
    f_scale: stated_data.FScale = 1.0,
    dim: options.Dim = None,
    x0: options.InitialPoint = None,
    variables: stated.VariablesFile = None,
    bounds: stated.BoundsOption = None,
    unit: stated.Unit = None,
    integer: stated.Integer = None,
    named: programs.NamedInput = False,
    k: Annotated[
        str,
        typer.Option("-k", help="Maximum number of changes; or bic or chi2, to find the number."),
    ] = "5",
    budget: options.Budget = None,
    seconds: options.Seconds = None,
    target: options.Target = None,
    seed: options.Seed = None,
    vectorized: programs.Vectorized = False,
    on_error: options.OnErrorChoice = None,
    workers: options.Workers = None,
    retries: options.Retries = None,
    store: options.StoreFile = None,
    level: Annotated[
        float, typer.Option("--level", help="Probability of the confidence intervals.")
    ] = 0.95,
    quiet: options.Quiet = False,
    output: options.Output = None,
    changes: options.ChangesFile = None,
    residuals: ResidualsFile = None,
    figure: FigureFile = None,
) -> None:
    """Find which few parameters of a simulator explain measurements, and their values."""
    with options.cli_errors():
        options.check_outputs(output=output, changes=changes, residuals=residuals, figure=figure)
        check_figure(figure)
        problem = stated.Stated.parse(
            dim=dim,
            x0=x0,
            variables=variables,
            reference=None,
            bounds=bounds,
            unit=unit,
            integer=integer,
        )
        measured = stated_data.ObservedNumbers.parse(observed, sigma)
        fun = programs.choose_function(
            function,
            command,
            input=input_format,
            sparse=sparse,
            output=output_format,
            timeout=timeout,
            returns="outputs",
        )
        with options.showing_progress(quiet=quiet) as bar:
            ended = run_until_stopped(
                lambda: least_squares(
                    fun,
                    problem.start,
                    **problem.for_least_squares(),
                    k=_number_of_changes(k),
                    observed=measured.observed,
                    sigma=measured.sigma,
                    loss=cast(Loss, loss),
                    f_scale=f_scale,
                    x_as="dict" if named else "array",
                    max_queries=budget,
                    max_seconds=seconds,
                    target=target,
                    rng=seed,
                    vectorized=vectorized,
                    on_error=cast(OnError | None, on_error),
                    **options.executor_kwargs(fun, workers, retries),
                    progress=bar,
                    store=store,
                    level=level,
                )
            )
        print_fit(
            ended.result,
            output=output,
            changes=changes,
            residuals=residuals,
            figure=figure,
            store=store,
            status=ended.status,
        )


def _number_of_changes(text: str) -> Any:
    """Return a number, or the text for `least_squares` to judge."""
    try:
        return int(text)
    except ValueError:
        return text
