"""``szoht solve``: minimise a Python function, or what a program computes."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from szoht.cli import options
from szoht.errors import ParameterError
from szoht.evaluation.oracle import OnError
from szoht.evaluation.programs import Format, Program
from szoht.run.minimize import minimize

__all__ = ["solve"]


def solve(
    *,
    function: Annotated[
        str | None, typer.Argument(help="package.module:function, found from the current folder.")
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command",
            help="A program in place of a function: {input} in it becomes a file with x (else x "
            "comes on standard input), {output} where it leaves the value (else it prints it).",
        ),
    ] = None,
    input_format: Annotated[
        str, typer.Option("--input-format", help="How the program gets x: json or npy.")
    ] = "json",
    sparse: Annotated[
        bool, typer.Option("--sparse", help="The program gets the non-zeros only, as JSON.")
    ] = False,
    output_format: Annotated[
        str, typer.Option("--output-format", help="How it gives the value: json or npy.")
    ] = "json",
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds after which it is killed.")
    ] = None,
    dim: options.Dim = None,
    x0: options.Start = None,
    k: options.NonZeros = None,
    method: options.Method = "auto",
    option: options.Options = None,
    budget: options.Budget = None,
    seconds: options.Seconds = None,
    target: options.Target = None,
    seed: options.Seed = None,
    vectorized: Annotated[
        bool, typer.Option("--vectorized", help="The function takes a stack of points.")
    ] = False,
    on_error: options.OnErrorChoice = "stop",
    workers: options.Workers = None,
    retries: options.Retries = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="Keep the run in this file; see szoht resume.")
    ] = None,
    quiet: options.Quiet = False,
    output: options.Output = None,
) -> None:
    """Minimise a Python function, or what a program computes, under a sparsity constraint."""
    with options.complaints():
        if output is not None:
            options.check_output("output", output)
        given = command and Program(
            command=command,
            input=cast(Format, input_format),
            sparse=sparse,
            output=cast(Format, output_format),
            timeout=timeout,
        )
        result = minimize(
            _objective(function, given or None),
            options.start(dim, x0),
            k=k,
            method=method,
            options=options.settings(option),
            max_queries=budget,
            max_seconds=seconds,
            target=target,
            rng=seed,
            vectorized=vectorized,
            on_error=cast(OnError, on_error),
            **options.staff(workers, retries, program=bool(given)),
            progress=not quiet,
            store=store,
        )
        options.show(result, output)


def _objective(function: str | None, program: Program | None) -> Callable[..., Any]:
    if program is not None and function is None:
        return program
    if function is not None and program is None:
        return options.load(function)
    raise ParameterError("exactly one of package.module:function and --command must be given.")
