"""Options that several commands share, their parsing, output and error handling."""

import ast
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from rich.console import Console

from szoht import algorithms
from szoht.cli.interruption import exit_status
from szoht.cli.user_errors import exit_if_users, import_users
from szoht.core.json_text import read_json
from szoht.core.npy_files import read_npy
from szoht.core.validation import check_integer
from szoht.errors import ParameterError, ProgramError, SzohtError
from szoht.evaluation.executors.config import count_workers
from szoht.evaluation.programs import Program
from szoht.executors import Threads
from szoht.reporting.text import printable
from szoht.run.log import LOGGER
from szoht.store import Store
from szoht.types import Vector

__all__ = [
    "Budget",
    "ChangesFile",
    "Dim",
    "InitialPoint",
    "Known",
    "Method",
    "NonZeros",
    "OnErrorChoice",
    "Options",
    "Output",
    "Quiet",
    "Retries",
    "RunName",
    "Seconds",
    "Seed",
    "StoreFile",
    "StorePath",
    "Target",
    "Workers",
    "check_output",
    "check_outputs",
    "cli_errors",
    "cwd_on_path",
    "echo",
    "executor_kwargs",
    "initial_point",
    "load_function",
    "parse_options",
    "read_vector",
    "showing_progress",
]

OPTION_OF = {"max_queries": "--budget", "max_seconds": "--seconds"}
"""Options whose names are not those of the parameters that they set."""

SHOWN_STDERR_LINES = 5
"""How much of what a program says before it fails is shown."""

MAX_DIM = 10**9
"""The initial point alone then takes 8 GB; use Python for larger problems."""


def _runs_of(context: typer.Context) -> list[str]:
    """Return the runs of the store that was typed before, for completion."""
    path = context.params.get("store")
    try:
        with Store(str(path), create=False) as store:
            return [run.name for run in store.runs()]
    except (SzohtError, OSError):
        return []


Dim: TypeAlias = Annotated[
    int | None, typer.Option("--dim", help="Dimension; the initial point is then zero.")
]
InitialPoint: TypeAlias = Annotated[
    Path | None, typer.Option("--x0", help="Initial point: a NPY file or a JSON list.")
]
NonZeros: TypeAlias = Annotated[int | None, typer.Option("-k", help="Maximum number of changes.")]
Method: TypeAlias = Annotated[
    str,
    typer.Option(
        "--method",
        help=f"One of {', '.join(algorithms.METHODS)}.",
        autocompletion=lambda: list(algorithms.METHODS),
    ),
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", help="Parameter of the method, as name=value; repeatable."),
]
Budget: TypeAlias = Annotated[
    int | None, typer.Option("--budget", help="Maximum number of queries.")
]
Seconds: TypeAlias = Annotated[
    float | None, typer.Option("--seconds", help="Time limit in seconds.")
]
Target: TypeAlias = Annotated[
    float | None, typer.Option("--target", help="Stop when this value is reached.")
]
Seed: TypeAlias = Annotated[
    int | None, typer.Option("--seed", help="Random seed; the same seed gives the same run.")
]
Quiet: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--quiet",
        help="Show no progress: no bar on a terminal, and elsewhere no lines on standard error.",
    ),
]
ChangesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--changes", help="Write the changed variables to this CSV file."),
]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", help="Write the result to this JSON file.")
]
OnErrorChoice: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--on-error",
        help="What to do when a point cannot be evaluated: stop or skip. By default it is skipped, "
        "with a warning, unless it is the first.",
        autocompletion=lambda: ["stop", "skip"],
    ),
]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--workers", help="Number of points to evaluate in parallel; -1 for one per processor."
    ),
]
PlanWidth: TypeAlias = Annotated[
    int,
    typer.Option(
        "--plan-width",
        help="Number of points that can be evaluated at the same time: method auto asks more of "
        "them in fewer rounds.",
    ),
]
Retries: TypeAlias = Annotated[
    int | None, typer.Option("--retries", help="Number of retries of a failed evaluation.")
]
Known: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--known",
        help="Evaluations from before: a CSV file with a column for each variable and one called "
        "value, or a run store. The best may be the start, and the default method learns from all.",
    ),
]
StoreFile: TypeAlias = Annotated[
    Path | None, typer.Option("--store", help="Store the run in this file; see szoht resume.")
]
StorePath: TypeAlias = Annotated[Path, typer.Argument(help="File of the run store.")]
RunName: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        help="Name of the run; default: the newest unfinished one.", autocompletion=_runs_of
    ),
]


def load_function(text: str) -> Callable[..., Any]:
    """Return the function at package.module:function."""
    module_name, _, name = text.partition(":")
    if not module_name or not name or module_name[0] == "." or set(module_name) & set("/\\"):
        raise ParameterError(
            "`function` must read package.module:function, a module that can be imported from the "
            f"current folder, not a path; got {text!r}."
        )
    with cwd_on_path():
        module = import_users(module_name)
    try:
        found = getattr(module, name)
    except AttributeError as error:
        raise ParameterError(
            f"`function` must name a function of the module {module_name}, which has no {name!r}."
        ) from error
    if not callable(found):
        raise ParameterError(f"`function` must be callable; got {text} = {found!r}.")
    function: Callable[..., Any] = found
    return function


@contextmanager
def cli_errors() -> Iterator[None]:
    """Report errors of the library and of the system as usage errors, and code that fails."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise typer.Exit(code=exit_status(stop)) from None
    except BrokenPipeError:
        raise  # the reader of our output has exited
    except ProgramError as error:
        told = "\n".join(map(printable, error.stderr.splitlines()[-SHOWN_STDERR_LINES:]))
        typer.echo(f"Error: {error}\n{told}".strip(), err=True)
        raise typer.Exit(code=1) from error
    except SzohtError as error:
        raise typer.BadParameter(in_options(str(error))) from error
    except Exception as error:
        exit_if_users(error)
        message = _usage_error(error)
        if message is None:
            raise
        raise typer.BadParameter(message) from error


def _usage_error(error: Exception) -> str | None:
    """Return what is wrong with the options or the machine, None if the fault is ours."""
    if isinstance(error, OSError):
        known = error.filename is not None and error.strerror is not None
        return f"{error.filename}: {error.strerror}." if known else str(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {error}".strip()
    return None


@contextmanager
def showing_progress(*, quiet: bool) -> Iterator[bool]:
    """Yield whether a live bar can be shown; if not, write the log to standard error instead."""
    console = Console()
    bar = console.is_terminal and not console.is_dumb_terminal
    if quiet or bar:
        yield bar and not quiet
        return
    handler = logging.StreamHandler()
    handler.setFormatter(_LogFormatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield False
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


@contextmanager
def cwd_on_path() -> Iterator[None]:
    """Put the current folder first on the import path, within the block."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def initial_point(dim: int | None, path: Path | None) -> Vector:
    """Return the initial point given by --dim or --x0."""
    if (dim is None) == (path is None):
        raise ParameterError("exactly one of --variables, --dim and --x0 must be given.")
    if path is None:
        return np.zeros(check_integer("dim", dim, low=1, high=MAX_DIM))
    return read_vector("x0", path)


def read_vector(name: str, path: Path) -> Vector:
    """Return the array in a NPY file or a JSON list."""
    try:
        if path.suffix == ".npy":
            return read_npy(path, "it")
        return np.array(read_json(path, "it"), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"`{name}` must be a NPY file or a JSON list of numbers; {path} is not: "
            f"{str(error).rstrip('.')}."
        ) from error


def parse_options(texts: list[str] | None) -> dict[str, Any]:
    """Return the values of --option as keyword arguments of a method."""
    return dict(_parse_option(text) for text in texts or [])


def executor_kwargs(fun: object, workers: int | None, retries: int | None) -> dict[str, Any]:
    """Return keyword arguments of `minimize`: threads for programs, processes for a function."""
    if isinstance(fun, Program):
        threads = 1 if workers is None else count_workers(workers)
        return {"executor": Threads(threads), "retries": retries}
    return {"workers": workers, "retries": retries}


def echo(text: str, *, err: bool = False) -> None:
    """Print text with control characters escaped, and options in place of parameters."""
    typer.echo("\n".join(map(printable, in_options(text).split("\n"))), err=err)


def in_options(text: str) -> str:
    """Return a message of the library with the options that set its parameters.

    >>> in_options("Raise `max_queries` to go on.")
    'Raise --budget to go on.'
    """
    for parameter, option in OPTION_OF.items():
        text = text.replace(f"`{parameter}`", option)
    return text


class _LogFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return in_options(super().format(record))


def check_outputs(**paths: Path | None) -> None:
    """Raise unless all files that are given, by option, can be written."""
    for option, path in paths.items():
        if path is not None:
            check_output(option, path)


def check_output(option: str, path: Path, *, make_folder: bool = False) -> None:
    """Raise unless a file can be written at ``path``; call it before the first query."""
    if path.is_dir():
        raise ParameterError(f"`{option}` must be a file; {path} is a folder.")
    folder = path.parent
    while make_folder and not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise ParameterError(f"`{option}` must be in an existing folder; {folder} {what}.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ParameterError(f"`{option}` must be writable; {path} is not.")


def _parse_option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"`option` must read name=value; got {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
