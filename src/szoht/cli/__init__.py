"""The command ``szoht``; one module per subcommand."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or name the missing extra."""
    try:
        from szoht.cli.app import app  # noqa: PLC0415
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs the package {error.name}: pip install 'szoht[cli]'")
    app()
