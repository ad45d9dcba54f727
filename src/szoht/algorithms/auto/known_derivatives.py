"""Derivatives that are known: the last gradients, and entries of the Hessian."""

from dataclasses import dataclass, field

import numpy as np

from szoht.types import Indices, Sample, Vector

__all__ = ["GradientMemory", "KnownHessian"]

MOST_GRADIENTS, GRADIENT_VALUES = 32, 2**22
"""Gradients that are remembered, at most, and their entries all together."""


@dataclass
class GradientMemory:
    """The last gradients, each with its point and its sample; a few, whatever the dimension."""

    entries: list[tuple[Vector, Sample, Vector]] = field(default_factory=list)

    def add(self, x: Vector, sample: Sample, gradient: Vector) -> None:
        """Remember a gradient, in place of the oldest one."""
        self.entries.insert(0, (x, sample, gradient))
        del self.entries[max(2, min(MOST_GRADIENTS, GRADIENT_VALUES // x.size)) :]

    def find(self, x: Vector, sample: Sample) -> Vector | None:
        """Return the gradient at a point, None if it is not known."""
        for point, on, gradient in self.entries:
            if on is sample and np.array_equal(point, x):
                return gradient
        return None


@dataclass
class KnownHessian:
    """Entries of the Hessian that are known, in the user's coordinates: rows, NaN elsewhere.

    They are those of wherever they were measured first, ``point`` or later ones. ``reliable``: what
    they promised has come true, so that they need not be measured again. ``scale_free``: whether f
    is the same at all multiples of a point, None until that was looked at, and ``sums`` whether it
    may then be a function of x / sum(x).
    """

    rows: dict[int, Vector] = field(default_factory=dict)
    point: Vector | None = None
    reliable: bool = False
    scale_free: bool | None = None
    sums: bool = True

    def begin(self, x: Vector) -> None:
        """Remember where the first entries are measured."""
        self.point = self.point if self.rows else x

    def is_of(self, x: Vector) -> bool:
        """Tell whether the first entries were measured at a point."""
        return self.point is not None and np.array_equal(self.point, x)

    def forget(self) -> None:
        """Forget all entries."""
        self.rows.clear()
        self.reliable = False

    def add_row(self, i: int, row: Vector) -> None:
        """Remember a whole row."""
        self.rows[i] = row

    def add(self, pairs: Indices, values: Vector, d: int) -> None:
        """Remember the entries at ``pairs`` (n, 2), and by symmetry those across."""
        for i in np.unique(pairs):
            self.rows.setdefault(int(i), np.full(d, np.nan))
        for (i, j), value in zip(pairs, values, strict=True):
            self.rows[int(i)][j] = self.rows[int(j)][i] = value

    def missing_rows(self, coordinates: Indices) -> Indices:
        """Return the coordinates whose rows are not known at all."""
        return np.array([i for i in coordinates if int(i) not in self.rows], dtype=np.intp)

    def missing_pairs(self, coordinates: Indices) -> Indices:
        """Return the pairs of coordinates, each once, whose entries are not known."""
        i, j = np.nonzero(np.triu(np.isnan(self.block(coordinates))))
        return np.column_stack([coordinates[i], coordinates[j]])

    def block(self, coordinates: Indices) -> Vector:
        """Return the Hessian on some coordinates."""
        unknown = np.full(coordinates.size, np.nan)
        rows = [self.rows.get(int(i)) for i in coordinates]
        return np.array([unknown if row is None else row[coordinates] for row in rows])
