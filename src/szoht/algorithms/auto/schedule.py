"""Which move next: by turns at first, then by what each has gained per query."""

from dataclasses import dataclass
from itertools import zip_longest

from szoht.algorithms.auto.exploration import Exploration, Landscape
from szoht.algorithms.auto.moves.base import ExploringMove
from szoht.algorithms.auto.moves.binary_probes import BinaryProbes
from szoht.algorithms.auto.moves.on_support import (
    BasinHopping,
    CovarianceAdaptation,
    DifferentialEvolution,
    PerturbedBfgs,
    RandomSearch,
    Restart,
    SimplexSearch,
)
from szoht.algorithms.auto.moves.over_supports import (
    LongSlopes,
    PerturbedSupport,
    RandomJoin,
    RandomSwap,
    SparseRandomSearch,
)
from szoht.algorithms.auto.moves.scanned_exchange import ScannedExchange

__all__ = ["MoveSchedule"]

SMOOTH_TURNS = 2
"""Moves, those over supports, that are due where all restarts came back to the same value. If
slopes outside the support do not vanish, all such moves are."""

IDLE_TURNS = 20
"""Turns in a row, per move, in which nothing was asked: there is nothing left to do."""

MEMORY = 0.7
"""Weight of a move's earlier turns: what helps changes (0.01 and 1: within 1.05 in cost)."""


@dataclass
class _Record:
    """What a move has cost and gained, older turns weighing less; ``turns`` since a gain of any."""

    wins: float = 0.0
    cost: float = 0.0
    queries: int = 0
    turns: int = 0


class MoveSchedule:
    """The moves of an exploration and what is known about them."""

    def __init__(self, search: Exploration) -> None:
        self._search = search
        self._adaptation = CovarianceAdaptation()
        self._on_support: tuple[ExploringMove, ...] = (
            BasinHopping(),
            RandomSearch(),
            PerturbedBfgs(),
            Restart(),
            DifferentialEvolution(),
            SimplexSearch(),
            self._adaptation,
        )
        self._perturbed, self._exchange = PerturbedSupport(), ScannedExchange()
        self._over_supports: tuple[ExploringMove, ...] = (
            BinaryProbes(),
            self._perturbed,
            RandomJoin(),
            RandomSwap(),
            SparseRandomSearch(),
        )
        if search.state.noise.stepwise:
            self._over_supports += (LongSlopes(turns=1), self._exchange)
        every = (*self._on_support, *self._over_supports)
        self._records = {move.name: _Record() for move in every}
        self._turn = self._idle = 0

    @property
    def tried(self) -> dict[str, int]:
        """How many turns each move has had since the last gain."""
        return {name: record.turns for name, record in self._records.items() if record.turns}

    @property
    def all_due_tried(self) -> bool:
        """Whether every move that is due has had a turn."""
        smooth = self._search.landscape is Landscape.SMOOTH and not self._search.few
        if self._guide is not None and not self._search.few:
            return self._turn >= 2 * len(self._over_supports)
        return self._turn >= (SMOOTH_TURNS if smooth else len(self._moves))

    @property
    def nothing_asked(self) -> bool:
        """Whether the moves have stopped asking."""
        return self._idle > IDLE_TURNS * len(self._moves)

    @property
    def screening_due(self) -> bool:
        """Whether to look again for variables that matter: fewer than may are known."""
        search = self._search
        known = search.context.structure.count(search.pool)
        return self._turn % 2 == 1 and known < search.context.structure.size

    def next(self) -> ExploringMove:
        """Return the move that has the next turn.

        Where slopes are dense and descend, they guide best: the search from perturbed supports
        then has every other turn. Where f changes in steps, scanned exchanges do. Many minima of
        few variables take many points at once: CMA-ES has every third turn.
        """
        moves, self._turn = self._moves, self._turn + 1
        guide, turn = self._guide, self._turn
        if guide is self._adaptation:
            if turn % 3 == 0:
                return guide
            turn -= turn // 3
        elif guide is not None:
            if turn % 2:
                return guide
            turn //= 2
        moves = tuple(move for move in moves if move is not guide)
        return moves[turn - 1] if turn <= len(moves) else self._by_merit(moves)

    def record(self, move: ExploringMove, *, cost: int, gained: bool) -> None:
        """Remember what a turn has cost and gained."""
        record = self._records[move.name]
        record.wins = MEMORY * record.wins + gained
        record.cost = MEMORY * record.cost + cost
        record.queries += cost
        if gained:
            for other in self._records.values():
                other.turns = 0
        record.turns += not gained
        self._idle = 0 if cost else self._idle + 1

    def _by_merit(self, moves: tuple[ExploringMove, ...]) -> ExploringMove:
        generator = self._search.context.generator()
        if generator.integers(3) == 0:  # whatever it has gained
            return min(moves, key=lambda move: self._records[move.name].queries)
        chance = generator.random(len(moves))
        usual = 20 * max(1, self._search.support.size)

        def merit(i: int) -> float:
            record = self._records[moves[i].name]
            return float((record.wins + 0.05 * chance[i]) / (record.cost + usual))

        return moves[max(range(len(moves)), key=merit)]

    @property
    def _moves(self) -> tuple[ExploringMove, ...]:
        if self._search.few:
            return self._on_support
        if self._search.landscape is Landscape.SMOOTH:
            return self._over_supports + self._on_support
        # where variables are many, which ones matters as much as their values
        pairs = zip_longest(self._on_support, self._over_supports)
        return tuple(move for pair in pairs for move in pair if move is not None)

    @property
    def _guide(self) -> ExploringMove | None:
        """Return the move that has every other turn, if one stands out."""
        search = self._search
        if search.few:
            return self._adaptation if search.landscape is Landscape.SEVERAL else None
        if search.state.noise.stepwise:
            return None if self._exchange.all_tried else self._exchange
        descends = search.landscape in (Landscape.SMOOTH, Landscape.SEVERAL)
        return self._perturbed if search.state.exact and descends else None
