"""Small records of a calibration, and the failure that ends one."""

from dataclasses import dataclass
from typing import NamedTuple

from szoht.algorithms.calibration.posterior import JacobianPosterior
from szoht.types import Vector

__all__ = ["FailuresInRowError", "SavedCenter", "Visit"]


class FailuresInRowError(Exception):
    """So many simulations failed one after the other that the search ends, at any stage."""


@dataclass(frozen=True)
class Visit:
    """A point that may be an answer, in units, and its residuals."""

    point: Vector
    residuals: Vector


class SavedCenter(NamedTuple):
    """A center, its residuals, and the posterior of the Jacobian there."""

    point: Vector
    residuals: Vector
    variance: float
    posterior: JacobianPosterior
