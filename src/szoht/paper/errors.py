"""Errors of the experiments."""

from szoht.errors import SzohtError

__all__ = ["NotRunError", "WorkerError"]


class NotRunError(SzohtError, LookupError):
    """A measurement needs a curve that was not computed in this (perhaps quick) run."""


class WorkerError(SzohtError, RuntimeError):
    """A worker process died."""
