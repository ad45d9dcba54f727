"""The contracts of the parts that algorithms are composed of: estimators and updates."""

from collections.abc import Sequence
from typing import Protocol

from szoht.core.algorithm import Measured, Memory
from szoht.core.operator import Operator
from szoht.core.query import Answer, Estimate, Plan
from szoht.core.random import Key
from szoht.types import Sample, Vector

__all__ = ["Estimator", "SearchUpdate", "Update"]


class Estimator(Protocol):
    """Plans points and turns their values into a gradient. Never calls the objective."""

    @property
    def requires(self) -> frozenset[str]:
        """The capabilities of the objective that it needs, such as "gradient"."""
        ...

    def check(self, d: int) -> None:
        """Raise if the estimator does not fit dimension ``d``."""
        ...

    def init(self, x: Vector) -> Memory:
        """Return the memory before the first iteration."""
        ...

    def plan(self, x: Vector, sample: Sample, memory: Memory, key: Key) -> Plan:
        """Return the points to ask around ``x``; all randomness comes from ``key``."""
        ...

    def combine(
        self, plan: Plan, answers: Sequence[Answer], memory: Memory
    ) -> tuple[Estimate | None, Memory]:
        """Return the estimate, or None to ask another round with the new memory."""
        ...


class Update(Protocol):
    """Moves the iterate, given an estimate.

    An update that needs gradients at other points than its iterates, as accelerated methods do,
    also has ``output(memory)``, the newest iterate.
    """

    @property
    def operator(self) -> Operator:
        """The set or penalty that the iterates obey."""
        ...

    def init(self, x: Vector) -> Memory:
        """Return the memory before the first iteration."""
        ...

    def step(self, x: Vector, estimate: Estimate, t: int, memory: Memory) -> tuple[Vector, Memory]:
        """Return the next iterate."""
        ...


class SearchUpdate(Protocol):
    """An update that measures a few candidates before it moves."""

    @property
    def operator(self) -> Operator:
        """The set or penalty that the iterates obey."""
        ...

    def init(self, x: Vector) -> Memory:
        """Return the memory before the first iteration."""
        ...

    def trials(self, x: Vector, estimate: Estimate, memory: Memory) -> tuple[Vector, ...]:
        """Return the candidates to measure."""
        ...

    def choose(
        self, x: Vector, estimate: Estimate, values: Vector, memory: Memory
    ) -> tuple[Measured, Memory]:
        """Return the next iterate, given the values of the candidates."""
        ...
