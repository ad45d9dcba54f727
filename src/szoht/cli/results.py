"""Results of a run on the screen, as JSON and as a table of changes; the exit status."""

import json
import math
import shlex
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import typer

from szoht.cli.options import echo
from szoht.core.changes import Change
from szoht.core.csv_text import write_csv
from szoht.result import Result, Status
from szoht.run.least_squares_result import LeastSquaresResult

__all__ = [
    "changes_to_csv",
    "exit_as",
    "print_result",
    "result_to_json",
    "write_or_print",
]


def write_or_print(path: Path, text: str) -> None:
    """Write a file; if that fails, print its contents and raise."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        typer.echo(text)
        raise


def print_result(
    result: Result,
    output: Path | None,
    changes: Path | None = None,
    *,
    store: Path | None = None,
    function: str | None = None,
    status: int = 0,
) -> None:
    """Print a result, write it to the files given, and exit with ``status`` unless it is 0."""
    echo(str(result))
    if result.variables is not None:
        echo(f"\n{result.changes}")
    if changes is not None:
        write_or_print(changes, changes_to_csv(result))
    if output is not None:
        write_or_print(output, json.dumps(result_to_json(result), indent=2) + "\n")
    exit_as(result, store, function, status=status)


def exit_as(
    result: Result | LeastSquaresResult,
    store: Path | None,
    function: str | None = None,
    *,
    status: int = 0,
) -> None:
    """Exit with 1 if the function failed, or with the status of the signal that ended the run.

    After a signal, say how to continue: with ``function`` if resuming needs it.
    """
    if status:
        echo(_after_interruption(result, store, function), err=True)
        raise typer.Exit(code=status)
    if result.failure is not None or result.status is Status.INTERNAL_ERROR:
        raise typer.Exit(code=1)


def _after_interruption(
    result: Result | LeastSquaresResult, store: Path | None, function: str | None
) -> str:
    if store is None or result.run is None:
        return (
            f"Interrupted. Nothing was stored: all but the result above of {result.nfev:,} queries "
            "is lost. With --store FILE a run can be resumed."
        )
    named = () if function is None else ("--function", function)
    command = shlex.join(("szoht", "resume", str(store), result.run, *named))
    return f"Interrupted. Every value is stored; to continue: {command}"


def changes_to_csv(result: Result) -> str:
    """Return the changed variables as comma-separated values, one line for each."""
    names = [entry.name for entry in fields(Change)]
    return write_csv(names, (asdict(change).values() for change in result.changes))


def result_to_json(result: Result) -> dict[str, Any]:
    """Return a result as JSON data: the sparse solution, the numbers and the history."""
    numbers = {n: c for n, c in result.history.items() if n not in ("entered", "left")}
    found = {
        "d": int(result.x.size),
        "support": result.support.tolist(),
        "values": result.x[result.support].tolist(),
        "fun": result.fun,
        "measured": result.measured,
        "nfev": result.nfev,
        "nit": result.nit,
        "success": result.success,
        "status": result.status.name,
        "message": result.message,
        "seed": result.seed,
        "method": result.method,
        "history": {name: np.asarray(column).tolist() for name, column in numbers.items()},
    }
    if result.variables is not None:
        found |= {
            "x": result.x.tolist(),
            "changes": [
                {name: _as_json(value) for name, value in asdict(change).items()}
                for change in result.changes
            ],
        }
    if result.maximize:
        found["maximize"] = True
    return found if result.run is None else found | {"run": result.run}


def _as_json(value: Any) -> Any:
    """Return None for NaN, which JSON does not know."""
    return None if isinstance(value, float) and math.isnan(value) else value
