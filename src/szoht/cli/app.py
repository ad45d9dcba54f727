"""The application and its subcommands."""

from typing import Annotated

import typer

from szoht import __version__
from szoht.cli.ask import ask
from szoht.cli.attack import attack
from szoht.cli.calibrate import calibrate
from szoht.cli.portfolio import portfolio
from szoht.cli.report import report
from szoht.cli.reproduce import reproduce
from szoht.cli.resume import resume
from szoht.cli.runs import runs
from szoht.cli.solve import solve
from szoht.cli.tell import tell
from szoht.cli.theory import theory

__all__ = ["app"]

app = typer.Typer(
    name="szoht",
    help="Sparse black-box optimization: minimize f(x) subject to ||x||_0 <= k.",
    no_args_is_help=True,
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"szoht {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Sparse black-box optimization: minimize f(x) subject to ||x||_0 <= k."""


COMMANDS = (
    solve,
    calibrate,
    resume,
    runs,
    report,
    ask,
    tell,
    theory,
    portfolio,
    attack,
    reproduce,
)
for command in COMMANDS:
    app.command()(command)
