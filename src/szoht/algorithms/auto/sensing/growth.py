"""Slopes of coordinates that are next to each other: known ones outwards, block by block.

Where the coordinates that matter are connected, those next to known ones are worth a look, and all
others are not. A block of few candidates is measured along random rows until one set of them, no
other, explains all rows: one row more than it has coordinates, since few connected sets are left
to choose from. Rows over all coordinates, measured before, tell when everything is found.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.records import Confidence, Slopes, Steps
from szoht.algorithms.auto.sensing.round import SensingRound
from szoht.algorithms.auto.structures.connected import Connected
from szoht.core.directions import ArrayDirections
from szoht.types import Indices, Vector

__all__ = ["sense_by_growth"]

BLOCK = 12
"""Candidates in a block: all 2^12 sets of them are compared."""

TOLERANCE, AMBIGUOUS = 3.0, 20.0
"""Misses up to so many standard deviations are noise; up to so many times that, they may be."""

EXPLAINED = 1e-3
"""Rows over all coordinates are explained up to this share."""

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
    def noise(self) -> float:
        return TOLERANCE * self.sensing.slope_noise

    @property
    def is_explained(self) -> bool:
        return bool((np.abs(self.rest) <= EXPLAINED * self.size + self.noise).all())

    def measure(self, block: Indices, rows: Vector) -> Steps[Vector]:
        """Measure along rows over the coordinates ``block``."""
        indices = np.broadcast_to(block, rows.shape)
        directions = ArrayDirections(d=self.structure.d, indices=indices, values=rows)
        y = yield from self.sensing.slopes(directions)
        self.failed |= not bool(np.isfinite(y).all())
        curved = self.sensing.noise.curvature * self.sensing.step / self.structure.free.size
        return np.asarray(np.nan_to_num(y - curved * (rows**2).sum(axis=1)))

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
        if abs(first) > self.noise:
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
        """Measure along rows over a block until only one set of candidates explains them."""
        sets = self.connected_sets(block)
        share = (len(self.slopes) + 1) / (self.tested + 1 / FIRST_DENSITY)
        first = max(1, min(round(share * block.size) - 1, block.size))
        rows, y = np.empty((0, block.size)), np.empty(0)
        size, rivals = 0, np.empty((0, block.size), dtype=bool)
        while y.size < block.size + 3:
            more = self.random_rows(first if not y.size else 1, block.size)
            rows, y = np.vstack([rows, more]), np.append(y, (yield from self.measure(block, more)))
            if len(rivals):  # several sets explained all rows but the new one
                rivals = self.explaining(rivals, rows, y)
            while not len(rivals) and size < min(y.size, block.size):
                rivals = self.explaining(sets[sets.sum(axis=1) == size], rows, y)
                size += 1
            if not len(rivals) and y.size >= block.size:
                rivals = np.ones((1, block.size), dtype=bool)
            if len(rivals) == 1:
                break
        slopes = np.zeros(block.size)
        chosen = rivals[0]
        slopes[chosen] = np.linalg.lstsq(rows[:, chosen], y, rcond=None)[0]
        self.tested += block.size
        self.close(block, slopes)

    def explaining(self, sets: Vector, rows: Vector, y: Vector) -> Vector:
        """Return the sets of columns that explain ``y``, or nearly; all have the same size."""
        if not len(sets):
            return sets
        size = int(sets[0].sum())
        columns = np.nonzero(sets)[1].reshape(len(sets), size)
        q, _ = np.linalg.qr(rows.T[columns].transpose(0, 2, 1))
        miss = y - np.einsum("nij,nj->ni", q, np.einsum("nij,i->nj", q, y))
        error = np.abs(miss).max(axis=1)
        return sets[error <= AMBIGUOUS * self.noise] if (error <= self.noise).any() else sets[:0]

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

    def find_seed(self) -> Steps[bool]:
        """Find one coordinate with a slope by halves; False if there may be no further one."""
        if self.seeds == self.structure.parts:
            return False
        self.seeds += 1
        weights = self.random_rows(1, self.structure.d)[0]
        part = self.generator.permutation(np.flatnonzero(~self.closed))
        while part.size > 1:
            half, other = np.array_split(part, 2)
            (y,) = yield from self.measure(half, weights[np.newaxis, half])
            if abs(y) <= self.noise:
                self.closed[half] = True
                part = other
                continue
            part, row = half, np.zeros(self.structure.d)
            row[half] = weights[half]
            self.rows, self.rest = np.vstack([self.rows, row]), np.append(self.rest, y)
        if not part.size:
            return False
        self.close(part, (yield from self.measure(part, np.ones((1, 1)))))
        return not self.failed
