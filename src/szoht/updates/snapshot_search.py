"""A line search on the whole sum at snapshots, fixed steps between them."""

from dataclasses import dataclass
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

SHRINKAGE = 4.0
"""What divides the steps between snapshots if f rose under them."""


class SnapshotMemory(NamedTuple):
    """The search's own memory, the share of its step in use, and where the last search ended."""

    search: StepMemory
    share: float
    x: Vector | None
    value: float


@dataclass(frozen=True, kw_only=True)
class SnapshotSearch:
    """`LineSearch` where all components are seen; a share of the step that it found elsewhere.

    A search on few components would fit them. If f, on the whole sum, has risen since the last
    search, that one's point is returned to and later steps are shorter.

    Parameters
    ----------
    operator : Operator
        The set or penalty.
    every : int, optional
        Iterations between snapshots; by default there is one, at the start.
    share : float
        Share of the step found that the steps between snapshots take at first, in (0, 1].
    """

    operator: Operator
    every: int | None = None
    share: float = 0.25

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
        return SnapshotMemory(self._search.init(x), self.share, None, np.inf)

    def trials(self, x: Vector, estimate: Estimate, memory: SnapshotMemory) -> tuple[Vector, ...]:
        """Return the candidates, or the point to return to."""
        if memory.x is not None and memory.value < estimate.value:
            return (memory.x,)
        return self._search.trials(x, estimate, memory.search)

    def choose(
        self, x: Vector, estimate: Estimate, values: Vector, memory: SnapshotMemory
    ) -> tuple[Measured, SnapshotMemory]:
        """Return the best candidate, or the point to return to and a smaller share."""
        if memory.x is not None and memory.value < estimate.value:
            shorter = memory._replace(share=memory.share / SHRINKAGE)
            return Measured(memory.x, float(values[0])), shorter
        chosen, search = self._search.choose(x, estimate, values, memory.search)
        return chosen, SnapshotMemory(search, memory.share, chosen.x, chosen.value)

    def step(
        self, x: Vector, estimate: Estimate, t: int, memory: SnapshotMemory
    ) -> tuple[Vector, SnapshotMemory]:
        """Take a share of the step that the last search found."""
        del t
        if np.isnan(memory.search.step):
            return x, memory
        step = memory.share * memory.search.step
        return self.operator.prox(x - step * estimate.gradient, step), memory
