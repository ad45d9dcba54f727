"""The command ``szoht``; one module per subcommand."""

import sys

from szoht.cli.interruption import handle_signals

__all__ = ["main"]


def main() -> None:
    """Run the command line, or name the missing extra."""
    try:
        from szoht.cli.app import app  # noqa: PLC0415
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs the package {error.name}: pip install 'szoht[cli]'")
    handle_signals()
    app()
