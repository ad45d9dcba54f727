"""What several sub-commands share: options, and how their text becomes values."""

import ast
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from szoht import algorithms
from szoht.errors import ParameterError, SzohtError
from szoht.executors import Threads
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
    "complaints",
    "from_here",
    "load",
    "settings",
    "show",
    "staff",
    "start",
]

Dim: TypeAlias = Annotated[
    int | None, typer.Option("--dim", help="Dimension; the start is then zero.")
]
Start: TypeAlias = Annotated[
    Path | None, typer.Option("--x0", help="The start, a NPY file or a JSON list.")
]
NonZeros: TypeAlias = Annotated[int | None, typer.Option("-k", help="Non-zeros at most.")]
Method: TypeAlias = Annotated[
    str, typer.Option("--method", help=f"One of {', '.join(algorithms.METHODS)}.")
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", help="A parameter of the method, as name=value; repeatable."),
]
Budget: TypeAlias = Annotated[int | None, typer.Option("--budget", help="Queries at most.")]
Seconds: TypeAlias = Annotated[float | None, typer.Option("--seconds", help="Time limit.")]
Target: TypeAlias = Annotated[float | None, typer.Option("--target", help="Stop at this value.")]
Seed: TypeAlias = Annotated[int | None, typer.Option("--seed", help="The same seed, the same run.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", help="Write the result to this JSON file.")
]
OnErrorChoice: TypeAlias = Annotated[
    str, typer.Option("--on-error", help="What a point does that fails: stop the run, or skip.")
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option("--workers", help="Evaluate so many points at a time.")
]
Retries: TypeAlias = Annotated[
    int | None, typer.Option("--retries", help="Try a point that fails so often again.")
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
        raise ParameterError(f"`function` names {name!r}, which {module_name} has not.") from error
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
        raise  # whoever reads has seen enough
    except OSError as error:
        known = error.filename is not None and error.strerror is not None
        what = f"{error.filename}: {error.strerror}." if known else str(error)
        raise typer.BadParameter(what) from error
    except SzohtError as error:
        raise typer.BadParameter(str(error)) from error


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
        if dim is None or dim < 1:
            raise ParameterError(f"`dim` must be an integer in [1, inf); got dim={dim}.")
        return np.zeros(dim)
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


def show(result: Result, output: Path | None) -> None:
    """Print a result, and write it to a file if one is wanted.

    Exit with 1 if it failed, and with 130 if it was interrupted, as shells do.
    """
    typer.echo(str(result))
    if output is not None:
        output.write_text(json.dumps(as_json(result), indent=2) + "\n")
    if result.failure is not None:
        raise typer.Exit(code=1)
    if result.status is Status.INTERRUPTED:
        raise typer.Exit(code=130)


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
