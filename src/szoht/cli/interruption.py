"""Ctrl-C, SIGTERM and SIGHUP end a command with what it has found, and with their exit status."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from szoht.core.interrupts import attached

__all__ = ["Ended", "exit_status", "handle_signals", "run_until_stopped"]

SIGNALLED = 128
"""The exit status of a process that a signal has ended is this and the number of the signal."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, which ends a command as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Ended(NamedTuple):
    """What a command has found, and its exit status: 0 unless a signal has ended it."""

    result: Any
    status: int


def handle_signals() -> None:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does; the process is the command's own."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), _raise)


def exit_status(stop: KeyboardInterrupt) -> int:
    """Return the exit status of a command that was stopped: 130 after Ctrl-C."""
    return SIGNALLED + int(getattr(stop, "number", signal.SIGINT))


def run_until_stopped(call: Callable[[], Any]) -> Ended:
    """Return what a call has found, if a signal ends it then so far."""
    try:
        return Ended(call(), 0)
    except KeyboardInterrupt as stop:
        found = attached(stop)
        if found is None:
            raise
        return Ended(found, exit_status(stop))


def _raise(number: int, frame: FrameType | None) -> None:
    del frame
    raise Terminated(number)
