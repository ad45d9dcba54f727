"""What the solver knows, as immutable records. Everything is in the solver's coordinates z."""

import enum
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from szoht.core.query import Answer, Plan
from szoht.types import Indices, Vector

__all__ = [
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
    ``cost`` is what the round has cost in queries.
    """

    values: Vector
    candidates: Indices
    confidence: Confidence
    cost: int


class NoiseKind(enum.Enum):
    """What two values of f at the same point, or next to each other, have in common."""

    EXACT = "values differ from a smooth function by rounding only"
    FIXED = "the same point gives the same value, but neighboring values err independently"
    FRESH = "the same point gives another value each time"


@dataclass(frozen=True, kw_only=True)
class NoiseModel:
    """How far values can be trusted, and how far apart they are to be taken.

    ``sigma`` is the standard deviation of one value, at least its rounding, and ``weight`` the
    number of independent differences that it rests on. ``axis_step`` and ``row_step`` are the
    lengths of differences along an axis and, per coordinate, along a dense direction, where f is
    exact. ``slope`` is the size of the slope along the test line (0 if it did not stand out) and
    ``curvature`` half the second derivative along it, what a forward difference adds per length.
    ``outliers`` says that single values are grossly wrong: each point is then asked until two
    values agree. ``flat``: no value on the test line differed from the first. ``stepwise``: values
    next to each other are equal and then jump: not noise, but a function that changes in steps.
    ``irregular``: they scatter, which is no matter of units.
    """

    kind: NoiseKind = NoiseKind.EXACT
    sigma: float = 0.0
    weight: float = 2.0
    axis_step: float = 1e-6
    row_step: float = 1e-6
    slope: float = 0.0
    curvature: float = 0.0
    outliers: bool = False
    flat: bool = False
    stepwise: bool = False
    irregular: bool = False

    @property
    def fresh(self) -> bool:
        """Whether the same point gives a new value when it is asked again."""
        return self.kind is NoiseKind.FRESH

    @property
    def exact(self) -> bool:
        """Whether short differences mean something."""
        return self.kind is NoiseKind.EXACT

    def describe(self) -> str:
        """Return the finding in words."""
        if self.stepwise:
            return "values are repeatable and change in steps"
        text = {
            NoiseKind.EXACT: "values are exact as far as short differences can tell",
            NoiseKind.FIXED: f"values are repeatable but err by {self.sigma:.1e} (fixed error)",
            NoiseKind.FRESH: f"values differ by {self.sigma:.1e} when asked again (fresh noise)",
        }[self.kind]
        return text + (", with gross outliers" if self.outliers else "")


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
