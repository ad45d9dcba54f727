"""The contract of an executor: who evaluates pieces, and how they report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from szoht.core.objective import Objective
from szoht.core.query import Plan
from szoht.pieces import Piece, PieceAnswer

__all__ = ["Crew", "Executor", "Report"]


@runtime_checkable
class Executor(Protocol):
    """Something that can open a crew of workers for one run."""

    def open(self, objective: Objective) -> "Crew":
        """Return workers that know the objective; whoever opens a crew closes it."""
        ...


class Crew(Protocol):
    """The workers of one run. Work is handed out as tickets: a number and some pieces.

    ``streams`` tells whether the pieces of a ticket are reported one by one, in their order;
    ``depth`` is how many tickets per worker keep all of them busy.
    """

    streams: bool
    depth: int

    @property
    def size(self) -> int:
        """How many pieces can be evaluated at the same time, now."""
        ...

    def brief(self, plan: Plan) -> None:
        """Make ``plan`` the one that the tickets to come are about."""
        ...

    def submit(self, ticket: int, pieces: Sequence[Piece], *, after: int | None) -> None:
        """Have the pieces evaluated, if possible elsewhere than those of the ticket ``after``."""
        ...

    def wait(self, seconds: float | None) -> "Sequence[Report]":
        """Return what has come in; if nothing has, wait, but not longer than ``seconds``."""
        ...

    def drop(self, ticket: int) -> None:
        """Lose interest: what has not begun need not be evaluated."""
        ...

    def free(self, ticket: int) -> None:
        """Get a worker back that hangs in this ticket, by force where that is possible."""
        ...

    def deaths(self) -> int:
        """Return how many workers died without a report, because others took over their work."""
        ...

    def close(self) -> None:
        """End what was opened by the crew, and nothing else."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """What a crew has to say about a ticket.

    ``over`` means that nothing more will come. If pieces are unanswered then, ``lost`` says why,
    and ``final`` whether trying again elsewhere was tried already.
    """

    ticket: int
    answers: tuple[PieceAnswer, ...] = ()
    over: bool = True
    lost: str | None = None
    final: bool = False
