"""Values for the noisy regime: asked in bulk, and kept for later fits."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.records import Steps
from szoht.types import Indices, Vector

__all__ = ["LONGEST", "Values"]

LONGEST = 4.0
"""Length of probes, and radius of regressions, in reaches, where there are no bounds."""

MAX_POOLED_POINTS = 20_000
"""Sparse points that are kept for regressions."""


@dataclass(kw_only=True, eq=False)
class Values:
    """Asks for values at points in units of ``reach``, within bounds.

    ``ask`` evaluates a stack of points. ``reach`` is half of a finite box, else one unit. ``left``
    tells how many more values may be asked, ``price`` how many one point takes (two where outliers
    are sorted out by asking again).
    """

    ask: Callable[[Vector], Steps[Vector]]
    left: Callable[[], int]
    reach: Vector
    low: Vector
    high: Vector
    price: int = 1
    policy: Policy = field(default_factory=Policy)
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
        return max(0, min(count, self.left() // self.price))

    def clip(self, x: Vector) -> Vector:
        """Return the nearest point within the bounds."""
        return np.clip(x, self.low, self.high)

    def rescaled(self, scale: Vector) -> "Values":
        """Return these values in units that are larger by ``scale``."""
        return replace(
            self,
            reach=self.reach * scale,
            low=self.low / scale,
            high=self.high / scale,
            entries=[
                entries / scale[on] for on, entries in zip(self.supports, self.entries, strict=True)
            ],
        )

    def at(self, points: Vector) -> Steps[Vector]:
        """Ask for values at a stack of points."""
        return (yield from self.ask(points * self.reach))

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
        if np.isfinite(value) and len(self.found) < MAX_POOLED_POINTS:
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
