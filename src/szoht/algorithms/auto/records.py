"""What the solver knows, as immutable records. Everything is in the solver's coordinates z."""

import enum
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from szoht.core.query import Answer, Plan
from szoht.estimators.sensing.noise_test import NoiseKind, NoiseModel
from szoht.types import Indices, Vector

__all__ = [
    "ROUNDING",
    "Confidence",
    "Curvature",
    "EvaluatedPoint",
    "NoiseKind",
    "NoiseModel",
    "Slopes",
    "Steps",
    "schur_complement",
]

T = TypeVar("T")

ROUNDING = float(np.finfo(np.float64).eps)
"""The relative error of a number."""

Steps: TypeAlias = Generator[Plan, Sequence[Answer], T]
"""Part of an algorithm that yields plans, receives their answers and ends with a result."""


class EvaluatedPoint(NamedTuple):
    """A point in the solver's coordinates, and the value of f there."""

    z: Vector
    value: float

    @property
    def support(self) -> Indices:
        """The coordinates that are not zero."""
        return np.flatnonzero(self.z)


class Confidence(enum.Enum):
    """How far slopes can be trusted."""

    RECOVERED = "sparse recovery, confirmed by measurements that it had not used"
    FILTERED = "matched filter: the candidates were measured, the others are estimates"
    EXACT = "one difference along every axis"
    FLAT = "no difference was larger than rounding or than what counts as a slope"


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of f at a point: one entry per coordinate, zero where nothing is known.

    ``candidates`` are the coordinates that a sensing round proposes, the steepest first;
    ``cost`` is what the round has cost in queries, known evaluations included.
    """

    values: Vector
    candidates: Indices
    confidence: Confidence
    cost: int


@dataclass(frozen=True, eq=False)
class Curvature:
    """An estimate of the inverse Hessian on the coordinates ``support``, which are sorted."""

    support: Indices
    inverse: Vector

    def transfer(self, support: Indices) -> "Curvature":
        """Return it for another support; new coordinates are as curved as the old on average."""
        _, old, new = np.intersect1d(self.support, support, return_indices=True)
        inverse = np.eye(support.size) * float(np.mean(np.diag(self.inverse)))
        inverse[np.ix_(new, new)] = self.inverse[np.ix_(old, old)]
        return Curvature(support, inverse)

    def restrict(self, keep: Indices) -> "Curvature":
        """Return it for the positions ``keep`` of the support, the others being held fixed."""
        return Curvature(self.support[keep], schur_complement(self.inverse, keep))


def schur_complement(inverse: Vector, keep: Indices) -> Vector:
    """Return the inverse Hessian of what is kept, the rest being fixed.

    With B the inverse Hessian of all, it is B_kk - B_kr B_rr^-1 B_rk.
    """
    if keep.size == inverse.shape[0]:
        return inverse
    rest = np.setdiff1d(np.arange(inverse.shape[0]), keep)
    across = inverse[np.ix_(keep, rest)]
    try:
        result = inverse[np.ix_(keep, keep)] - across @ np.linalg.solve(
            inverse[np.ix_(rest, rest)], across.T
        )
    except np.linalg.LinAlgError:
        result = np.diag(np.diag(inverse)[keep])
    if not (np.isfinite(result).all() and (np.diag(result) > 0).all()):
        result = np.diag(np.diag(inverse)[keep])
    return np.asarray(result)
