"""The contract of an algorithm: pure functions over an immutable state."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from szoht.core.operator import Operator
from szoht.core.query import Answer, Estimate, Plan
from szoht.types import Vector

__all__ = ["Algorithm", "Ending", "Evidence", "Measured", "Memory", "PathPoint", "State"]

Memory: TypeAlias = Any
"""What a part carries from one iteration to the next: None, numbers, arrays, or a frozen record."""


class Measured(NamedTuple):
    """A point and its value; ``exact`` is False for a value inferred from points around it.

    ``error`` is the standard error of a value that was estimated from noisy ones.
    """

    x: Vector
    value: float
    exact: bool = True
    error: float = 0.0


class Ending(enum.Enum):
    """Why an algorithm ends by itself; the names are those of `Status`."""

    CONVERGED = "evidence of a minimum"
    NO_PROGRESS = "the start was not improved beyond the noise"
    EXHAUSTED = "every move was tried and patience is used up, without evidence of a minimum"
    MOSTLY_FAILED = "more than half of the points, or many in a row, could not be evaluated"
    UNBOUNDED = "values fall without end"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was tried before an algorithm ended by itself.

    ``noise`` is the kind of noise that was found and ``noise_level`` the standard deviation of one
    value; ``slopes`` says how slopes were measured at the answer, ``slope_ratio`` the largest
    one that was left, relative to the largest one seen; ``lengths`` are the distances over which f
    was compared, in the solver's units; ``tried`` counts the moves that gained nothing since
    the last gain, by name, and ``restarts`` how many of them ended at the same value.
    """

    noise: str = ""
    noise_level: float = 0.0
    slopes: str = ""
    slope_ratio: float = float("nan")
    lengths: tuple[float, ...] = ()
    tried: tuple[tuple[str, int], ...] = ()
    restarts: int = 0
    restarts_agreeing: int = 0


class PathPoint(NamedTuple):
    """The best point found with at most ``k`` non-zeros, and its value."""

    k: int
    x: Vector
    fun: float


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """Everything a run needs to continue; every array in it is read-only."""

    # fixed
    seed: int
    n_samples: int | None
    # changes in every round
    iteration: int = 0
    round: int = 0
    estimate: Estimate | None = None
    estimator_memory: Memory = None
    # changes in every iteration
    x: Vector
    update_memory: Memory = None
    output: Vector | None = None
    measured: Measured | None = None
    best: Measured | None = None
    finished: bool = False
    ending: Ending | None = None
    evidence: Evidence | None = None
    explanation: tuple[str, ...] = ()
    path: tuple[PathPoint, ...] = ()
    knee: int | None = None
    rounding: float = 0.0
    slope: float = 0.0


class Algorithm(Protocol):
    """Pure functions over an immutable state; they know nothing of the loop that drives them."""

    @property
    def operator(self) -> Operator:
        """The set or penalty that the iterates obey."""
        ...

    @property
    def requires(self) -> frozenset[str]:
        """The capabilities of the objective that the algorithm needs."""
        ...

    def init(self, x0: Vector, *, seed: int, n_samples: int | None = None) -> State:
        """Return the state at the start, after checking that all parts fit ``x0``."""
        ...

    def ask(self, state: State) -> Plan:
        """Return what to evaluate next; asking twice gives the same plan."""
        ...

    def tell(self, state: State, plan: Plan, answers: Sequence[Answer]) -> State:
        """Return the state after the plan was answered."""
        ...

    def final_plan(self, state: State) -> Plan | None:
        """Return a plan of one point that measures the solution, or None if that is not needed."""
        ...

    def solution(self, state: State) -> Measured:
        """Return the solution so far, with its value if it is known, else NaN."""
        ...
