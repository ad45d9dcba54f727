"""The ledger of a run: every evaluation, with its point in as few numbers as it takes."""

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from szoht.core.algorithm import Measured
from szoht.core.directions import (
    ArrayDirections,
    Directions,
    DirectionSlice,
    SampledDirections,
    ScaledDirections,
)
from szoht.core.point_pool import PackedPoint, PointPool
from szoht.core.query import Answer, Plan, Query
from szoht.core.repeats import same_value
from szoht.core.validation import frozen
from szoht.types import Indices, Vector

__all__ = ["Ledger"]

OTHER_POINTS_BYTES = 2**26
"""Points that are no answers are kept up to 64 MB, in memory and in a store."""

QUERY_BYTES = 600
"""A query with directions that are known by their address takes about this much."""

RECENT = 2**16
"""A value is compared with an earlier one at the same point if no more points came in between."""


class _Block(NamedTuple):
    """Evaluations from row ``first`` on: of single points, or of a query with directions.

    ``single`` is the number of the first of single points, else -1. A query without its ``base``
    was dropped. ``positions`` are those that were evaluated, None if all were.
    """

    first: int
    single: int = -1
    query: Query | None = None
    base: PackedPoint | None = None
    positions: Indices | None = None


class _Best(NamedTuple):
    """The lowest value of a point that may be an answer, and which evaluation it was."""

    value: float = math.inf
    row: int = -1


class Ledger:
    """Every evaluation of a run in the order of its plans, in the solver's numbers.

    A single point is kept as its changes from the start, and the points of a query with directions
    as base, radius and the address of the directions: nothing of size q x d. Points are written out
    when they are read. All points that may be answers are kept, and of the others 64 MB; beyond
    that their values and digests are.

    ``is_repeatable`` tells whether points that were evaluated again had the same value, but for
    rounding, and no value depends on a sample; ``is_constant`` whether all values are the same, of
    which there are ``n_equal``.

    Parameters
    ----------
    start : array of shape (d,)
        Where the run starts.
    allowed : callable, optional
        ``allowed(x)`` tells whether a point may be an answer; without it, `best` is not known.
    count : callable, optional
        ``count(x)`` is the number of changes of a point; then `best` knows the best for each.
    sign : float
        -1 where values are maximized.

    Examples
    --------
    >>> from szoht.core.query import one_point
    >>> ledger = Ledger(np.zeros(3), allowed=lambda x: np.count_nonzero(x) <= 1)
    >>> for x, value in (([0, 0, 0], 5.0), ([1, 1, 0], 1.0), ([0, 2, 0], 3.0)):
    ...     plan = one_point(np.array(x, dtype=float), None)
    ...     ledger.record(plan, plan.answered(np.array([value])))
    >>> ledger.best()
    Measured(x=array([0., 2., 0.]), value=3.0, exact=True, error=0.0)
    """

    def __init__(
        self,
        start: Vector,
        *,
        allowed: Callable[[Vector], bool] | None = None,
        count: Callable[[Vector], int] | None = None,
        sign: float = 1.0,
    ) -> None:
        self.start = start
        self.is_repeatable = True
        self.is_constant = True
        self.n_equal = 0
        self._allowed = allowed
        self._count = count
        self._sign = sign
        self._values = array("d")
        self._first = math.nan
        self._outputs: list[Vector] = []
        self._blocks: list[_Block] = []
        self._singles = PointPool(start)
        self._other_bytes = 0
        self._recent: dict[int, int] = {}
        self._best: dict[int, _Best] = {}
        self._written_out: dict[int, Measured] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __getstate__(self) -> dict[str, object]:
        """Return a copy to be read, which takes no more answers: functions cannot be pickled."""
        return self.__dict__ | {"_allowed": None, "_count": None}

    @property
    def n_dropped(self) -> int:
        """How many evaluations are known by their values and digests only."""
        ends = [*(block.first for block in self._blocks[1:]), len(self)]
        in_blocks = sum(
            end - block.first
            for block, end in zip(self._blocks, ends, strict=False)
            if block.single < 0 and block.query is None
        )
        return self._singles.n_dropped + in_blocks

    @property
    def values(self) -> Vector:
        """The values as the user has them, NaN where an evaluation failed."""
        return np.array(self._values)

    @property
    def signed_values(self) -> Vector:
        """The values of the function to be minimized."""
        return self._sign * self.values

    @property
    def counts_changes(self) -> bool:
        """Whether the best point is known for each number of changes."""
        return self._count is not None

    @property
    def outputs(self) -> Vector | None:
        """The outputs, a row for each evaluation, of a function that has several."""
        return np.vstack(self._outputs) if self._outputs else None

    def record(self, plan: Plan, answers: Sequence[Answer]) -> None:
        """Take the answers to a plan; points that were left out were not evaluated."""
        for query, answer in zip(plan.queries, answers, strict=True):
            values, outputs, positions = answer.values, answer.outputs, None
            if answer.left_out is not None and answer.left_out.any():
                positions = np.flatnonzero(~answer.left_out)
                values = values[positions]
                outputs = None if outputs is None else outputs[positions]
            if outputs is not None:
                self._outputs.append(outputs)
            if values.size:
                self._record(query, positions, values)

    def record_values(self, values: Vector) -> None:
        """Take the values of points that are not known any more."""
        self._blocks.append(_Block(len(self)))
        self._values.extend(values.tolist())

    def best(self, most: int | None = None) -> Measured | None:
        """Return the best point that may be an answer; ``most`` limits the number of changes."""
        found = [best for n, best in self._best.items() if most is None or n <= most]
        if not found:
            return None
        lowest = min(found, key=lambda best: (best.value, best.row))
        if lowest.row not in self._written_out:
            x = frozen(self.point(lowest.row))
            self._written_out[lowest.row] = Measured(x, lowest.value)
        return self._written_out[lowest.row]

    def find(self, x: Vector) -> float | None:
        """Return the value that a single point has had lately, None if it was not evaluated."""
        row = self._recent.get(PackedPoint.of(self.start, x).digest)
        return None if row is None or not self._is_at(row, x) else self._values[row]

    def keeps(self, row: int) -> bool:
        """Tell whether the point of an evaluation is known."""
        block = self._block(row)
        if block.single < 0:
            return block.query is not None
        return self._singles.keeps(block.single + row - block.first)

    def point(self, row: int) -> Vector:
        """Return the point of one evaluation, written out; NaN if it was dropped."""
        block = self._block(row)
        position = row - block.first
        if block.single >= 0:
            return self._singles.point(block.single + position)
        if block.query is None or block.base is None:
            return np.full(self.start.size, math.nan)
        if block.positions is not None:
            position = int(block.positions[position])
        query = replace(block.query, base=block.base.unpacked(self.start))
        return cast(Vector, query.points(position, position + 1)[0])

    def _block(self, row: int) -> _Block:
        return self._blocks[bisect_right(self._blocks, row, key=lambda one: one.first) - 1]

    def _record(self, query: Query, positions: Indices | None, values: Vector) -> None:
        row = len(self)
        self._values.extend(values.tolist())
        self.is_repeatable &= query.sample is None
        if self.is_constant:
            self._compare_with_first(values)
        if query.directions is None:
            self._record_single(query.base, row)
            return
        self._blocks.append(self._block_of(query, positions, row))
        if self._allowed is not None:
            self._find_answer(query, positions, values, row)

    def _block_of(self, query: Query, positions: Indices | None, row: int) -> _Block:
        """Return what is kept of a query with directions: nothing where there is too much."""
        base = PackedPoint.of(self.start, query.base)
        size = base.nbytes + _bytes(query.directions)
        if self._other_bytes + size > OTHER_POINTS_BYTES:
            return _Block(row)
        self._other_bytes += size
        # the base is formed again from its changes, and directions are sampled at their address
        kept = replace(query, base=self.start, directions=_address(query.directions))
        return _Block(row, query=kept, base=base, positions=positions)

    def _record_single(self, x: Vector, row: int) -> None:
        point = PackedPoint.of(self.start, x)
        digest = point.digest
        self._compare_with_earlier(digest, row, x)
        if not self._blocks or self._blocks[-1].single < 0:
            self._blocks.append(_Block(row, single=len(self._singles)))
        may_answer = self._note(x, row)
        keep = self._other_bytes <= OTHER_POINTS_BYTES or may_answer or self._may_answer(x)
        self._singles.add(point, digest, keep=keep)
        if keep and not may_answer:
            self._other_bytes += point.nbytes

    def _may_answer(self, x: Vector) -> bool:
        return self._allowed is not None and self._allowed(x)

    def _note(self, x: Vector, row: int) -> bool:
        """Tell whether a point is the best one so far that may be an answer, and remember it."""
        if self._allowed is None:
            return False
        value = self._sign * self._values[row]
        count = 0 if self._count is None else self._count(x)
        before = self._best.get(count, _Best())
        if not value < before.value or not self._allowed(x):
            return False
        self._best[count] = _Best(value, row)
        self._written_out.pop(before.row, None)
        return True

    def _find_answer(
        self, query: Query, positions: Indices | None, values: Vector, row: int
    ) -> None:
        """Look for answers among the points of a query with directions, the lowest first."""
        lowest = min((best.value for best in self._best.values()), default=math.inf)
        signed = self._sign * values
        for i in np.argsort(signed, kind="stable")[: np.count_nonzero(signed < lowest)].tolist():
            place = i if positions is None else int(positions[i])
            if self._note(query.points(place, place + 1)[0], row + i):
                return

    def _compare_with_first(self, values: Vector) -> None:
        """Notice a value that is not the first one; those that failed say nothing."""
        finite = values[np.isfinite(values)]
        self.n_equal += finite.size
        if finite.size and math.isnan(self._first):
            self._first = float(finite[0])
        self.is_constant = all(same_value(self._first, value) for value in finite.tolist())

    def _compare_with_earlier(self, digest: int, row: int, x: Vector) -> None:
        earlier = self._recent.setdefault(digest, row)
        differs = earlier != row and not same_value(self._values[earlier], self._values[row])
        if differs and self._is_at(earlier, x):
            self.is_repeatable = False
        if len(self._recent) > RECENT:
            self._recent = dict(list(self._recent.items())[RECENT // 2 :])

    def _is_at(self, row: int, x: Vector) -> bool:
        """Tell whether an evaluation was at this point, which has the same checksum."""
        return self.keeps(row) and np.array_equal(self.point(row), x)


def _address(directions: Directions | None) -> Directions | None:
    """Return directions that are known by their address, without what they have sampled."""
    if isinstance(directions, SampledDirections):
        return replace(directions)
    if isinstance(directions, DirectionSlice):
        return replace(directions, whole=replace(directions.whole))
    if isinstance(directions, ScaledDirections):
        return replace(directions, inner=cast(Directions, _address(directions.inner)))
    return directions


def _bytes(directions: Directions | None) -> int:
    """Return how much memory directions take: those that are given as arrays."""
    if isinstance(directions, ScaledDirections):
        directions = directions.inner
    if isinstance(directions, ArrayDirections):
        return directions.indices.nbytes + directions.values.nbytes
    return QUERY_BYTES
