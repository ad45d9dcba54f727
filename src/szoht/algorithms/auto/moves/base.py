"""What a move is."""

from typing import Protocol

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.bfgs import Solution
from szoht.algorithms.auto.state import SearchState

__all__ = ["Move"]


class Move(Protocol):
    """Proposes a point that satisfies the constraint, better than the incumbent or not."""

    @property
    def name(self) -> str:
        """What the schedule and `explain` call it."""
        ...

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return where the move ended."""
        ...
