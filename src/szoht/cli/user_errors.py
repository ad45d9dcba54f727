"""Exceptions of the user's own code on the command line: a traceback of that code, not of ours."""

import importlib
import traceback
from types import ModuleType, TracebackType
from typing import NoReturn

import typer

from szoht.errors import PACKAGE_FOLDER, ParameterError
from szoht.evaluation.evaluate import describe_exception
from szoht.evaluation.oracle import is_from_function
from szoht.reporting.text import printable
from szoht.run.primed_oracle import first_outputs

__all__ = ["exit_if_users", "import_users"]


def import_users(name: str) -> ModuleType:
    """Import a module of the user, or say why that fails."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ParameterError(f"`function` cannot be imported: {error}.") from error
    except Exception as error:
        _exit(error, f"the module {name} raised {error!r}")


def exit_if_users(error: Exception) -> None:
    """Report an exception that the user's function raised, and exit; return if it is another."""
    if is_from_function(error) or _calls(error.__traceback__):
        _exit(error, describe_exception(error))


def _calls(found: TracebackType | None) -> bool:
    """Tell whether an exception came out of the first call of a function with many outputs."""
    return any(frame.f_code is first_outputs.__code__ for frame, _ in traceback.walk_tb(found))


def _exit(error: Exception, what: str) -> NoReturn:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((PACKAGE_FOLDER, "<frozen importlib", importlib.__file__))
    ]
    lines = [f"Error: {what}"]
    if frames:
        lines += ["Traceback (most recent call last):", *traceback.format_list(frames)]
        lines += traceback.format_exception_only(error)
    shown = [printable(line) for part in lines for line in part.rstrip("\n").split("\n")]
    typer.echo("\n".join(shown), err=True)
    raise typer.Exit(code=1) from error
