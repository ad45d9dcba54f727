"""Packages that only some calls need."""

import importlib
from typing import Any

from szoht.errors import MissingExtraError

__all__ = ["import_pandas"]


def import_pandas(what: str) -> Any:
    """Return the module pandas, or raise naming what needs it."""
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise MissingExtraError(f"{what} needs the package pandas: pip install pandas") from error
