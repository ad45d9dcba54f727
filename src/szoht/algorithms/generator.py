"""Algorithms written as generators that yield plans and receive answers.

An algorithm with many stages is hard to read as a table of states. As a generator it reads from top
to bottom, and a state holds the answers so far, from which the generator is replayed up to any
point. `ask` and `tell` are therefore as pure as those of any other algorithm.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from szoht.core.algorithm import Ending, Evidence, Measured, PathPoint, State
from szoht.core.operator import Operator
from szoht.core.query import Answer, Plan, Query
from szoht.core.random import Key
from szoht.core.validation import frozen
from szoht.samplers import Seeds
from szoht.types import Sample, Vector

__all__ = ["GeneratorAlgorithm", "SolverContext", "Steps"]

T = TypeVar("T")
Steps: TypeAlias = Generator[Plan, Sequence[Answer], T]
"""Part of an algorithm: yields plans, receives their answers, ends with a result."""


@dataclass(kw_only=True)
class SolverContext:
    """The state of a generator: iterate, best feasible point, what it did and why.

    ``details`` is whatever else an algorithm can tell about its answer.
    """

    seed: int
    x: Vector
    sample: Sample
    n_samples: int | None = None
    seeded: bool = False
    iteration: int = 0
    draws: int = 0
    best: Measured | None = None
    measured: Measured | None = None
    lines: list[str] = field(default_factory=list)
    path: list[PathPoint] = field(default_factory=list)
    knee: int | None = None
    ending: Ending | None = None
    evidence: Evidence | None = None
    details: object = None

    def key(self) -> Key:
        """Return a key that was not used before."""
        self.draws += 1
        return Key(seed=self.seed, iteration=self.draws)

    def note(self, x: Vector, value: float) -> None:
        """Remember a feasible point that was measured."""
        if math.isnan(value):
            return
        self.measured = Measured(frozen(x), value)
        if self.best is None or value < self.best.value:
            self.best = self.measured

    def settle(self, x: Vector, value: float, error: float) -> None:
        """Make a feasible point the best, whatever its value: it is an estimate with an error."""
        self.best = self.measured = Measured(frozen(x), value, error=error)
        self.x = self.best.x
        self.iteration += 1

    def forget(self) -> None:
        """Forget the best point: from now on values are those of another function."""
        self.best = self.measured = None

    def move(self, x: Vector, value: float) -> None:
        """Make a feasible point the iterate and count an iteration."""
        self.note(x, value)
        self.x = frozen(x)
        self.iteration += 1

    def explain(self, line: str) -> None:
        """Say what is done and why, for the user to read."""
        self.lines.append(line)

    def query(self, x: Vector) -> Query:
        """Return the query that measures ``x`` alone."""
        return Query(base=frozen(x), sample=self.next_sample())

    def next_sample(self) -> Sample:
        """Return the sample of the next query: the fixed one, or a fresh seed."""
        if not self.seeded:
            return self.sample
        return Seeds().draw(self.key(), None)


class ReplayLog:
    """The answers of a run in order, append-only: a state holds a length of a list that is shared.

    Adding to the newest state costs the same however long the run is. Adding to an older one copies
    what came before it, so that states stay values.
    """

    __slots__ = ("_entries", "_length")

    def __init__(self, entries: list[tuple[Answer, ...]] | None = None) -> None:
        self._entries = [] if entries is None else entries
        self._length = len(self._entries)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[tuple[Answer, ...]]:
        return islice(self._entries, self._length)

    def append(self, answers: Sequence[Answer]) -> "ReplayLog":
        """Return the log with one more entry."""
        is_newest = self._length == len(self._entries)
        entries = self._entries if is_newest else self._entries[: self._length]
        entries.append(tuple(answers))
        return ReplayLog(entries)


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratorState(State):
    """The start and the answers since then; the rest is found by replaying them."""

    start: Vector
    log: ReplayLog = field(default_factory=ReplayLog)


@dataclass
class _RunningGenerator:
    """A generator in progress, waiting for the answers to ``plan``; None once it has ended."""

    context: SolverContext
    steps: Steps[None]
    plan: Plan | None


@dataclass(frozen=True, kw_only=True)
class GeneratorAlgorithm(ABC):
    """An algorithm whose `steps` yield plans and receive their answers."""

    operator: Operator

    requires = frozenset[str]()

    @abstractmethod
    def steps(self, context: SolverContext) -> Steps[None]:
        """Yield plans and receive their answers, keeping the context up to date."""

    @abstractmethod
    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return the sample of the first plans."""

    def init(self, x0: Vector, *, seed: int, n_samples: int | None = None) -> GeneratorState:
        """Return the state at the start."""
        self.operator.check(x0.size)
        start = frozen(x0.copy())
        return GeneratorState(seed=seed, n_samples=n_samples, x=start, start=start)

    def ask(self, state: State) -> Plan:
        """Return the next plan; once the generator has ended, the best point again."""
        running = self._resume(state)
        if running.plan is not None:
            return running.plan
        return Plan(queries=(running.context.query(running.context.x.copy()),))

    def tell(self, state: State, plan: Plan, answers: Sequence[Answer]) -> GeneratorState:
        """Return the state after the generator received the answers."""
        del plan
        assert isinstance(state, GeneratorState), "a generator is told its own states"  # noqa: S101
        running = self._resume(state)
        _RUNNING.pop(state, None)
        _send(running, answers)
        context = running.context
        told = replace(
            state,
            log=state.log.append(answers),
            iteration=context.iteration,
            x=context.x,
            best=context.best,
            measured=context.measured,
            explanation=_as_tuple(context.lines, state.explanation),
            path=tuple(context.path),
            knee=context.knee,
            finished=running.plan is None,
            ending=context.ending,
            evidence=context.evidence,
        )
        _RUNNING[told] = running
        return told

    def final_plan(self, state: State) -> Plan | None:
        """Return nothing: only measured points are ever kept."""
        del state
        return None

    def solution(self, state: State) -> Measured:
        """Return the best feasible point."""
        return state.best or Measured(state.x, math.nan, exact=False)

    def _resume(self, state: State) -> _RunningGenerator:
        """Return the generator at ``state``: the one in progress, or a replay of it."""
        assert isinstance(state, GeneratorState), "a generator is asked about its own states"  # noqa: S101
        running = _RUNNING.get(state)
        if running is None:
            sample = self.sample(state.seed, state.n_samples)
            context = SolverContext(
                seed=state.seed, x=state.start, sample=sample, n_samples=state.n_samples
            )
            steps = self.steps(context)
            running = _RunningGenerator(context, steps, next(steps, None))
            for answers in state.log:
                _send(running, answers)
            _RUNNING[state] = running
        return running


_RUNNING: "WeakKeyDictionary[State, _RunningGenerator]" = WeakKeyDictionary()
"""Generators in progress, so that they are not replayed at every step."""


def _as_tuple(lines: list[str], before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines, which are only ever added to, copying them when there are new ones."""
    return before if len(lines) == len(before) else tuple(lines)


def _send(running: _RunningGenerator, answers: Sequence[Answer]) -> None:
    if running.plan is None:
        return
    try:
        running.plan = running.steps.send(answers)
    except StopIteration:
        running.plan = None
