"""One worker: the calling thread itself."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from szoht.core.objective import Objective
from szoht.core.query import Plan
from szoht.executors.base import Report
from szoht.executors.parcel import Desk, pack
from szoht.pieces import Piece

__all__ = ["Serial"]


@dataclass(frozen=True)
class Serial:
    """Evaluates piece after piece in the calling thread; the measure of all other executors."""

    def open(self, objective: Objective) -> "SerialCrew":
        """Return a crew of one."""
        return SerialCrew(objective)


class SerialCrew:
    """A crew of one, which works while it is waited for."""

    streams = True
    depth = 1
    size = 1

    def __init__(self, objective: Objective) -> None:
        self._desk = Desk(objective)
        self._todo: deque[tuple[int, Piece, bool]] = deque()

    def brief(self, plan: Plan) -> None:
        """Take over the plan."""
        self._desk.brief(self._desk.number + 1, pack(plan))

    def submit(self, ticket: int, pieces: Sequence[Piece], *, after: int | None) -> None:
        """Put the pieces on the desk."""
        del after
        self._todo.extend((ticket, piece, piece is pieces[-1]) for piece in pieces)

    def wait(self, seconds: float | None) -> list[Report]:
        """Evaluate the next piece."""
        del seconds
        ticket, piece, last = self._todo.popleft()
        return [Report(ticket=ticket, answers=(self._desk.evaluate(piece),), over=last)]

    def drop(self, ticket: int) -> None:
        """Forget the pieces of the ticket."""
        self._todo = deque(entry for entry in self._todo if entry[0] != ticket)

    def free(self, ticket: int) -> None:
        """Forget the pieces of the ticket; the calling thread cannot hang elsewhere."""
        self.drop(ticket)

    def deaths(self) -> int:
        """Nobody died."""
        return 0

    def close(self) -> None:
        """Nothing was opened."""
