"""The command ``szoht``; one file per sub-command."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from szoht.cli.app import app  # noqa: PLC0415
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs the package {error.name}: pip install 'szoht[cli]'")
    app()
