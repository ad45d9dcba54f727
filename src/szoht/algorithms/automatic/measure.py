"""Measurements of slopes: along random signs, and along the axes, as far apart as makes sense."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from szoht.algorithms.generator import SolverContext
from szoht.core.directions import ArrayDirections, Directions, SampledDirections, weighted_sum
from szoht.core.distributions import RademacherDistribution
from szoht.core.query import Answer, Plan, Query
from szoht.types import Indices, Vector

__all__ = ["Gauge", "Measurements", "Point", "Talk", "axis_slopes", "signs", "value_at"]

T = TypeVar("T")
Talk: TypeAlias = Generator[Plan, Sequence[Answer], T]
"""A piece of a conversation that ends with a result."""


class Point(NamedTuple):
    """A point and its value."""

    x: Vector
    value: float


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """How far apart two values must be taken for their difference to mean something.

    ``radius`` is the length of a difference along an axis, ``span`` along a vector of signs.
    ``rough`` says that these are long because values are noisy or change in steps: curvature then
    shows, and is taken out by central differences or with what all differences have in common.
    ``noise`` is the standard deviation of a value.
    """

    radius: float
    span: float
    noise: float = 0.0
    rough: bool = False


@dataclass(frozen=True, eq=False)
class Measurements:
    """Slopes ``y_i = <u_i, g>`` along vectors u_i of random signs, in several batches.

    The vectors are never held as a matrix; what is needed of it is drawn again from the address.
    """

    batches: tuple[tuple[Directions, Vector], ...] = ()

    @property
    def slopes(self) -> Vector:
        """All slopes, in the order in which they were measured."""
        return np.concatenate([y for _, y in self.batches]) if self.batches else np.empty(0)

    @property
    def centred(self) -> Vector:
        """The slopes without what all of them have in common."""
        y = self.slopes
        return y - float(y.mean())

    def more(self, other: "Measurements") -> "Measurements":
        """Return both."""
        return Measurements(self.batches + other.batches)

    def correlate(self, weights: Vector) -> Vector:
        """Return sum_i weights_i u_i."""
        total: Vector | float = 0.0
        row = 0
        for directions, y in self.batches:
            total = total + weighted_sum(directions, weights[row : row + y.size])
            row += y.size
        return np.asarray(total)

    def columns(self, support: Indices) -> Vector:
        """Return the matrix of the u_i, restricted to the coordinates ``support``."""
        rows = [
            values[:, support]
            for directions, _ in self.batches
            for _, values in directions.slices(0, directions.count)
        ]
        return np.concatenate(rows)


def signs(context: SolverContext, point: Point, gauge: Gauge, count: int) -> Talk[Measurements]:
    """Measure ``count`` slopes along random signs; failed ones count as zero.

    ``(f(x + h u) - f(x)) / h = <u, g> + h u'Hu / 2``; the last term is ``h tr(H) / 2`` in the mean,
    the same for all signs, as is the error of f(x): see `Measurements.centred`.
    """
    drawn = SampledDirections(
        distribution=RademacherDistribution(), key=context.key(), d=point.x.size, count=count
    )
    # a vector of signs is sqrt(d) long: move by `span` in all
    y = yield from _forward(context, point, drawn, gauge.span / np.sqrt(point.x.size))
    return Measurements(((drawn, y),))


def axis_slopes(
    context: SolverContext, point: Point, gauge: Gauge, support: Indices, *, scan: bool = False
) -> Talk[Vector]:
    """Measure the slopes along the axes ``support``, one query each, or two where f is rough.

    A ``scan`` compares many axes with each other. It costs one query each also where f is rough,
    and takes out what they have in common, as `signs` does.
    """
    indices = np.asarray(support)[:, np.newaxis]
    ones = np.ones(indices.shape)
    axes = ArrayDirections(d=point.x.size, indices=indices, values=ones)
    if not gauge.rough:
        return (yield from _forward(context, point, axes, gauge.radius))
    if scan:
        slopes = yield from _forward(context, point, axes, gauge.radius)
        return slopes - np.median(slopes)
    both = ArrayDirections(
        d=point.x.size, indices=np.vstack([indices, indices]), values=np.vstack([ones, -ones])
    )
    there, back = np.split((yield from _forward(context, point, both, gauge.radius)), 2)
    return 0.5 * (there - back)


def value_at(context: SolverContext, x: Vector) -> Talk[float]:
    """Measure f at ``x``."""
    (answer,) = yield Plan(queries=(context.query(x),))
    return float(answer.values[0])


def _forward(
    context: SolverContext, point: Point, directions: Directions, step: float
) -> Talk[Vector]:
    # differences are taken between values with the same seed, so a fresh seed needs f(x) again
    query = Query(
        base=point.x,
        sample=context.next_sample(),
        directions=directions,
        radius=step,
        with_base=context.seeded,
    )
    (answer,) = yield Plan(queries=(query,))
    value, values = point.value, answer.values
    if context.seeded:
        value, values = values[0], values[1:]
    slopes = (values - value) / step
    return np.where(np.isfinite(slopes), slopes, 0.0)
