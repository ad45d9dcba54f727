"""Values for the noisy regime: asked in bulk, repeated where outliers occur, kept for later fits."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

from szoht.algorithms.auto.location import agreed
from szoht.queries import Answer, Plan
from szoht.types import Indices, Vector

__all__ = ["Steps", "Values"]

T = TypeVar("T")
Steps: TypeAlias = Generator[Plan, Sequence[Answer], T]

REPEATS = 5
"""A point of a function with outliers is asked at most this many times."""

POOLED = 20_000
"""Sparse points that are kept for regressions."""


@dataclass(kw_only=True, eq=False)
class Values:
    """Asks for values at points in units of ``reach``, within bounds.

    ``ask`` evaluates a stack of points. ``reach`` is half of a finite box, else one unit. ``left``
    tells how many more values may be asked; ``outliers`` that each is asked until two agree.
    """

    ask: Callable[[Vector], Steps[Vector]]
    left: Callable[[], int]
    reach: Vector
    low: Vector
    high: Vector
    outliers: bool = False
    tolerance: float = 0.0
    supports: list[Indices] = field(default_factory=list)
    entries: list[Vector] = field(default_factory=list)
    found: list[float] = field(default_factory=list)

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return self.reach.size

    @property
    def unbounded(self) -> bool:
        """Whether no coordinate has a bound."""
        return not (np.isfinite(self.low).any() or np.isfinite(self.high).any())

    def affordable(self, count: int) -> int:
        """Return how many of ``count`` points may still be asked."""
        return max(0, min(count, self.left() // (2 if self.outliers else 1)))

    def clip(self, x: Vector) -> Vector:
        """Return the nearest point within the bounds."""
        return np.clip(x, self.low, self.high)

    def at(self, points: Vector) -> Steps[Vector]:
        """Ask for values at a stack of points."""
        seen = (yield from self.ask(points * self.reach))[:, np.newaxis]
        if not self.outliers:
            return seen[:, 0]
        result = np.full(len(points), np.nan)
        open_points = np.arange(len(points))
        while open_points.size and seen.shape[1] < REPEATS:
            count = self.affordable(2 * open_points.size)
            if count < open_points.size:
                break
            more = yield from self.ask(points[open_points] * self.reach)
            seen = np.column_stack([seen, more])
            pairs = [agreed(row, self.tolerance) for row in seen]
            result[open_points] = [np.nan if pair is None else pair for pair in pairs]
            undecided = np.array([pair is None for pair in pairs])
            open_points, seen = open_points[undecided], seen[undecided]
        if open_points.size:
            result[open_points] = np.median(seen, axis=1)
        return result

    def sparse_at(self, points: Vector, support: Indices) -> Steps[Vector]:
        """Ask for values at points that are zero off ``support``, and keep them for regressions."""
        full = np.zeros((len(points), self.d))
        full[:, support] = points
        values = yield from self.at(full)
        for point, value in zip(points, values, strict=True):
            self.keep(support[point != 0], point[point != 0], float(value))
        return values

    def keep(self, support: Indices, entries: Vector, value: float) -> None:
        """Keep the value of a sparse point."""
        if np.isfinite(value) and len(self.found) < POOLED:
            self.supports.append(support)
            self.entries.append(entries)
            self.found.append(value)

    def pooled(self, support: Indices) -> tuple[Vector, Vector]:
        """Return all kept points that are zero off ``support``, and their values."""
        place = np.full(self.d, -1)
        place[support] = np.arange(support.size)
        rows, values = [], []
        for indices, entries, value in zip(self.supports, self.entries, self.found, strict=True):
            if (place[indices] >= 0).all():
                row = np.zeros(support.size)
                row[place[indices]] = entries
                rows.append(row)
                values.append(value)
        return np.array(rows).reshape(-1, support.size), np.array(values)
