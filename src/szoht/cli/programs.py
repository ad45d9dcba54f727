"""What is evaluated: a function by its name, or a program; its options and their parsing."""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import typer

from szoht.cli import options
from szoht.errors import ParameterError
from szoht.evaluation.programs import Program

__all__ = [
    "Command",
    "Function",
    "InputFormat",
    "NamedInput",
    "ProgramTimeout",
    "SparseInput",
    "Vectorized",
    "choose_function",
]

Function: TypeAlias = Annotated[
    str | None,
    typer.Argument(help="package.module:function, importable from the current folder."),
]
Command: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--command",
        help="Program to run instead of a function. {input} is replaced by a file with x (else "
        "x is on standard input), {output} by a file for the value (else it is printed).",
    ),
]
InputFormat: TypeAlias = Annotated[
    str, typer.Option("--input-format", help="Format of x for the program: json or npy.")
]
SparseInput: TypeAlias = Annotated[
    bool, typer.Option("--sparse", help="Pass only the non-zeros to the program, as JSON.")
]
ProgramTimeout: TypeAlias = Annotated[
    float | None, typer.Option("--timeout", help="Seconds after which the program is killed.")
]
NamedInput: TypeAlias = Annotated[
    bool,
    typer.Option("--named", help="Pass x by the names of the variables, as a dict or object."),
]
Vectorized: TypeAlias = Annotated[
    bool,
    typer.Option("--vectorized", help="The function takes an array of points, one per row."),
]


def choose_function(
    function: str | None, command: str | None, **settings: Any
) -> Callable[..., Any]:
    """Return the function, or the program with these settings: the one that was given, or raise."""
    program = Program(command=command, **settings) if command else None
    if program is not None and function is None:
        return program
    if function is not None and program is None:
        return options.load_function(function)
    raise ParameterError("exactly one of package.module:function and --command must be given.")
