"""The answer of a calibration on the screen and in files; the exit status."""

import json
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from szoht.cli.options import echo
from szoht.cli.results import exit_as, write_or_print
from szoht.errors import ParameterError
from szoht.reporting.figures import load_matplotlib, save_figure
from szoht.reporting.fit_figure import fit_figure
from szoht.reporting.fit_report import (
    changes_to_csv,
    describe_fit_tables,
    fit_to_json,
    residuals_to_csv,
)
from szoht.run.least_squares_result import LeastSquaresResult

__all__ = ["FigureFile", "ResidualsFile", "check_figure", "print_fit"]

ResidualsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--residuals",
        help="Write value, observed value, sigma and residual of each output to this CSV file.",
    ),
]
FigureFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--figure", help="Draw predicted against observed, and residuals: a PNG or SVG file."
    ),
]


def check_figure(path: Path | None) -> None:
    """Raise unless a figure can be drawn, before anything is simulated."""
    if path is not None:
        load_matplotlib()
        if path.suffix.lower() not in (".png", ".svg"):
            raise ParameterError(f"`figure` must end in .png or .svg; got {path}.")


def print_fit(
    fit: LeastSquaresResult,
    *,
    output: Path | None = None,
    changes: Path | None = None,
    residuals: Path | None = None,
    figure: Path | None = None,
    store: Path | None = None,
    function: str | None = None,
    status: int = 0,
) -> None:
    """Print an answer, write it to the files given, and exit with ``status`` unless it is 0."""
    echo(f"{fit}\n\n{describe_fit_tables(fit)}")
    if changes is not None:
        write_or_print(changes, changes_to_csv(fit))
    if residuals is not None:
        write_or_print(residuals, residuals_to_csv(fit))
    if output is not None:
        write_or_print(output, json.dumps(fit_to_json(fit), indent=2) + "\n")
    if figure is not None:
        save_figure(fit_figure(fit), figure)
    exit_as(fit, store, function, status=status)
