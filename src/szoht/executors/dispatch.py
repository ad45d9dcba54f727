"""Hands pieces out to a crew, tries again what is lost, and knows when enough has come in."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias

import numpy as np

from szoht.core.directions import Offsets, prefetch
from szoht.core.query import Plan
from szoht.errors import AnswerShapeError
from szoht.executors.base import Crew, Report
from szoht.executors.quorum import Quorum
from szoht.pieces import Piece, PieceAnswer
from szoht.result import Faults

__all__ = ["Dispatcher", "OnFault", "Shift"]

OnFault: TypeAlias = Callable[[Piece, int, str, Exception | None], None]
"""Told about every attempt at a piece that failed: which one it was, why, and what was raised."""

TICKET_SECONDS = 0.5
"""Quick pieces are handed out several at a time, about this much work together."""

TRIFLE_SECONDS = 0.005
"""Less work than this is not worth a ticket of its own."""

SHARE = 3
"""A ticket is at most this fraction of a worker's share of what is left, to end evenly."""


@dataclass
class _Ticket:
    """Pieces that were handed out and have not been answered."""

    pieces: deque[Piece]
    begun: float
    since: float = field(init=False)
    given: int = field(init=False)

    def __post_init__(self) -> None:
        self.since, self.given = self.begun, len(self.pieces)


class Dispatcher:
    """Has pieces evaluated by a crew, whatever happens to its workers.

    Parameters
    ----------
    crew : Crew
        The workers.
    timeout : float, optional
        Seconds that one piece may take.
    retries : int
        How often a piece is tried again, elsewhere, after its worker died, hung or raised.
    min_fraction : float, optional
        The share of a query's directions that is enough.
    """

    def __init__(
        self, crew: Crew, *, timeout: float | None, retries: int, min_fraction: float | None
    ) -> None:
        self.crew = crew
        self.timeout = timeout
        self.retries = retries
        self.min_fraction = min_fraction
        self.on_fault: OnFault | None = None
        self._faults = Faults()
        self.numbers = count()
        self.dropped: dict[int, _Ticket] = {}
        self._seconds_per_piece = math.inf
        self.has_answered = False

    @property
    def faults(self) -> Faults:
        """What went wrong so far."""
        return replace(self._faults, died=self._faults.died + self.crew.deaths())

    def begin(self, plan: Plan, pieces: Sequence[Piece]) -> "Shift":
        """Return the answers as they come in, until all or enough of them have."""
        return Shift(self, plan, pieces)

    def blame(self, what: str, n: int = 1) -> None:
        """Count a fault."""
        self._faults = replace(self._faults, **{what: getattr(self._faults, what) + n})

    def learn(self, ticket: _Ticket) -> None:
        """Learn how long a piece takes from a ticket that is over."""
        self._seconds_per_piece = (time.monotonic() - ticket.begun) / ticket.given

    def batch(self, left: int) -> int:
        """Return how many pieces to hand out at a time: few, unless they are quick."""
        if self.min_fraction is not None:
            return 1  # nothing may wait behind a straggler
        seconds = max(self._seconds_per_piece, 1e-9)
        most, least = (int(min(work / seconds, left)) for work in (TICKET_SECONDS, TRIFLE_SECONDS))
        return max(1, min(most, max(least, left // (SHARE * self.crew.size))))


class Shift:
    """The work on one plan: yields answers; ``issued`` counts the points handed out so far."""

    def __init__(self, dispatcher: Dispatcher, plan: Plan, pieces: Sequence[Piece]) -> None:
        self._boss = dispatcher
        self._crew = dispatcher.crew
        self._todo = deque(pieces)
        self._again: deque[tuple[Piece, int]] = deque()
        self._attempts: dict[Piece, int] = {}
        self._out: dict[int, _Ticket] = {}
        self._quorum = Quorum(plan, pieces, dispatcher.min_fraction)
        self.issued = plan.n_points - sum(piece.n_points for piece in pieces)

        self._plan = plan

    def __iter__(self) -> Iterator[PieceAnswer]:
        try:
            if not self._quorum.reached:
                self._crew.brief(self._plan)
            ahead = self._draw_ahead()
            while not self._quorum.reached:
                self.hand_out()
                drawing = next(ahead, None) is not None
                for report in self._crew.wait(0.0 if drawing else self.patience):
                    yield from self.settle(report)
                yield from self.free_the_overdue()
        except KeyboardInterrupt as stop:
            stop.points_spent = self.issued  # type: ignore[attr-defined]
            raise
        self._boss.blame("left_out", self._quorum.missing)

    def close(self) -> None:
        """Lose interest in what is still going on."""
        for number, ticket in self._out.items():
            self._crew.drop(number)
            self._boss.dropped[number] = ticket
        self._out = {}

    @property
    def patience(self) -> float | None:
        """Seconds until the next ticket is overdue."""
        tickets = [*self._out.values(), *self._boss.dropped.values()]
        if self._boss.timeout is None or not tickets:
            return None
        return max(0.0, min(self._deadline(ticket) for ticket in tickets) - time.monotonic())

    def hand_out(self) -> None:
        """Keep everybody busy: first what must be tried again, each piece by itself."""
        # a queue before a worker would count against the time that its pieces have
        depth = self._crew.depth if self._boss.timeout is None else 1
        slots = depth * self._crew.size - len(self._boss.dropped)
        while len(self._out) < slots and (self._todo or self._again):
            if self._again:
                piece, after = self._again.popleft()
                self._submit([piece], after)
                continue
            n = self._boss.batch(len(self._todo))
            self._submit([self._todo.popleft() for _ in range(n)], None)

    def settle(self, report: Report) -> Iterator[PieceAnswer]:
        """Yield the answers of a report, unless the pieces are tried again."""
        ticket = self._out.get(report.ticket)
        if ticket is None:  # somebody who was too slow
            if report.over:
                self._boss.dropped.pop(report.ticket, None)
            return
        for answer in report.answers:
            ticket.pieces.remove(answer.piece)
            ticket.since = time.monotonic()
            if isinstance(answer.cause, AnswerShapeError):
                raise answer.cause
            if answer.cause is None or not self._retry(
                answer.piece, report.ticket, "raised", answer.error or "", answer.cause
            ):
                yield self._accept(answer)
        if report.over:
            del self._out[report.ticket]
            self._boss.learn(ticket)
            if ticket.pieces:
                reason = report.lost or "the worker gave no answer"
                yield from self._lose(ticket, report.ticket, "died", reason, final=report.final)

    def free_the_overdue(self) -> Iterator[PieceAnswer]:
        """Get workers back that hang, and try their pieces again."""
        if self._boss.timeout is None:
            return
        now = time.monotonic()
        for tickets in (self._boss.dropped, self._out):
            for number in [n for n, t in tickets.items() if self._deadline(t) <= now]:
                ticket = tickets.pop(number)
                self._crew.free(number)
                if tickets is self._out:
                    reason = f"no answer came within timeout={self._boss.timeout:g} seconds"
                    yield from self._lose(ticket, number, "hung", reason, final=False)

    def _draw_ahead(self) -> Iterator[Offsets]:
        """Draw the directions, which the estimate will need, while the workers are busy."""
        for query in self._plan.queries:
            if query.directions is not None:
                yield from prefetch(query.directions)

    def _submit(self, pieces: list[Piece], after: int | None) -> None:
        number = next(self._boss.numbers)
        self._crew.submit(number, pieces, after=after)
        self._out[number] = _Ticket(deque(pieces), time.monotonic())
        self.issued += sum(piece.n_points for piece in pieces if piece not in self._attempts)

    def _deadline(self, ticket: _Ticket) -> float:
        assert self._boss.timeout is not None, "deadlines come from a timeout"  # noqa: S101
        return ticket.since + self._boss.timeout * (1 if self._crew.streams else ticket.given)

    def _lose(
        self, ticket: _Ticket, number: int, what: str, reason: str, *, final: bool
    ) -> Iterator[PieceAnswer]:
        """Try the pieces of a lost ticket again, and yield those that were tried often enough."""
        # a crew that reports piece by piece was at the first of those that are left
        blamed = 1 if self._crew.streams else len(ticket.pieces)
        for i, piece in enumerate(ticket.pieces):
            if i >= blamed:
                self._again.append((piece, number))
                self._attempts.setdefault(piece, 0)
            elif final or not self._retry(piece, number, what, reason):
                yield self._accept(self._give_up(piece, reason))
                if final:
                    self._boss.blame(what)

    def _retry(
        self, piece: Piece, number: int, what: str, reason: str, cause: Exception | None = None
    ) -> bool:
        self._boss.blame(what)
        self._attempts[piece] = self._attempts.get(piece, 0) + 1
        if self._boss.on_fault is not None:
            self._boss.on_fault(piece, self._attempts[piece], reason, cause)
        if self._attempts[piece] > self._boss.retries:
            return False
        self._again.append((piece, number))
        return True

    def _give_up(self, piece: Piece, reason: str) -> PieceAnswer:
        tried = self._attempts.get(piece, 1)
        often = "" if tried == 1 else f", {tried} times in a row"
        nothing = np.full(piece.n_points, np.nan)
        return PieceAnswer(piece=piece, values=nothing, error=f"{reason}{often}")

    def _accept(self, answer: PieceAnswer) -> PieceAnswer:
        self._quorum.count(answer.piece)
        self._boss.has_answered = True
        return answer
