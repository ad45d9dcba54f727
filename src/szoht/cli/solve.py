"""``szoht solve``: minimize a Python function or the output of a program."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from szoht.cli import options
from szoht.cli import variables as stated
from szoht.cli.constraints import ConstraintOption, parse_constraint
from szoht.cli.results import print_result
from szoht.errors import ParameterError
from szoht.evaluation.oracle import OnError
from szoht.evaluation.programs import Format, Program
from szoht.run.minimize import minimize

__all__ = ["solve"]


def solve(
    *,
    function: Annotated[
        str | None,
        typer.Argument(help="package.module:function, importable from the current folder."),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            help="Program to run instead of a function. {input} is replaced by a file with x (else "
            "x is on standard input), {output} by a file for the value (else it is printed).",
        ),
    ] = None,
    input_format: Annotated[
        str, typer.Option("--input-format", help="Format of x for the program: json or npy.")
    ] = "json",
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Pass only the non-zeros to the program, as JSON.")
    ] = False,
    output_format: Annotated[
        str, typer.Option("--output-format", help="Format of the program's value: json or npy.")
    ] = "json",
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds after which the program is killed.")
    ] = None,
    dim: options.Dim = None,
    x0: options.InitialPoint = None,
    variables: stated.VariablesFile = None,
    reference: stated.Reference = None,
    bounds: stated.BoundsOption = None,
    unit: stated.Unit = None,
    integer: stated.Integer = None,
    maximize: stated.Maximize = False,
    named: Annotated[
        bool,
        typer.Option("--named", help="Pass x by the names of the variables, as a dict or object."),
    ] = False,
    k: options.NonZeros = None,
    always: stated.AlwaysFree = None,
    constraint: ConstraintOption = None,
    method: options.Method = "auto",
    option: options.Options = None,
    budget: options.Budget = None,
    seconds: options.Seconds = None,
    target: options.Target = None,
    seed: options.Seed = None,
    vectorized: Annotated[
        bool,
        typer.Option("--vectorized", help="The function takes an array of points, one per row."),
    ] = False,
    on_error: options.OnErrorChoice = None,
    workers: options.Workers = None,
    plan_width: options.PlanWidth = 1,
    retries: options.Retries = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="Store the run in this file; see szoht resume.")
    ] = None,
    known: options.Known = None,
    quiet: options.Quiet = False,
    output: options.Output = None,
    changes: options.ChangesFile = None,
) -> None:
    """Minimize a Python function or the output of a program under a sparsity constraint."""
    with options.cli_errors():
        for name, path in (("output", output), ("changes", changes)):
            if path is not None:
                options.check_output(name, path)
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
        program = command and Program(
            command=command,
            input=cast(Format, input_format),
            sparse=sparse,
            output=cast(Format, output_format),
            timeout=timeout,
        )
        with options.showing_progress(quiet=quiet) as bar:
            result = minimize(
                _objective(function, program or None),
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
                **options.executor_kwargs(workers, retries, program=bool(program)),
                progress=bar,
                store=store,
                known=known,
            )
        print_result(result, output, changes, store=store)


def _objective(function: str | None, program: Program | None) -> Callable[..., Any]:
    if program is not None and function is None:
        return program
    if function is not None and program is None:
        return options.load_function(function)
    raise ParameterError("exactly one of package.module:function and --command must be given.")
