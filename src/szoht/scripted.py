"""Algorithms written as a conversation: a generator that yields plans and receives answers.

An algorithm with many stages is hard to read as a table of states. Written as a generator it reads
from top to bottom, and what a state must hold is only what was answered so far: the conversation
can be had again, word for word, up to any point. `ask` and `tell` are therefore as pure as those
of any other algorithm, and a state is arrays and numbers.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias
from weakref import WeakKeyDictionary

from szoht._random import Key
from szoht._validate import frozen
from szoht.algorithm import Ending, Evidence, Measured, PathPoint, State
from szoht.operators.base import Operator
from szoht.queries import Answer, Plan, Query
from szoht.samplers import Seeds
from szoht.types import Sample, Vector

__all__ = ["Conversation", "Notebook", "Scripted"]

Conversation: TypeAlias = Generator[Plan, Sequence[Answer], None]


@dataclass(kw_only=True)
class Notebook:
    """What a script knows: where it stands, the best feasible point, and what it did and why."""

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

    def key(self) -> Key:
        """Return an address that was not used before."""
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
        """Return what the next query is about: the same as always, or a fresh seed."""
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
class ScriptState(State):
    """The start, and every answer since then; the rest can be worked out again."""

    start: Vector
    transcript: ReplayLog = field(default_factory=ReplayLog)


@dataclass
class _Talk:
    """A conversation in progress, standing at ``plan``; None once it is over."""

    notebook: Notebook
    script: Conversation
    plan: Plan | None


@dataclass(frozen=True, kw_only=True)
class Scripted(ABC):
    """An algorithm whose `script` yields plans and receives their answers."""

    operator: Operator

    requires = frozenset[str]()

    @abstractmethod
    def script(self, notebook: Notebook) -> Conversation:
        """Talk to the objective, keeping the notebook up to date."""

    @abstractmethod
    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return the sample that the conversation is about, at first."""

    def init(self, x0: Vector, *, seed: int, n_samples: int | None = None) -> ScriptState:
        """Return the state at the start."""
        self.operator.check(x0.size)
        start = frozen(x0.copy())
        return ScriptState(seed=seed, n_samples=n_samples, x=start, start=start)

    def ask(self, state: State) -> Plan:
        """Return what the script wants to know next; once it is over, the best point again."""
        talk = self._resume(state)
        if talk.plan is not None:
            return talk.plan
        return Plan(queries=(talk.notebook.query(talk.notebook.x.copy()),))

    def tell(self, state: State, plan: Plan, answers: Sequence[Answer]) -> ScriptState:
        """Return the state after the script heard the answers."""
        del plan
        assert isinstance(state, ScriptState), "a script is told its own states"  # noqa: S101
        talk = self._resume(state)
        _TALKS.pop(state, None)
        _hear(talk, answers)
        notebook = talk.notebook
        told = replace(
            state,
            transcript=state.transcript.append(answers),
            iteration=notebook.iteration,
            x=notebook.x,
            best=notebook.best,
            measured=notebook.measured,
            explanation=_as_tuple(notebook.lines, state.explanation),
            path=tuple(notebook.path),
            knee=notebook.knee,
            finished=talk.plan is None,
            ending=notebook.ending,
            evidence=notebook.evidence,
        )
        _TALKS[told] = talk
        return told

    def closing(self, state: State) -> Plan | None:
        """Return nothing: only measured points are ever kept."""
        del state
        return None

    def solution(self, state: State) -> Measured:
        """Return the best feasible point."""
        return state.best or Measured(state.x, math.nan, exact=False)

    def _resume(self, state: State) -> _Talk:
        """Return the conversation at ``state``: the one in progress, or the same one again."""
        assert isinstance(state, ScriptState), "a script is asked about its own states"  # noqa: S101
        talk = _TALKS.get(state)
        if talk is None:
            sample = self.sample(state.seed, state.n_samples)
            notebook = Notebook(
                seed=state.seed, x=state.start, sample=sample, n_samples=state.n_samples
            )
            script = self.script(notebook)
            talk = _Talk(notebook, script, next(script, None))
            for answers in state.transcript:
                _hear(talk, answers)
            _TALKS[state] = talk
        return talk


_TALKS: "WeakKeyDictionary[State, _Talk]" = WeakKeyDictionary()
"""Conversations in progress, so that they need not be had again at every step."""


def _as_tuple(lines: list[str], before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines, which are only ever added to, copying them when there are new ones."""
    return before if len(lines) == len(before) else tuple(lines)


def _hear(talk: _Talk, answers: Sequence[Answer]) -> None:
    if talk.plan is None:
        return
    try:
        talk.plan = talk.script.send(answers)
    except StopIteration:
        talk.plan = None
