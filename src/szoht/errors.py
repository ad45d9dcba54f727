"""Exceptions and warnings: each is ours and the matching built-in, and names a remedy."""

import os
import sys
import warnings
from pathlib import Path

__all__ = [
    "AnswerShapeError",
    "BudgetError",
    "CapabilityError",
    "DataError",
    "DataNotFoundError",
    "DataWarning",
    "DroppedPointsWarning",
    "EncodingError",
    "EvaluationError",
    "ExecutorError",
    "GradientWarning",
    "IdleWorkersWarning",
    "InternalErrorWarning",
    "KnownPointWarning",
    "MissingExtraError",
    "NoGainWarning",
    "NonFiniteError",
    "ParameterError",
    "ParameterTypeError",
    "ProgramError",
    "RoundingWarning",
    "RunBusyError",
    "RunFinishedError",
    "RunMismatchError",
    "ScheduleError",
    "StartWarning",
    "StoreError",
    "StoreFileError",
    "StoreWriteError",
    "SzohtError",
    "SzohtWarning",
    "UnknownRunError",
    "warn",
]

PACKAGE_FOLDER = str(Path(__file__).parent) + os.sep


class SzohtError(Exception):
    """Base class of every exception that this library raises."""


class ParameterError(SzohtError, ValueError):
    """A parameter breaks its rule; the message names parameter, rule and value."""


class ScheduleError(ParameterError):
    """The schedule of a parameter gave no number that its rule allows, at some iteration."""


class ParameterTypeError(SzohtError, TypeError):
    """A parameter is of the wrong kind."""


class BudgetError(ParameterError):
    """The budget is smaller than the cost of the first plan."""


class CapabilityError(SzohtError, TypeError):
    """A part needs something that another part or the objective does not offer."""


class AnswerShapeError(SzohtError, ValueError):
    """The objective, or the caller of ``tell``, returned the wrong number or shape of values."""


class EvaluationError(SzohtError, RuntimeError):
    """The objective raised, or answered with something that is not a finite real number."""


class ExecutorError(SzohtError, RuntimeError):
    """Workers could not be started, or the user's own pool is broken."""


class NonFiniteError(SzohtError, ValueError):
    """An operator was given NaN or infinity."""


class RunFinishedError(SzohtError, RuntimeError):
    """A finished run was asked for another plan, or told an answer."""


class DataError(SzohtError, ValueError):
    """A data file or table is malformed; the message names the file and the line or column."""


class DataNotFoundError(SzohtError, FileNotFoundError):
    """A data file was not found; the message lists the ways to supply it."""


class StoreError(SzohtError, RuntimeError):
    """A run store cannot do what is asked of it."""


class StoreFileError(StoreError, ValueError):
    """A file is no run store, a damaged one, or one of a later version; it was left as it is."""


class StoreWriteError(StoreError, OSError):
    """A run store cannot be written, for instance because the disk is full."""


class RunBusyError(StoreError):
    """Another process has locked the run."""


class RunMismatchError(StoreError, ValueError):
    """The run to be resumed differs from the stored one."""


class UnknownRunError(StoreError, LookupError):
    """There is no run of that name in the store, or no run at all."""


class EncodingError(SzohtError, TypeError):
    """Something is not data, so that a store cannot hold it."""


class ProgramError(EvaluationError):
    """A program gave no value; ``stderr`` is the end of what it wrote to standard error."""

    def __init__(self, reason: str, stderr: str) -> None:
        super().__init__(reason, stderr)
        self.stderr = stderr

    def __str__(self) -> str:
        return str(self.args[0])


class MissingExtraError(SzohtError, ImportError):
    """An optional dependency is needed; the message says which extra installs it."""


class SzohtWarning(UserWarning):
    """Base class of every warning that this library emits."""


class DataWarning(SzohtWarning):
    """A data file was not read as it stands; the message says what was changed."""


class DroppedPointsWarning(SzohtWarning):
    """Some points of a table were too many to be kept."""


class InternalErrorWarning(SzohtWarning):
    """An error of the solver itself ended a run; the message says how to report it."""


class GradientWarning(SzohtWarning):
    """A gradient disagrees with the function's values, and is not used."""


class IdleWorkersWarning(SzohtWarning):
    """A vectorized function gets all points in one call, so that one worker does all the work."""


class KnownPointWarning(SzohtWarning):
    """Known evaluations were left out, or contradict what was measured."""


class NoGainWarning(SzohtWarning):
    """A method may cost more here than it gains; the message names one that may do as well."""


class RoundingWarning(SzohtWarning):
    """The radius is so small that rounding dominates the finite difference."""


class SkippedPointWarning(SzohtWarning):
    """The function failed at a point, which was skipped; only the first one is warned about."""


class StartWarning(SzohtWarning):
    """The start lies outside the constraint and was projected onto it."""


def warn(message: str, category: type[SzohtWarning]) -> None:
    """Emit a warning that points at the caller's line, however deep inside the library we are."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(PACKAGE_FOLDER) and frame.f_back is not None:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)
