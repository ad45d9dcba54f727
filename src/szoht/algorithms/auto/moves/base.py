"""What a move is: one that slopes guide, or one that compares f over long distances."""

from typing import Protocol

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.goal import Solution
from szoht.algorithms.auto.state import SearchState

__all__ = ["ExploringMove", "Move"]


class Move(Protocol):
    """Proposes a point that satisfies the constraint, better than the incumbent or not."""

    @property
    def name(self) -> str:
        """What the schedule and `explain` call it."""
        ...

    def propose(self, context: SearchContext, state: SearchState) -> Steps[Solution]:
        """Return where the move ended."""
        ...


class ExploringMove(Protocol):
    """Spends one turn; what it finds becomes the incumbent by being measured.

    ``keeps_support``: a gain by such a move means that there are several minima. A move may keep
    something from turn to turn, a population for example.
    """

    @property
    def name(self) -> str:
        """What the schedule and `explain` call it."""
        ...

    @property
    def keeps_support(self) -> bool:
        """Whether it searches on the support of the incumbent."""
        ...

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        ...
