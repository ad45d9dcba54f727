"""Distributions of directions: each samples one block, given its generator."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from szoht.core.random import draw_supports
from szoht.types import Indices, Vector

__all__ = [
    "Distribution",
    "GaussianDistribution",
    "OrthogonalDistribution",
    "RademacherDistribution",
    "SphereDistribution",
    "rows_per_block",
]

BLOCK_VALUES = 2**16
"""Values per block with a key of its own: fits the cache, and seeding it costs about 3 %."""


def rows_per_block(width: int) -> int:
    """Return how many directions of ``width`` values fill a block."""
    return max(1, BLOCK_VALUES // width)


class Distribution(Protocol):
    """A distribution of directions. Frozen and small: it is sent to workers in place of arrays."""

    def block_rows(self, d: int, count: int) -> int:
        """Return how many directions share one key."""
        ...

    def width(self, d: int) -> int:
        """Return how many coordinates one direction moves."""
        ...

    def draw(self, generator: np.random.Generator, *, d: int, out: Vector) -> Indices | None:
        """Draw the directions of one block into the rows of ``out``; return their coordinates."""
        ...


@dataclass(frozen=True, kw_only=True)
class SphereDistribution:
    """Unit vectors on random supports: E[u u^T] = I/d for every ``support_size``."""

    support_size: int

    def block_rows(self, d: int, count: int) -> int:
        """Return how many directions share one key."""
        del d, count
        return rows_per_block(self.support_size)

    def width(self, d: int) -> int:
        """Return how many coordinates one direction moves."""
        del d
        return self.support_size

    def draw(self, generator: np.random.Generator, *, d: int, out: Vector) -> Indices | None:
        """Draw a fresh support for each direction, then a uniform unit vector on it."""
        # a standard normal vector divided by its length is uniform on the sphere
        generator.standard_normal(out=out)
        out *= (1 / np.sqrt(np.vecdot(out, out)))[:, np.newaxis]
        count, size = out.shape
        return None if size == d else draw_supports(generator, d=d, size=size, count=count)


@dataclass(frozen=True, kw_only=True)
class OrthogonalDistribution:
    """Groups of orthonormal directions, each of them distributed as in `SphereDistribution`.

    A group has m = floor(d / support_size) disjoint random supports, and up to ``support_size``
    orthonormal directions on each; direction i lies on support i mod m. With ``support_size = d``
    this is one Haar-distributed orthonormal basis. Groups beyond the first are independent.
    """

    support_size: int

    def block_rows(self, d: int, count: int) -> int:
        """Return how many directions share one key: all that can be orthogonal."""
        return min(count, self.support_size * (d // self.support_size))

    def width(self, d: int) -> int:
        """Return how many coordinates one direction moves."""
        del d
        return self.support_size

    def draw(self, generator: np.random.Generator, *, d: int, out: Vector) -> Indices | None:
        """Draw one group of orthonormal directions."""
        count, size = out.shape
        n_supports = min(count, d // size)
        per_support = math.ceil(count / n_supports)
        bases = _orthonormal(generator.standard_normal((n_supports, size, per_support)))
        # Direction i is column i // n_supports of the basis of support i mod n_supports.
        out[:] = bases.transpose(2, 0, 1).reshape(-1, size)[:count]
        if size == d:
            return None
        chosen = draw_supports(generator, d=d, size=n_supports * size, count=1)[0]
        supports = generator.permutation(chosen).reshape(n_supports, size)
        return np.tile(supports, (per_support, 1))[:count]


class _DenseDistribution:
    """What distributions share whose directions move all coordinates."""

    def block_rows(self, d: int, count: int) -> int:
        """Return how many directions share one key."""
        del count
        return rows_per_block(d)

    def width(self, d: int) -> int:
        """Return how many coordinates one direction moves: all."""
        return d


@dataclass(frozen=True, kw_only=True)
class GaussianDistribution(_DenseDistribution):
    """Standard normal vectors: E[u u^T] = I."""

    def draw(self, generator: np.random.Generator, *, d: int, out: Vector) -> Indices | None:
        """Draw independent standard normal entries."""
        del d
        generator.standard_normal(out=out)
        return None


@dataclass(frozen=True, kw_only=True)
class RademacherDistribution(_DenseDistribution):
    """Vectors of independent random signs: E[u u^T] = I, and every entry is +1 or -1."""

    def draw(self, generator: np.random.Generator, *, d: int, out: Vector) -> Indices | None:
        """Draw independent signs."""
        del d
        np.multiply(generator.integers(2, size=out.shape, dtype=np.int8), 2.0, out=out)
        out -= 1
        return None


def _orthonormal(normals: Vector) -> Vector:
    """Return Haar-distributed orthonormal columns, given a stack of normal matrices."""
    basis, triangle = np.linalg.qr(normals)
    # QR is unique, and its Q Haar-distributed, only once the diagonal of R is made positive.
    signs = np.where(np.diagonal(triangle, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    result: Vector = basis * signs[..., np.newaxis, :]
    return result
