"""``szoht solve``: minimise a Python function from the command line."""

import ast
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from szoht import algorithms
from szoht.errors import ParameterError, SzohtError
from szoht.optimize import minimize
from szoht.result import Result
from szoht.types import Vector

__all__ = ["solve"]


def solve(
    *,
    function: Annotated[
        str, typer.Argument(help="package.module:function, found from the current folder.")
    ],
    dim: Annotated[
        int | None, typer.Option("--dim", help="Dimension; the start is then zero.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option("--x0", help="The start, a NPY file or a JSON list.")
    ] = None,
    k: Annotated[int | None, typer.Option("-k", help="Non-zeros at most.")] = None,
    method: Annotated[
        str, typer.Option("--method", help=f"One of {', '.join(algorithms.METHODS)}.")
    ] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", help="A parameter of the method, as name=value; repeatable."),
    ] = None,
    budget: Annotated[int | None, typer.Option("--budget", help="Queries at most.")] = None,
    seconds: Annotated[float | None, typer.Option("--seconds", help="Time limit.")] = None,
    target: Annotated[float | None, typer.Option("--target", help="Stop at this value.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The same seed, the same run.")] = None,
    vectorized: Annotated[
        bool, typer.Option("--vectorized", help="The function takes a stack of points.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write the result to this JSON file.")
    ] = None,
) -> None:
    """Minimise a Python function under a sparsity constraint."""
    try:
        result = minimize(
            _load(function),
            _start(dim, start),
            k=k,
            method=method,
            options=dict(_setting(text) for text in option or []),
            max_queries=budget,
            max_seconds=seconds,
            target=target,
            rng=seed,
            vectorized=vectorized,
            progress=not quiet,
        )
        typer.echo(str(result))
        if output is not None:
            output.write_text(json.dumps(as_json(result), indent=2) + "\n")
    except (SzohtError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    if result.failure is not None:
        raise typer.Exit(code=1)


def as_json(result: Result) -> dict[str, Any]:
    """Return what a program would want to read: the solution sparse, the numbers, the history."""
    rows = {name: np.asarray(column).tolist() for name, column in _numbers(result).items()}
    return {
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
        "history": rows,
    }


def _numbers(result: Result) -> dict[str, Any]:
    return {n: c for n, c in result.history.items() if n not in ("entered", "left")}


def _load(text: str) -> Callable[..., Any]:
    module_name, _, name = text.partition(":")
    if not module_name or not name:
        raise ParameterError(f"`function` must read package.module:function; got {text!r}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), name)
    except ImportError as error:
        raise ParameterError(f"`function` cannot be imported: {error}.") from error
    except AttributeError as error:
        raise ParameterError(f"`function` names {name!r}, which {module_name} has not.") from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise ParameterError(f"`function` must be callable; got {text} = {found!r}.")
    function: Callable[..., Any] = found
    return function


def _start(dim: int | None, path: Path | None) -> Vector:
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


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ParameterError(f"`option` must read name=value; got {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
