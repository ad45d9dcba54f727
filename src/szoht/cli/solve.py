"""``szoht solve``: minimize a Python function or the output of a program."""

from typing import Annotated, cast

import typer

from szoht.cli import options, programs
from szoht.cli import variables as stated
from szoht.cli.constraints import ConstraintOption, parse_constraint
from szoht.cli.interruption import run_until_stopped
from szoht.cli.results import print_result
from szoht.evaluation.oracle import OnError
from szoht.run.minimize import minimize

__all__ = ["solve"]


def solve(
    *,
    function: programs.Function = None,
    command: programs.Command = None,
    input_format: programs.InputFormat = "json",
    sparse: programs.SparseInput = False,
    output_format: Annotated[
        str, typer.Option("--output-format", help="Format of the program's value: json or npy.")
    ] = "json",
    timeout: programs.ProgramTimeout = None,
    dim: options.Dim = None,
    x0: options.InitialPoint = None,
    variables: stated.VariablesFile = None,
    reference: stated.Reference = None,
    bounds: stated.BoundsOption = None,
    unit: stated.Unit = None,
    integer: stated.Integer = None,
    maximize: stated.Maximize = False,
    named: programs.NamedInput = False,
    k: options.NonZeros = None,
    always: stated.AlwaysFree = None,
    constraint: ConstraintOption = None,
    method: options.Method = "auto",
    option: options.Options = None,
    budget: options.Budget = None,
    seconds: options.Seconds = None,
    target: options.Target = None,
    seed: options.Seed = None,
    vectorized: programs.Vectorized = False,
    on_error: options.OnErrorChoice = None,
    workers: options.Workers = None,
    plan_width: options.PlanWidth = 1,
    retries: options.Retries = None,
    store: options.StoreFile = None,
    known: options.Known = None,
    quiet: options.Quiet = False,
    output: options.Output = None,
    changes: options.ChangesFile = None,
) -> None:
    """Minimize a Python function or the output of a program under a sparsity constraint."""
    with options.cli_errors():
        options.check_outputs(output=output, changes=changes)
        problem = stated.Stated.parse(
            dim=dim,
            x0=x0,
            variables=variables,
            reference=reference,
            bounds=bounds,
            unit=unit,
            integer=integer,
            always=always,
        )
        fun = programs.choose_function(
            function,
            command,
            input=input_format,
            sparse=sparse,
            output=output_format,
            timeout=timeout,
        )
        with options.showing_progress(quiet=quiet) as bar:
            ended = run_until_stopped(
                lambda: minimize(
                    fun,
                    problem.start,
                    **problem.keywords,
                    maximize=maximize,
                    x_as="dict" if named else "array",
                    k=k if constraint is None else None,
                    constraint=parse_constraint(constraint, k),
                    method=method,
                    options=options.parse_options(option),
                    max_queries=budget,
                    max_seconds=seconds,
                    target=target,
                    rng=seed,
                    vectorized=vectorized,
                    on_error=cast(OnError | None, on_error),
                    plan_width=plan_width,
                    **options.executor_kwargs(fun, workers, retries),
                    progress=bar,
                    store=store,
                    known=known,
                )
            )
        print_result(ended.result, output, changes, store=store, status=ended.status)
