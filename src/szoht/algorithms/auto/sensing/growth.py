"""Slopes of coordinates that are next to each other: known ones outwards, block by block.

Where the coordinates that matter are connected, those next to known ones are worth a look, and all
others are not. A block of few candidates is measured along random rows until one set of them, no
other, explains all rows: one row more than it has coordinates, since few connected sets are left
to choose from. Rows over all coordinates, measured before, tell when everything is found.
"""

import math
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from szoht.algorithms.auto.records import Confidence, Slopes, Steps
from szoht.algorithms.auto.sensing.blocks import (
    AMBIGUOUS,
    Sets,
    connected_sets,
    explaining_sets,
    in_common,
    small_sets,
)
from szoht.algorithms.auto.sensing.round import SensingRound
from szoht.algorithms.auto.structures.connected import Connected
from szoht.core.directions import ArrayDirections
from szoht.types import Indices, Vector

__all__ = ["sense_by_growth"]

BLOCK = 12
"""Candidates in a block: all 2^12 sets of them, but for those that are not connected, compete."""

SEEDS, MOST_SEEDS, MOST_APART = 1.5, 3, 60
"""Coordinates with a slope that are expected among those that are looked at first, how many are
found at most, and among how many."""

SPARE = 3
"""Rows beyond the number of candidates after which a block is given up."""

FIRST_SHARE, AT_ONCE = 0.3, 0.5
"""Share of the candidates that is expected to matter before any is known, and how many rows are
measured at once for each that is expected: more would be too many for some blocks."""

CHANCE = 0.01
"""A set is chosen once the probability that a wrong one explains all rows is below this."""

TOLERANCE = 2.0
"""Misses up to so many standard deviations are noise."""

UNEVEN = 0.3
"""Share of the curvature along a row by which that of few coordinates differs from the mean."""

LONGEST_ROW_STEP = 1e-5
"""The longest differences."""

ROWS_EXPLAINED = 1e-3
"""Rows over all coordinates are explained up to this share."""


def sense_by_growth(sensing: SensingRound, structure: Connected) -> Steps[Slopes | None]:
    """Find all slopes, or None where more coordinates have one than may stay or some are apart."""
    growth = _OutwardSearch(sensing, structure)
    yield from growth.measure_support()
    while not growth.is_explained:
        if len(growth.slopes) > structure.size + sensing.support.size or growth.failed:
            return None
        block = growth.next_block()
        if block.size:
            yield from growth.measure_block(block)
        elif not (yield from growth.find_seeds()):
            return None
    values = np.zeros(structure.d)
    values[list(growth.slopes)] = list(growth.slopes.values())
    found = structure.whole(np.flatnonzero(values))
    if found.size > structure.size:
        found = structure.best(values**2, structure.size)
    sensing.context.explain(
        f"{sensing.cost} queries: slopes of {len(growth.slopes)} coordinates, found from one to "
        "the next."
    )
    order = np.argsort(-np.abs(values[found]), kind="stable")
    return Slopes(values, found[order], Confidence.RECOVERED, sensing.cost)


@dataclass
class _OutwardSearch:
    """The slopes found so far, by coordinate, and what rows over many coordinates leave to explain.

    ``closed`` are the coordinates whose slopes are known, zero ones included.
    """

    sensing: SensingRound
    structure: Connected
    slopes: dict[int, float] = field(default_factory=dict)
    failed: bool = False
    tested: int = 0
    seeds: int = 0

    def __post_init__(self) -> None:
        structure, sensing = self.structure, self.sensing
        self.closed = np.ones(structure.d, dtype=bool)
        self.closed[structure.free] = False
        self.generator = sensing.context.generator()
        self.rows = sensing.measured.columns(np.arange(structure.d))
        self.rest = sensing.measured.slopes - sensing.noise.curvature * sensing.step
        # rows of signs add up slopes of the usual size, as many as may stay
        self.usual = float(np.sqrt(np.mean(self.rest**2) / structure.size))
        most = float(np.abs(self.rest).max())
        self.enough = ROWS_EXPLAINED * most + TOLERANCE * sensing.slope_noise

    @property
    def is_explained(self) -> bool:
        """Whether nothing is left to explain."""
        return bool((np.abs(self.rest) <= self.enough).all())

    @property
    def inside(self) -> list[int]:
        """The coordinates that others may be next to."""
        return [*self.sensing.support.tolist(), *self.slopes]

    def measure_support(self) -> Steps[None]:
        """Measure the slopes on the support, unless one row says that they vanish."""
        support = self.sensing.support
        if not support.size:
            return
        (first,) = yield from self.measure(support, self.random_rows(1, support.size))
        slopes = np.zeros(support.size)
        if abs(first) > self.noise(support.size):
            slopes = yield from self.measure(support, np.eye(support.size))
        self.close(support, slopes)

    def next_block(self) -> Indices:
        """Return candidates, those next to known coordinates first, then those behind them."""
        found = [i for i in self.structure.roots if not self.closed[i]]
        seen = set(found)
        for node in chain(self.inside, found):  # which grows
            if len(found) >= BLOCK:
                break
            new = [j for j in self.structure.neighbors(node) if not (self.closed[j] or j in seen)]
            found += new
            seen.update(new)
        return np.array(found[:BLOCK], dtype=np.intp)

    def measure_block(self, block: Indices) -> Steps[None]:
        """Find out which candidates of a block have a slope, all of them if need be."""
        neighbors = self.structure.neighbors
        start = chain(self.structure.roots, *(neighbors(node) for node in self.inside))
        share = (len(self.slopes) + 1) / (self.tested + 1 / FIRST_SHARE)
        first = max(1, round(AT_ONCE * share * block.size))
        sets = connected_sets(block, start, neighbors)
        self.failed |= not (yield from self.decide(block, sets, first))
        self.tested += block.size

    def find_seeds(self) -> Steps[bool]:
        """Find coordinates with a slope anywhere; False if there may be no further ones.

        Few of some random coordinates are expected to have a slope; any few of them may.
        """
        if self.seeds == self.structure.parts:
            return False
        self.seeds += 1
        known, share = len(self.slopes), SEEDS / self.structure.size
        while len(self.slopes) == known and not (self.closed.all() or self.failed):
            rest = np.flatnonzero(~self.closed)
            count = min(max(1, round(share * rest.size)), MOST_APART, rest.size)
            block = self.generator.choice(rest, count, replace=False)
            decided = yield from self.decide(block, small_sets(count, MOST_SEEDS))
            share *= 2.0 if decided else 0.5
        return len(self.slopes) > known

    def decide(self, block: Indices, sets: Sets, first: int = 1) -> Steps[bool]:
        """Measure along rows over a block until only one of some sets explains them.

        A set of n coordinates takes n + 1 rows. False if none of the sets does; all candidates
        have a slope if there are as many rows.
        """
        rows, y, noise = np.empty((0, block.size)), np.empty(0), self.noise(block.size)
        sizes = sets.sum(axis=1)
        size, compared, rivals = 0, 0, sets[:0]
        while len(rivals) != 1 or self.is_chance(compared, y.size - int(rivals[0].sum()), noise):
            if y.size > block.size + SPARE or (size > sizes.max() and not len(rivals)):
                return False
            more = self.random_rows(1 if y.size else first, block.size)
            rows, y = np.vstack([rows, more]), np.append(y, (yield from self.measure(block, more)))
            rivals = explaining_sets(rivals, rows, y, noise)  # of those that did before
            while not len(rivals) and size < min(y.size, block.size):
                rivals = explaining_sets(sets[sizes == size], rows, y, noise)
                compared += int(np.count_nonzero(sizes == size))
                size += 1
            if not len(rivals) and y.size >= block.size:
                rivals = np.ones((1, block.size), dtype=bool)
            rivals = in_common(rivals, rows, y, noise)
        chosen = rivals[0]
        slopes = np.zeros(block.size)
        slopes[chosen] = np.linalg.lstsq(rows[:, chosen], y, rcond=None)[0]
        self.close(block, np.where(np.abs(slopes) > AMBIGUOUS * noise, slopes, 0.0))
        return True

    def is_chance(self, compared: int, spare: int, noise: float) -> bool:
        """Tell whether one of so many sets may explain all rows, so many to spare, by chance."""
        return spare > 0 and compared * min(1.0, 2 * noise / self.usual) ** spare > CHANCE

    def close(self, coordinates: Indices, slopes: Vector) -> None:
        """Take these slopes as known."""
        self.closed[coordinates] = True
        self.rest = self.rest - self.rows[:, coordinates] @ slopes
        found = np.flatnonzero(slopes)
        self.slopes.update(zip(coordinates[found].tolist(), slopes[found].tolist(), strict=True))

    def random_rows(self, count: int, n: int) -> Vector:
        """Return rows of which no two columns are alike, however few they are."""
        signs = self.generator.choice(np.array([-1.0, 1.0]), (count, n))
        return np.asarray(signs * self.generator.uniform(0.5, 1.0, (count, n)))

    def measure(self, block: Indices, rows: Vector) -> Steps[Vector]:
        """Measure slopes along rows over the coordinates ``block``."""
        indices = np.broadcast_to(block, rows.shape)
        directions = ArrayDirections(d=self.structure.d, indices=indices, values=rows)
        base, step = (yield from self.sensing.base_point()), self.step(block.size)
        y = (yield from self.sensing.context.differences(base, directions, step)) / step
        self.failed |= not bool(np.isfinite(y).all())
        return np.asarray(np.nan_to_num(y - step * self.bend * (rows**2).sum(axis=1)))

    @property
    def bend(self) -> float:
        """What curvature adds to a difference along an axis, per length."""
        return self.sensing.noise.curvature / self.structure.free.size

    @property
    def rounding(self) -> float:
        """What one value may be off."""
        return max(self.sensing.rounding, self.sensing.noise.sigma)

    def step(self, n: int) -> float:
        """Return the length of differences along n coordinates that errs least."""
        sensing = self.sensing
        if self.structure.bounded or self.bend == 0:
            return sensing.step
        balanced = math.sqrt(3 * self.rounding / (UNEVEN * abs(self.bend) * n))
        return min(max(balanced, sensing.step), LONGEST_ROW_STEP)

    def noise(self, n: int) -> float:
        """Return what slopes along n coordinates may be off."""
        step = self.step(n)
        rounding = 3 * self.rounding / step
        return TOLERANCE * (rounding + UNEVEN * abs(self.bend) * n * step)
