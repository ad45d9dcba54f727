"""The counting oracle: what a solver may ask, and what its best sparse point is worth."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from problems import Problem

from szoht.types import Vector

__all__ = ["Ask", "Stop"]

LOOK = 100
"""Methods without a cardinality constraint are looked at once in so many queries."""

THIN = 1.02
"""A stored trajectory has a point when the queries have grown by this factor."""


class Stop(BaseException):
    """The run is over; not an Exception, so that no solver takes it for a failed evaluation."""


@dataclass
class Ask:
    """Answers queries, counts them, and judges the k-sparse points that they lead to.

    A run ends at the target, after ``budget`` queries or after ``seconds`` of CPU time, in which
    the objective's own time is included.

    Three kinds of points are judged, by the objective without noise, neither counted nor timed:
    a queried point that has at most k non-zeros, if its answer is the lowest so far; the k largest
    entries of the lowest queried point, once in `LOOK` queries; and what a solver calls its
    iterate (`propose`), cut to its k largest entries.

    ``abandon`` ends the process with the result so far, for solvers whose compiled code cannot
    pass `Stop` on.
    """

    problem: Problem
    seed: int
    budget: int
    seconds: float
    queries: int = 0
    best: float = float("inf")
    solved_at: int | None = None
    trajectory: list[tuple[int, float]] = field(default_factory=list)
    answering: float = 0.0
    judging: float = 0.0
    ended: str = "own stop"
    abandon: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        self._noise = np.random.default_rng([self.seed, 77])
        self._lowest = self._lowest_sparse = float("inf")
        self._point: Vector | None = None
        self.start()

    def start(self) -> None:
        """Set the clock to zero."""
        self._start = time.thread_time()

    def __call__(self, x: Vector) -> float:
        """Answer one query, or end the run."""
        entered = time.thread_time()
        if self.queries >= self.budget:
            raise Stop("budget")
        if entered - self._start - self.judging > self.seconds:
            raise Stop("time")
        self.queries += 1
        true = value = self.problem.fun(x)
        if self.problem.noise:
            value += self.problem.noise * float(self._noise.standard_normal())
        answered = time.thread_time()
        self.answering += answered - entered
        self._judge(x, value, true)
        self.judging += time.thread_time() - answered
        return value

    def propose(self, x: Vector) -> None:
        """Judge what the solver holds for its best point."""
        entered = time.thread_time()
        self._record(self.problem.fun(self._cut(x)))
        self.judging += time.thread_time() - entered

    @property
    def overhead(self) -> float:
        """Microseconds of CPU time (of this thread) per query that the solver itself took."""
        spent = time.thread_time() - self._start - self.answering - self.judging
        return 1e6 * spent / max(1, self.queries)

    def close(self) -> None:
        """Look for the last time."""
        if self._point is not None:
            self._record(self.problem.fun(self._cut(self._point)), ending=True)

    def _judge(self, x: Vector, value: float, true: float) -> None:
        if value < self._lowest_sparse and np.count_nonzero(x) <= self.problem.k:
            self._lowest_sparse = value
            self._record(true)
        if value < self._lowest:
            self._lowest = value
            self._point = np.array(x)
        if self.queries % LOOK == 0 and self._point is not None:
            self._record(self.problem.fun(self._cut(self._point)))

    def _cut(self, x: Vector) -> Vector:
        keep = np.argpartition(np.abs(x), -self.problem.k)[-self.problem.k :]
        y = np.zeros_like(x, dtype=float)
        y[keep] = x[keep]
        return y

    def _record(self, value: float, *, ending: bool = False) -> None:
        if not value < self.best:
            return
        self.best = value
        if self.trajectory and self.queries < THIN * self.trajectory[-1][0]:
            self.trajectory[-1] = (self.trajectory[-1][0], value)
        else:
            self.trajectory.append((self.queries, value))
        if self.solved_at is None and value <= self.problem.target:
            self.solved_at = self.queries
            if not (self.problem.whole or ending):
                raise Stop("target")
