"""Slopes along structured rows, in batches: a measurement matrix and its right-hand side."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.estimators.sensing.given import GivenRows
from szoht.estimators.sensing.rows import FourierRows, RowSlice
from szoht.types import Indices, Mask, Vector

__all__ = ["Measurements"]


@dataclass(frozen=True, eq=False)
class Measurements:
    """Slopes ``y_i = <u_i, g> + c_i`` along rows u_i, in several batches.

    Rows and slopes are used after weighting, so that every entry has mean square 1. The c_i are
    what curvature adds: the same for all rows of signs, half of it for waves, and in proportion to
    their lengths for given rows.
    """

    batches: tuple[tuple[RowSlice, Vector], ...] = ()

    @cached_property
    def slopes(self) -> Vector:
        """All slopes, weighted, in the order in which they were measured."""
        parts = [y * math.sqrt(rows.rows.weight) for rows, y in self.batches]
        y = np.concatenate(parts) if parts else np.empty(0)
        return np.where(np.isfinite(y), y, 0.0)

    @cached_property
    def valid(self) -> Mask | None:
        """Which slopes are finite, None if all are; the rows of the others count as zero."""
        finite = np.concatenate([np.isfinite(y) for _, y in self.batches] or [np.ones(0, bool)])
        return None if finite.all() else finite

    @cached_property
    def common(self) -> Vector:
        """The column of what all measurements have in common."""
        parts = []
        for rows, y in self.batches:
            part = np.full(y.size, 1 / math.sqrt(rows.rows.weight))
            if isinstance(rows.rows, FourierRows) and rows.start == 0:
                part[0] = math.sqrt(rows.rows.weight)
            elif isinstance(rows.rows, GivenRows):
                part = rows.rows.lengths[rows.start : rows.start + rows.count]
            parts.append(part)
        common = np.concatenate(parts) if parts else np.empty(0)
        return common if self.valid is None else common * self.valid

    @property
    def kinds(self) -> Vector | None:
        """Which are waves, and which of them the constant one; None if all are signs.

        One column for each. A kink, such as that of ||x||_1 at zero, adds another amount to each
        kind: the sum of the sizes of a row's entries.
        """
        parts = []
        for rows, y in self.batches:
            is_wave = isinstance(rows.rows, FourierRows)
            part = np.zeros((y.size, 2))
            part[:, 0] = is_wave
            if is_wave and rows.start == 0:
                part[0] = 0.0, 1.0
            parts.append(part)
        columns = np.concatenate(parts) if parts else np.empty((0, 2))
        return columns if columns.any() else None

    @property
    def centered(self) -> Vector:
        """The slopes without what all of them have in common."""
        y, common = self.slopes, self.common
        return np.asarray(y - (common @ y) / max(float(common @ common), 1e-300) * common)

    @property
    def size(self) -> int:
        """How many slopes there are."""
        return int(self.slopes.size)

    @property
    def shape(self) -> tuple[int, int]:
        """How many slopes there are, and the dimension."""
        return self.size, self.batches[0][0].d

    def more(self, rows: RowSlice, slopes: Vector) -> "Measurements":
        """Return these and others."""
        return Measurements((*self.batches, (rows, slopes)))

    def after(self, others: "Measurements") -> "Measurements":
        """Return others, and then these."""
        return Measurements((*others.batches, *self.batches))

    def correlate(self, weights: Vector) -> Vector:
        """Return sum_i weights_i u_i."""
        total: Vector | float = 0.0
        first = 0
        if self.valid is not None:
            weights = weights * self.valid
        for rows, y in self.batches:
            part = weights[first : first + y.size]
            first += y.size
            if part.any():
                total = total + rows.correlate(part * math.sqrt(rows.rows.weight))
        return np.asarray(total) if np.ndim(total) else np.zeros(self.batches[0][0].d)

    def columns(self, support: Indices) -> Vector:
        """Return the matrix of the u_i, restricted to the coordinates ``support``."""
        columns = np.concatenate(
            [rows.columns(support) * math.sqrt(rows.rows.weight) for rows, _ in self.batches]
        )
        return columns if self.valid is None else columns * self.valid[:, np.newaxis]
