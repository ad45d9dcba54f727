"""When enough of a plan has been answered to go on."""

import math
from collections.abc import Sequence

import numpy as np

from szoht.core.query import Plan, Query
from szoht.pieces import Piece, first_points
from szoht.types import Mask

__all__ = ["Quorum"]


class Quorum:
    """Tells when enough points have been answered.

    Enough is everything, or with a fraction f: every base point, every query without directions,
    and of every other query a share f of its directions, both ends of those that are mirrored.
    """

    def __init__(self, plan: Plan, pieces: Sequence[Piece], fraction: float | None) -> None:
        self._plan = plan
        self._fraction = fraction
        self._firsts = first_points(plan)
        self._answered = np.ones(plan.n_points, dtype=bool)
        for piece in pieces:
            self._answered[self._range(piece)] = False
        self.missing = sum(piece.n_points for piece in pieces)

    @property
    def reached(self) -> bool:
        """Whether enough points have been answered."""
        if self.missing == 0:
            return True
        return self._fraction is not None and all(
            self._enough(query, self._answered[first : first + query.n_points])
            for first, query in zip(self._firsts, self._plan.queries, strict=True)
        )

    def count(self, piece: Piece) -> None:
        """Take note of an answer."""
        self._answered[self._range(piece)] = True
        self.missing -= piece.n_points

    def _range(self, piece: Piece) -> slice:
        first = self._firsts[piece.query]
        return slice(first + piece.start, first + piece.stop)

    def _enough(self, query: Query, answered: Mask) -> bool:
        assert self._fraction is not None, "asked only if there is a fraction"  # noqa: S101
        if query.with_base and not answered[0]:
            return False
        ends = answered[int(query.with_base) :].reshape(-1, max(1, query.n_directions))
        whole = int(np.count_nonzero(ends.all(axis=0)))
        return whole >= math.ceil(self._fraction * query.n_directions)
