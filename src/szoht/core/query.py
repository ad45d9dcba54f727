"""What an objective is evaluated at and what it returns: Query, Plan, Answer, Estimate."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self, cast

import numpy as np

from szoht.core.directions import Directions, Offsets
from szoht.core.implicit import ImplicitPoint, ImplicitSigns
from szoht.core.sparse_vector import SparseVector
from szoht.errors import CapabilityError
from szoht.types import Mask, Sample, Vector

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Answer", "Estimate", "Plan", "Query", "Stage"]

STACK_VALUES = 2**14
"""Points that are evaluated one at a time are built in stacks of this many numbers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Query:
    """One base point, one sample, one radius: every point of a finite difference shares them.

    The points, in this order: the base (if ``with_base``), ``base + radius * u`` for each
    direction u, and ``base - radius * u`` for each of them (if ``mirrored``). They are sparse if
    the base is.
    """

    base: Vector
    sample: Sample = None
    directions: Directions | None = None
    radius: float = 1.0
    with_base: bool = True
    mirrored: bool = False
    gradient: bool = False

    @cached_property
    def n_directions(self) -> int:
        """How many directions are probed."""
        return 0 if self.directions is None else self.directions.count

    @cached_property
    def n_points(self) -> int:
        """How many points are evaluated."""
        return int(self.with_base) + self.n_directions * (2 if self.mirrored else 1)

    @property
    def unit_cost(self) -> int:
        """Evaluations that one point costs: one, or one for each member of the sample."""
        return 1 if self.sample is None else int(self.sample.size)

    @property
    def is_implicit(self) -> bool:
        """Whether points have too many non-zeros to list: entries are looked up, ``x[indices]``."""
        return isinstance(self.base, SparseVector) and isinstance(self.directions, ImplicitSigns)

    def offsets(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the offsets from the base of points ``start`` to ``stop``, the base left out.

        They are scaled by the radius and signed: a point is exactly ``base + offset``.
        """
        for scale, (indices, values) in self._scaled_slices(start, stop):
            yield Offsets(indices, values * scale)

    def each(self, start: int = 0, stop: int | None = None) -> Iterator[Vector]:
        """Yield the points one at a time; the caller may keep and change them."""
        stop = self.n_points if stop is None else stop
        if isinstance(self.base, SparseVector):
            yield from self._sparse_points(start, stop)
            return
        rows = max(1, STACK_VALUES // self.base.size)
        for first in range(start, stop, rows):
            yield from self.points(first, min(first + rows, stop))

    def points(self, start: int = 0, stop: int | None = None) -> Vector:
        """Return the points ``start`` to ``stop`` as the rows of a dense array.

        If the base is a `SparseVector`, they are a list of such.
        """
        stop = self.n_points if stop is None else min(stop, self.n_points)
        if isinstance(self.base, SparseVector):
            return cast(Vector, list(self._sparse_points(start, stop)))
        result = np.empty((stop - start, self.base.size))
        row = int(self.with_base and start == 0 and stop > 0)
        result[:row] = self.base
        for scale, (indices, values) in self._scaled_slices(start, stop):
            block = result[row : row + len(values)]
            if indices is None:
                np.multiply(values, scale, out=block)
                block += self.base
            else:
                block[:] = self.base
                block[np.arange(len(values))[:, np.newaxis], indices] += values * scale
            row += len(values)
        return result

    def _sparse_points(self, start: int, stop: int) -> Iterator[Vector]:
        if self.with_base and start == 0 and stop > 0:
            yield self.base
        if isinstance(self.directions, ImplicitSigns):
            yield from self._implicit_points(self.directions, start, stop)
            return
        for scale, (indices, values) in self._scaled_slices(start, stop):
            assert indices is not None, "a part that stays sparse moves few coordinates"  # noqa: S101
            for where, entries in zip(indices, values * scale, strict=True):
                offset = SparseVector(self.base.size, where, entries)
                yield self.base + cast(Vector, offset)

    def _implicit_points(
        self, directions: ImplicitSigns, start: int, stop: int
    ) -> Iterator[Vector]:
        assert isinstance(self.base, SparseVector), "a dense point is written out"  # noqa: S101
        for scale, low, high in self._ranges(start, stop):
            for row in range(low, high):
                point = ImplicitPoint(base=self.base, directions=directions, row=row, scale=scale)
                yield cast(Vector, point)

    def _scaled_slices(self, start: int, stop: int) -> Iterator[tuple[float, Offsets]]:
        """Yield the directions behind the points ``start`` to ``stop``, with signed radius."""
        for scale, low, high in self._ranges(start, stop):
            assert self.directions is not None, "no range without directions"  # noqa: S101
            for offsets in self.directions.slices(low, high):
                yield scale, offsets

    def _ranges(self, start: int, stop: int) -> Iterator[tuple[float, int, int]]:
        """Yield which directions are behind the points ``start`` to ``stop``, and their scale."""
        first = int(self.with_base)
        for sign in (1.0, -1.0) if self.mirrored else (1.0,):
            low, high = max(start - first, 0), min(stop - first, self.n_directions)
            if low < high:
                yield sign * self.radius, low, high
            first += self.n_directions


class Stage(enum.Enum):
    """What a plan is for."""

    ESTIMATE = "estimate"
    SEARCH = "search"
    MEASURE = "measure"


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The queries of one round, in order. Its cost is known before anything is spent."""

    queries: tuple[Query, ...]
    stage: Stage = Stage.ESTIMATE

    @property
    def n_points(self) -> int:
        """How many points are evaluated."""
        return sum(query.n_points for query in self.queries)

    @property
    def cost(self) -> int:
        """Evaluations that the plan spends; a point on a sample of size b costs b."""
        return sum(query.n_points * query.unit_cost for query in self.queries)

    @property
    def gradients(self) -> int:
        """How many gradients are evaluated, at the same cost."""
        return sum(query.gradient * query.unit_cost for query in self.queries)

    def answered(self, values: Vector, gradient: Vector | None = None) -> "list[Answer]":
        """Return the answers, given the values of all points in the order of `points`.

        One number for each point, or one row of outputs.
        """
        ends = np.cumsum([query.n_points for query in self.queries])[:-1]
        return [
            Answer.of(part, gradient=gradient if query.gradient else None)
            for part, query in zip(np.split(values, ends), self.queries, strict=True)
        ]

    def points(self) -> Vector:
        """Return every point as a row of a dense (n_points, d) array, in the order of `tell`.

        If the run began from a sparse `x0`, they are a list of `SparseVector`.
        """
        if isinstance(self.queries[0].base, SparseVector):
            return cast(Vector, [point for query in self.queries for point in query.each()])
        return np.concatenate([query.points() for query in self.queries])

    def sparse_points(self) -> "list[tuple[Vector, csr_array]]":
        """Return (base, offsets) for each query: its points are ``base + offsets[i]``."""
        if any(query.is_implicit for query in self.queries):
            raise CapabilityError(
                "The points of this plan move too many coordinates to list them. Take them from "
                "`points()` and look up what matters, x[indices]."
            )
        return [(query.base, _csr(query)) for query in self.queries]


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """The values of one query's points, NaN where the objective failed, and its gradient.

    ``left_out`` marks points that were not evaluated because enough others had been
    (``min_fraction``); they are NaN and do not count as failures. If the
    objective has several outputs, they are the rows of ``outputs``, NaN in those that failed, and
    ``values`` is NaN at points of which all outputs failed, else zero.
    """

    values: Vector
    gradient: Vector | None = None
    left_out: Mask | None = None
    outputs: Vector | None = None

    @classmethod
    def of(
        cls, values: Vector, *, gradient: Vector | None = None, left_out: Mask | None = None
    ) -> Self:
        """Return the answer that values of shape (n_points,) or (n_points, m) are."""
        if values.ndim == 1 or values.shape[1] == 1:
            return cls(values=values.reshape(len(values)), gradient=gradient, left_out=left_out)
        failed = np.isnan(values).all(axis=1)
        return cls(
            values=np.where(failed, np.nan, 0.0),
            gradient=gradient,
            left_out=left_out,
            outputs=values,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """What an estimator found at ``x``.

    ``value`` is f(x): measured, or for central differences the mean over the mirrored pairs,
    f(x) + O(mu^2); NaN if unknown. ``rounding`` is what rounding alone can contribute to a
    difference quotient, ``slope`` the median size of one.
    """

    gradient: Vector
    value: float
    measured: bool
    rounding: float = 0.0
    slope: float = 0.0


def one_point(x: Vector, sample: Sample) -> Plan:
    """Return the plan that measures f at ``x`` and nothing else."""
    return Plan(queries=(Query(base=x, sample=sample),), stage=Stage.MEASURE)


def _csr(query: Query) -> "csr_array":
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415  (costs more than the whole import)

    d = query.base.size
    rows = [csr_array((int(query.with_base), d))]
    for indices, values in query.offsets(0, query.n_points):
        m, size = values.shape
        columns = np.tile(np.arange(d), m) if indices is None else indices.ravel()
        pointer = np.arange(0, m * size + 1, size)
        rows.append(csr_array((values.ravel(), columns, pointer), shape=(m, d)))
    return vstack(rows, format="csr")
