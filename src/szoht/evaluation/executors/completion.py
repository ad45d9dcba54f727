"""When enough of a plan has been evaluated to go on."""

import math
from collections.abc import Sequence

import numpy as np

from szoht.core.query import Plan, Query
from szoht.evaluation.chunks import Chunk, first_point_indices
from szoht.types import Mask

__all__ = ["CompletionRule"]


class CompletionRule:
    """Tells when enough points have been evaluated.

    Enough is everything, or with a fraction f: every base point, every query without directions,
    and of every other query a share f of its directions, both ends of those that are mirrored.
    """

    def __init__(self, plan: Plan, chunks: Sequence[Chunk], fraction: float | None) -> None:
        self._plan = plan
        self._fraction = fraction
        self._firsts = first_point_indices(plan)
        self._evaluated = np.ones(plan.n_points, dtype=bool)
        for chunk in chunks:
            self._evaluated[self._range(chunk)] = False
        self.n_missing = sum(chunk.n_points for chunk in chunks)

    @property
    def satisfied(self) -> bool:
        """Whether enough points have been evaluated."""
        if self.n_missing == 0:
            return True
        return self._fraction is not None and all(
            self._is_enough(query, self._evaluated[first : first + query.n_points])
            for first, query in zip(self._firsts, self._plan.queries, strict=True)
        )

    def count(self, chunk: Chunk) -> None:
        """Count a chunk as evaluated."""
        self._evaluated[self._range(chunk)] = True
        self.n_missing -= chunk.n_points

    def _range(self, chunk: Chunk) -> slice:
        first = self._firsts[chunk.query]
        return slice(first + chunk.start, first + chunk.stop)

    def _is_enough(self, query: Query, evaluated: Mask) -> bool:
        assert self._fraction is not None, "asked only if there is a fraction"  # noqa: S101
        if query.with_base and not evaluated[0]:
            return False
        ends = evaluated[int(query.with_base) :].reshape(-1, max(1, query.n_directions))
        whole = int(np.count_nonzero(ends.all(axis=0)))
        return whole >= math.ceil(self._fraction * query.n_directions)
