"""A line search on the whole sum now and then, fixed steps between."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from szoht.core.algorithm import Measured
from szoht.core.operator import Operator
from szoht.core.query import Estimate
from szoht.core.validation import check_integer, check_real
from szoht.types import Vector
from szoht.updates.line_search import LineSearch, StepMemory

__all__ = ["SnapshotSearch"]

SHARE = 0.5
"""What part of a step found on the whole sum the steps between searches take."""


class SnapshotMemory(NamedTuple):
    """The search's own memory, and where the last search ended."""

    search: StepMemory
    x: Vector | None
    value: float


@dataclass(frozen=True, kw_only=True)
class SnapshotSearch:
    """`LineSearch` on the whole sum now and then; a share of the step that it found elsewhere.

    A search on few components would fit them. If f, on the whole sum, has risen since the last
    search and no candidate makes up for it, that search's point is returned to and later steps are
    shorter.

    Parameters
    ----------
    operator : Operator
        The set or penalty.
    every : int, optional
        Iterations between searches, >= 1; None: the first one is the only one.
    share : float
        Share of the step found that the steps between searches take, in (0, 1].
    """

    operator: Operator
    every: int | None = 1
    share: float = SHARE

    def __post_init__(self) -> None:
        if self.every is not None:
            check_integer("every", self.every, low=1)
        check_real("share", self.share, low=0, open_low=True, high=1)

    @cached_property
    def _search(self) -> LineSearch:
        return LineSearch(operator=self.operator)

    def due(self, iteration: int) -> bool:
        """Tell whether an iteration searches."""
        return iteration == 0 if self.every is None else iteration % self.every == 0

    def init(self, x: Vector) -> SnapshotMemory:
        """No length is known yet."""
        return SnapshotMemory(self._search.init(x), None, np.inf)

    def trials(self, x: Vector, estimate: Estimate, memory: SnapshotMemory) -> tuple[Vector, ...]:
        """Return the candidates, after ``x`` itself where its value is not known."""
        found = self._search.trials(x, estimate, memory.search)
        return found if self._known(x, estimate, memory) else (x, *found)

    def choose(
        self, x: Vector, estimate: Estimate, values: Vector, memory: SnapshotMemory
    ) -> tuple[Measured, SnapshotMemory]:
        """Return the best candidate, or the point to return to and a shorter step."""
        value = memory.value if x is memory.x else estimate.value
        if not self._known(x, estimate, memory):
            value, values = float(values[0]), values[1:]
        lowest = value if memory.x is None else min(value, memory.value)
        here = replace(estimate, value=lowest, measured=True)
        chosen, search = self._search.choose(x, here, values, memory.search)
        if chosen.x is x and memory.x is not None and memory.value < value:
            chosen = Measured(memory.x, memory.value)
        return chosen, SnapshotMemory(search, chosen.x, chosen.value)

    def step(
        self, x: Vector, estimate: Estimate, t: int, memory: SnapshotMemory
    ) -> tuple[Vector, SnapshotMemory]:
        """Take a share of the step that the last search found."""
        del t
        if np.isnan(memory.search.step):
            return x, memory
        step = self.share * memory.search.step
        return self.operator.prox(x - step * estimate.gradient, step), memory

    def _known(self, x: Vector, estimate: Estimate, memory: SnapshotMemory) -> bool:
        return x is memory.x or not np.isnan(estimate.value)
