"""What an exception from outside carries to the caller: the outcome so far."""

from contextlib import suppress
from typing import Any

__all__ = ["attach", "attached"]


def attach(stop: BaseException, result: Any) -> None:
    """Attach the outcome so far to what ends a call, as ``stop.result``."""
    with suppress(AttributeError):  # an exception of the user's that takes no attributes
        stop.result = result  # type: ignore[attr-defined]


def attached(stop: BaseException) -> Any:
    """Return the outcome that an exception carries, None if it carries none."""
    return getattr(stop, "result", None)
