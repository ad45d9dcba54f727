"""Slopes of coordinates that are next to each other: known ones outwards, block by block.

Where the coordinates that matter are connected, those next to known ones are worth a look, and all
others are not. A block of few candidates is measured along random rows until one set of them, no
other, explains all rows: one row more than it has coordinates, since few connected sets are left
to choose from. Rows over all coordinates, measured before, tell when everything is found.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.records import Confidence, Slopes, Steps
from szoht.algorithms.auto.sensing.round import SensingRound
from szoht.algorithms.auto.structures.connected import Connected
from szoht.core.directions import ArrayDirections
from szoht.types import Indices, Vector

__all__ = ["sense_by_growth"]

BLOCK = 16
"""Candidates in a block: all 2^16 sets of them are compared."""

TOLERANCE, AMBIGUOUS = 2.0, 10.0
"""Misses up to so many standard deviations are noise; up to so many times that, they may be."""

UNEVEN = 0.3
"""Share of the curvature along a row by which that of few coordinates differs from the mean."""

LONGEST = 1e-5
"""The longest differences."""

EXPLAINED = 1e-3
"""Rows over all coordinates are explained up to this share."""

SEEDS, MOST_APART = 1.5, 60
"""Coordinates with a slope that are expected among those that are looked at first, and how many
of these there are at most."""

SPARE = 3
"""Rows beyond the number of candidates after which a block is given up."""

FIRST_DENSITY = 0.3
"""Share of the candidates that is expected to matter, before any is known."""


def sense_by_growth(sensing: SensingRound, structure: Connected) -> Steps[Slopes | None]:
    """Find all slopes, or None where more coordinates have one than may stay or some are apart."""
    growth = _Growth(sensing, structure)
    yield from growth.measure_support()
    while not growth.is_explained:
        if len(growth.slopes) > structure.size + sensing.support.size or growth.failed:
            return None
        block = growth.next_block()
        if block.size:
            yield from growth.measure_block(block)
        elif not (yield from growth.find_seed()):
            return None
    values = np.zeros(structure.d)
    for i, slope in growth.slopes.items():
        values[i] = slope
    found = structure.whole(np.flatnonzero(values))
    if found.size > structure.size:
        found = structure.best(values**2, structure.size)
    sensing.context.explain(
        f"{sensing.cost} queries: slopes of {np.count_nonzero(values)} coordinates, found from "
        "one to the next."
    )
    order = np.argsort(-np.abs(values[found]), kind="stable")
    return Slopes(values, found[order], Confidence.RECOVERED, sensing.cost)


@dataclass
class _Growth:
    """Slopes so far, by coordinate; ``closed`` are coordinates that are known, or have none."""

    sensing: SensingRound
    structure: Connected
    slopes: dict[int, float] = field(default_factory=dict)
    failed: bool = False
    tested: int = 0
    seeds: int = 0

    def __post_init__(self) -> None:
        self.closed = np.ones(self.structure.d, dtype=bool)
        self.closed[self.structure.free] = False
        self.generator = self.sensing.context.generator()
        measured = self.sensing.measured
        everything = np.arange(self.structure.d)
        curved = self.sensing.noise.curvature * self.sensing.step
        # what is left of rows over many coordinates, and those rows
        self.rows = measured.columns(everything)
        self.rest = measured.slopes - curved
        self.size = float(np.abs(self.rest).max())

    @property
    def is_explained(self) -> bool:
        return bool((np.abs(self.rest) <= EXPLAINED * self.size + TOLERANCE * self.sensing.slope_noise).all())

    def measure(self, block: Indices, rows: Vector) -> Steps[Vector]:
        """Measure along rows over the coordinates ``block``."""
        indices = np.broadcast_to(block, rows.shape)
        directions = ArrayDirections(d=self.structure.d, indices=indices, values=rows)
        base = yield from self.sensing.base_point()
        step = self.step(block.size)
        y = (yield from self.sensing.context.differences(base, directions, step)) / step
        self.failed |= not bool(np.isfinite(y).all())
        return np.asarray(np.nan_to_num(y - step * self.bend * (rows**2).sum(axis=1)))

    @property
    def bend(self) -> float:
        """What curvature adds to a difference along an axis, per length."""
        return self.sensing.noise.curvature / self.structure.free.size

    def step(self, n: int) -> float:
        """Return the length of differences along n coordinates that errs least."""
        sensing = self.sensing
        if self.structure.bounded or self.bend == 0:
            return sensing.step
        balanced = math.sqrt(3 * sensing.rounding / (UNEVEN * abs(self.bend) * n))
        return min(max(balanced, sensing.step), LONGEST)

    def noise(self, n: int) -> float:
        """Return what slopes along n coordinates may be off."""
        step = self.step(n)
        rounding = 3 * self.sensing.rounding / step
        return TOLERANCE * (rounding + UNEVEN * abs(self.bend) * n * step)

    def random_rows(self, count: int, n: int) -> Vector:
        """Return rows of which no two columns are alike, however few they are."""
        signs = self.generator.choice(np.array([-1.0, 1.0]), (count, n))
        return np.asarray(signs * self.generator.uniform(0.5, 1.0, (count, n)))

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

    def close(self, coordinates: Indices, slopes: Vector) -> None:
        """Take these slopes as known, zero ones included."""
        self.closed[coordinates] = True
        self.rest = self.rest - self.rows[:, coordinates] @ slopes
        for i, slope in zip(coordinates.tolist(), slopes.tolist(), strict=True):
            if slope:
                self.slopes[i] = slope

    @property
    def inside(self) -> list[int]:
        """The coordinates that others may be next to."""
        return [*self.sensing.support.tolist(), *self.slopes]

    def open_neighbors(self, node: int) -> list[int]:
        """Return the coordinates next to one of which nothing is known."""
        return [j for j in self.structure.neighbors(node) if not self.closed[j]]

    def next_block(self) -> Indices:
        """Return candidates, those next to known coordinates first, then those behind them."""
        found = [i for i in self.structure.roots if not self.closed[i]]
        seen = set(found)
        for node in itertools.chain(self.inside, found):  # which grows
            if len(found) >= BLOCK:
                break
            new = [j for j in self.open_neighbors(node) if j not in seen]
            found += new
            seen.update(new)
        return np.array(found[:BLOCK], dtype=np.intp)

    def measure_block(self, block: Indices) -> Steps[None]:
        """Find out which candidates of a block have a slope, all of them if need be."""
        share = (len(self.slopes) + 1) / (self.tested + 1 / FIRST_DENSITY)
        first = max(1, round(0.5 * share * block.size))  # a set with fewer would be seen too late
        yield from self.decide(block, self.connected_sets(block), first)
        self.tested += block.size

    def find_seed(self) -> Steps[bool]:
        """Find coordinates with a slope anywhere; False if there may be no further ones.

        Of random coordinates, so many that few are expected to have a slope, any few may.
        """
        if self.seeds == self.structure.parts:
            return False
        self.seeds += 1
        known, share = len(self.slopes), SEEDS / self.structure.size
        while len(self.slopes) == known and not self.closed.all():
            rest = np.flatnonzero(~self.closed)
            count = min(max(1, round(share * rest.size)), MOST_APART)
            block = self.generator.choice(rest, min(count, rest.size), replace=False)
            decided = yield from self.decide(block, _small_sets(block.size))
            share *= 2.0 if decided else 0.5
        return len(self.slopes) > known

    def decide(self, block: Indices, sets: Vector, first: int = 1) -> Steps[bool]:
        """Measure along rows over a block until only one of some sets explains them.

        A set with n coordinates takes n + 1 rows. False if none of the sets does.
        """
        rows, y = np.empty((0, block.size)), np.empty(0)
        sizes = sets.sum(axis=1)
        size, rivals = 0, sets[:0]
        while len(rivals) != 1:
            if size > sizes.max() or y.size > block.size + SPARE:
                return False
            more = self.random_rows(1 if y.size else first, block.size)
            rows, y = np.vstack([rows, more]), np.append(y, (yield from self.measure(block, more)))
            rivals = self.explaining(rivals, rows, y)  # those that explained all rows before
            while not len(rivals) and size < min(y.size, block.size):
                rivals = self.explaining(sets[sizes == size], rows, y)
                size += 1
            if not len(rivals) and y.size >= block.size:
                rivals = np.ones((1, block.size), dtype=bool)
        slopes = np.zeros(block.size)
        chosen = rivals[0]
        slopes[chosen] = np.linalg.lstsq(rows[:, chosen], y, rcond=None)[0]
        self.close(block, slopes)
        return True

    def explaining(self, sets: Vector, rows: Vector, y: Vector) -> Vector:
        """Return the sets of columns that explain ``y``, or nearly; all have the same size."""
        if not len(sets):
            return sets
        size = int(sets[0].sum())
        columns = np.nonzero(sets)[1].reshape(len(sets), size)
        q, _ = np.linalg.qr(rows.T[columns].transpose(0, 2, 1))
        miss = y - np.einsum("nij,nj->ni", q, np.einsum("nij,i->nj", q, y))
        error, noise = np.abs(miss).max(axis=1), self.noise(rows.shape[1])
        return sets[error <= AMBIGUOUS * noise] if (error <= noise).any() else sets[:0]

    def connected_sets(self, block: Indices) -> Vector:
        """Return all sets of candidates that known coordinates lead to, as rows of a mask."""
        place = {int(node): i for i, node in enumerate(block)}

        def bits(nodes: Iterable[int]) -> int:
            return sum(1 << place[j] for j in nodes if j in place)

        start = bits(self.structure.roots)
        for node in self.inside:
            start |= bits(self.structure.neighbors(node))
        leads = [bits(self.structure.neighbors(int(node))) for node in block]
        masks = np.arange(1 << block.size)
        reached = masks & start
        for _ in range(block.size):
            more = reached.copy()
            for i, to in enumerate(leads):
                more |= np.where(reached >> i & 1, masks & to, 0)
            if np.array_equal(more, reached):
                break
            reached = more
        whole = masks[reached == masks]
        return (whole[:, np.newaxis] >> np.arange(block.size) & 1).astype(bool)


def _small_sets(n: int) -> Vector:
    """Return all sets of at most three of n candidates, as rows of a mask."""
    chosen = [c for size in range(4) for c in itertools.combinations(range(n), size)]
    sets = np.zeros((len(chosen), n), dtype=bool)
    for row, members in zip(sets, chosen, strict=True):
        row[list(members)] = True
    return sets
