"""Matrices of rank r as a manifold: tangent spaces, the way back to it, and probes of rank one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from szoht.core.directions import Directions, Offsets
from szoht.core.distributions import rows_per_block
from szoht.types import Vector

__all__ = ["OuterProducts", "TangentSpace", "truncated"]


@dataclass(frozen=True, kw_only=True, eq=False)
class OuterProducts:
    """The directions ``left[i] right[i]'``, flattened, each made when it is its turn."""

    left: Vector
    right: Vector

    @property
    def d(self) -> int:
        """The number of entries of a matrix."""
        return int(self.left.shape[1] * self.right.shape[1])

    @property
    def count(self) -> int:
        """How many directions there are."""
        return int(self.left.shape[0])

    @property
    def block_rows(self) -> int:
        """How many directions a slice holds."""
        return rows_per_block(self.d)

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop``."""
        for first in range(start, stop, self.block_rows):
            last = min(first + self.block_rows, stop)
            left, right = self.left[first:last, :, np.newaxis], self.right[first:last, np.newaxis]
            yield Offsets(None, (left * right).reshape(last - first, self.d))

    def recycle(self, previous: Directions | None) -> None:
        """Nothing is kept."""


def truncated(matrix: Vector, r: int) -> tuple[Vector, Vector, Vector]:
    """Return U, s and V of the r largest singular values: the nearest matrix is (U * s) @ V.T."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return left[:, :r], values[:r], right[:r].T


@dataclass(frozen=True, eq=False)
class TangentSpace:
    """The directions ``A V' + U B'`` at a matrix whose columns U and rows V' span, B'V = 0.

    There are r (p + q - r) of them that are independent. An inner product with a matrix G needs
    ``G V`` and ``U'G`` only: slopes along products of rank one tell these.
    """

    matrix: Vector
    r: int

    @cached_property
    def _factors(self) -> tuple[Vector, Vector, Vector]:
        return truncated(self.matrix, self.r)

    @property
    def columns(self) -> Vector:
        """U."""
        return self._factors[0]

    @property
    def values(self) -> Vector:
        """The singular values."""
        return self._factors[1]

    @property
    def rows(self) -> Vector:
        """V."""
        return self._factors[2]

    @cached_property
    def _other_rows(self) -> Vector:
        """A basis of what is orthogonal to V."""
        return np.asarray(np.linalg.qr(self.rows, mode="complete")[0][:, self.r :])

    def probes(self) -> OuterProducts:
        """Return a basis of the tangent space, of products of rank one."""
        p, q = self.matrix.shape
        r, columns, rows = self.r, self.columns.T, self.rows.T
        left = np.vstack([np.tile(np.eye(p), (r, 1)), np.repeat(columns, q - r, 0)])
        right = np.vstack([np.repeat(rows, p, 0), np.tile(self._other_rows.T, (r, 1))])
        return OuterProducts(left=left, right=right)

    def gradient(self, slopes: Vector) -> Vector:
        """Return the tangent part of the gradient, as a matrix, from its slopes along `probes`."""
        p, q = self.matrix.shape
        along = slopes[: p * self.r].reshape(self.r, p)
        across = slopes[p * self.r :].reshape(self.r, q - self.r)
        return np.asarray(along.T @ self.rows.T + self.columns @ (across @ self._other_rows.T))

    def project(self, matrix: Vector) -> Vector:
        """Return the tangent part of a matrix."""
        inside = self.columns.T @ matrix
        across = inside - (inside @ self.rows) @ self.rows.T
        return np.asarray((matrix @ self.rows) @ self.rows.T + self.columns @ across)

    def retract(self, step: Vector) -> Vector:
        """Return the matrix of rank r that is nearest to the end of a step."""
        left, values, right = truncated(self.matrix + step, self.r)
        return np.asarray((left * values) @ right.T)
