"""What several sub-commands share: options, and how their text becomes values."""

import ast
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from szoht import algorithms
from szoht.core.validation import check_integer
from szoht.errors import ParameterError, SzohtError
from szoht.executors import Threads
from szoht.reporting.text import printable
from szoht.result import Result, Status
from szoht.types import Vector

__all__ = [
    "Budget",
    "Dim",
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
    "Start",
    "StorePath",
    "Target",
    "Workers",
    "as_json",
    "check_output",
    "complaints",
    "echo",
    "from_here",
    "load",
    "settings",
    "show",
    "staff",
    "start",
    "write",
]

LARGEST_DIM = 10**9
"""The start alone then takes 8 GB; larger problems come with a start of their own, in Python."""

INTERRUPTED = 130
"""The exit status of a command that Ctrl-C ended."""

Dim: TypeAlias = Annotated[
    int | None, typer.Option("--dim", help="Dimension; the run then starts from zero.")
]
Start: TypeAlias = Annotated[
    Path | None, typer.Option("--x0", help="The start, a NPY file or a JSON list.")
]
NonZeros: TypeAlias = Annotated[
    int | None, typer.Option("-k", help="The largest number of non-zeros.")
]
Method: TypeAlias = Annotated[
    str, typer.Option("--method", help=f"One of {', '.join(algorithms.METHODS)}.")
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", help="A parameter of the method, as name=value; repeatable."),
]
Budget: TypeAlias = Annotated[
    int | None, typer.Option("--budget", help="The largest number of queries.")
]
Seconds: TypeAlias = Annotated[
    float | None, typer.Option("--seconds", help="Time limit in seconds.")
]
Target: TypeAlias = Annotated[
    float | None, typer.Option("--target", help="Stop when the function is at most this.")
]
Seed: TypeAlias = Annotated[int | None, typer.Option("--seed", help="The same seed, the same run.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", help="Write the result to this JSON file.")
]
OnErrorChoice: TypeAlias = Annotated[
    str,
    typer.Option("--on-error", help="When a point cannot be evaluated: stop the run, or skip it."),
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option("--workers", help="How many points to evaluate at the same time.")
]
Retries: TypeAlias = Annotated[
    int | None, typer.Option("--retries", help="How often to try again when an evaluation fails.")
]
StorePath: TypeAlias = Annotated[Path, typer.Argument(help="The run store.")]
RunName: TypeAlias = Annotated[
    str | None,
    typer.Argument(help="The run; by default the newest that is not finished."),
]


def load(text: str) -> Callable[..., Any]:
    """Return the function at package.module:function."""
    module_name, _, name = text.partition(":")
    if not module_name or not name:
        raise ParameterError(f"`function` must read package.module:function; got {text!r}.")
    try:
        with from_here():
            found = getattr(importlib.import_module(module_name), name)
    except ImportError as error:
        raise ParameterError(f"`function` cannot be imported: {error}.") from error
    except AttributeError as error:
        raise ParameterError(
            f"`function` must name a function of the module {module_name}, which has no {name!r}."
        ) from error
    if not callable(found):
        raise ParameterError(f"`function` must be callable; got {text} = {found!r}.")
    function: Callable[..., Any] = found
    return function


@contextmanager
def complaints() -> Iterator[None]:
    """Show what is wrong with the input as the command line shows its own complaints."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader has seen enough
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        what = f"{error.filename}: {error.strerror}." if known else str(error)
        raise typer.BadParameter(what) from error
    except SzohtError as error:
        raise typer.BadParameter(str(error)) from error
    except MemoryError as error:
        raise typer.BadParameter(f"there is not enough memory. {error}".strip()) from error


@contextmanager
def from_here() -> Iterator[None]:
    """Import from the current folder first, for as long as the block lasts."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def start(dim: int | None, path: Path | None) -> Vector:
    """Return the start that --dim or --x0 says."""
    if (dim is None) == (path is None):
        raise ParameterError("exactly one of --dim and --x0 must be given.")
    if path is None:
        return np.zeros(check_integer("dim", dim, low=1, high=LARGEST_DIM))
    try:
        if path.suffix == ".npy":
            loaded: Vector = np.load(path, allow_pickle=False)
        else:
            loaded = np.array(json.loads(path.read_text()), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise ParameterError(f"`x0` must be a NPY file or a JSON list; {path}: {error}.") from error
    return loaded


def settings(texts: list[str] | None) -> dict[str, Any]:
    """Return what --option says, as the parameters of a method."""
    return dict(_setting(text) for text in texts or [])


def staff(workers: int | None, retries: int | None, *, program: bool) -> dict[str, Any]:
    """Return who evaluates: threads that wait for programs, or processes for a function."""
    if program:
        return {"executor": Threads(workers or 1), "retries": retries}
    return {"workers": workers, "retries": retries}


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, with control characters that a file or a program brought in written out."""
    typer.echo("\n".join(map(printable, text.split("\n"))), err=err)


def check_output(option: str, path: Path, *, make_folder: bool = False) -> None:
    """Raise unless a file can be written at ``path``; called before any query is spent."""
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


def write(path: Path, text: str) -> None:
    """Write a file; where that fails after all, print what it should have held."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        typer.echo(text)
        raise


def show(result: Result, output: Path | None) -> None:
    """Print a result and write it to a file if one is wanted; exit with a code that tells."""
    echo(str(result))
    if output is not None:
        write(output, json.dumps(as_json(result), indent=2) + "\n")
    if result.failure is not None:
        raise typer.Exit(code=1)
    if result.status is Status.INTERRUPTED:
        raise typer.Exit(code=INTERRUPTED)


def as_json(result: Result) -> dict[str, Any]:
    """Return what a program would want to read: the solution sparse, the numbers, the history."""
    numbers = {n: c for n, c in result.history.items() if n not in ("entered", "left")}
    found = {
        "d": int(result.x.size),
        "support": result.support.tolist(),
        "values": result.x[result.support].tolist(),
        "fun": result.fun,
        "nfev": result.nfev,
        "nit": result.nit,
        "success": result.success,
        "status": result.status.name,
        "message": result.message,
        "seed": result.seed,
        "method": result.method,
        "history": {name: np.asarray(column).tolist() for name, column in numbers.items()},
    }
    return found if result.run is None else found | {"run": result.run}


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"`option` must read name=value; got {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
