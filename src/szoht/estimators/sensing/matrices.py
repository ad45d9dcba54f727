"""Measurement matrices, known by their products: what all recoveries ask of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from szoht.core.directions import Directions, weighted_sum
from szoht.errors import ParameterError
from szoht.types import Indices, Mask, Vector

__all__ = ["DenseMatrix", "Matrix", "SignMatrix", "gram_rows", "without_mean"]

STACK_SIGNS = 2**22
"""Signs in one matrix product, in single precision: 16 MB."""


class Matrix(Protocol):
    """A matrix with one row per measurement.

    It may have ``gram_rows(support)`` where that takes less than products with each column.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """How many measurements, of how many coordinates."""
        ...

    def correlate(self, weights: Vector) -> Vector:
        """Return the transposed matrix times ``weights``."""
        ...

    def columns(self, support: Indices) -> Vector:
        """Return the columns at the coordinates ``support``."""
        ...


def gram_rows(matrix: Matrix, support: Indices) -> Vector:
    """Return the inner products of the columns at ``support`` with all columns."""
    products = getattr(matrix, "gram_rows", None)
    if products is not None:
        return np.asarray(products(support))
    return np.array([matrix.correlate(column) for column in matrix.columns(support).T])


@dataclass(frozen=True, eq=False)
class DenseMatrix:
    """A matrix given as an array."""

    array: Vector

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or 0 in self.array.shape:  # noqa: PLR2004
            raise ParameterError(
                f"`matrix` must have shape (m, d) with m, d >= 1; got {self.array.shape}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """How many measurements, of how many coordinates."""
        m, d = self.array.shape
        return m, d

    def correlate(self, weights: Vector) -> Vector:
        """Return the transposed matrix times ``weights``."""
        return weights @ self.array

    def columns(self, support: Indices) -> Vector:
        """Return the columns at the coordinates ``support``."""
        return self.array[:, support]

    def gram_rows(self, support: Indices) -> Vector:
        """Return the inner products of the columns at ``support`` with all columns."""
        product: Vector = self.columns(support).T @ self.array
        return product


@dataclass(frozen=True, kw_only=True, eq=False)
class SignMatrix:
    """The matrix whose rows are those directions of signs that were answered.

    With ``centered``, every column has its mean taken off; weights must then add up to zero, as
    measurements and residuals without their mean do. The signs of ZORO are independent, as its
    theory has them; those of `HadamardRows` are not, and have a fast transform instead.
    """

    directions: Directions
    valid: Mask
    centered: bool

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows were answered, and d."""
        return int(np.count_nonzero(self.valid)), self.directions.d

    def correlate(self, weights: Vector) -> Vector:
        """Return the transposed matrix times ``weights``."""
        all_weights = np.zeros(self.directions.count)
        all_weights[self.valid] = weights
        return weighted_sum(self.directions, all_weights)

    def columns(self, support: Indices) -> Vector:
        """Return the columns at the coordinates ``support``."""
        slices = self.directions.slices(0, self.directions.count)
        chosen = np.concatenate([values[:, support] for _, values in slices])[self.valid].T
        return (without_mean(chosen) if self.centered else chosen).T

    def gram_rows(self, support: Indices) -> Vector:
        """Return the inner products of the columns at ``support`` with all columns."""
        m, d = self.shape
        products = np.zeros((support.size, d), dtype=np.float32)
        # Inner products of signs are integers: exact in single precision, and twice as fast.
        for signs in self._signs():
            products += signs[:, support].T @ signs
        if not self.centered:
            return products.astype(np.float64)
        sums = self.correlate(np.ones(m))
        return products - np.outer(sums[support] / m, sums)

    def _signs(self) -> Iterator[NDArray[np.float32]]:
        """Yield the rows in stacks that are large enough for fast products."""
        step = max(1, STACK_SIGNS // self.directions.d)
        for start in range(0, self.directions.count, step):
            stop = min(start + step, self.directions.count)
            stack = np.empty((stop - start, self.directions.d), dtype=np.float32)
            row = 0
            for _, values in self.directions.slices(start, stop):
                stack[row : row + len(values)] = values
                row += len(values)
            valid = self.valid[start:stop]
            yield stack if valid.all() else stack[valid]


def without_mean(rows: Vector) -> Vector:
    """Return the rows, or the one row, with its mean taken off."""
    centered: Vector = rows - rows.mean(axis=-1, keepdims=True)
    return centered
