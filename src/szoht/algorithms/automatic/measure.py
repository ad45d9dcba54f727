"""Measurements of slopes: along random signs, and along the axes."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from szoht.directions import Directions, Drawn, Explicit, RademacherLaw, weighted_sum
from szoht.queries import Answer, Plan, Query
from szoht.scripted import Notebook
from szoht.types import Indices, Vector

__all__ = ["Measurements", "Talk", "axis_slopes", "signs", "value_at"]

T = TypeVar("T")
Talk: TypeAlias = Generator[Plan, Sequence[Answer], T]
"""A piece of a conversation that ends with a result."""


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


def signs(
    notebook: Notebook, x: Vector, value: float, radius: float, count: int
) -> Talk[Measurements]:
    """Measure ``count`` slopes at ``x`` along random signs; failed ones count as zero."""
    drawn = Drawn(law=RademacherLaw(), key=notebook.key(), d=x.size, count=count)
    # a vector of signs is sqrt(d) long: move by `radius` in all
    step = radius / np.sqrt(x.size)
    y = yield from _slopes(notebook, x, value, drawn, step)
    return Measurements(((drawn, y),))


def axis_slopes(
    notebook: Notebook, x: Vector, value: float, radius: float, support: Indices
) -> Talk[Vector]:
    """Measure the slopes at ``x`` along the axes ``support``."""
    indices = np.asarray(support)[:, np.newaxis]
    axes = Explicit(d=x.size, indices=indices, values=np.ones(indices.shape))
    return (yield from _slopes(notebook, x, value, axes, radius))


def value_at(notebook: Notebook, x: Vector) -> Talk[float]:
    """Measure f at ``x``."""
    (answer,) = yield Plan(queries=(notebook.query(x),))
    return float(answer.values[0])


def _slopes(
    notebook: Notebook, x: Vector, value: float, directions: Directions, step: float
) -> Talk[Vector]:
    query = Query(
        base=x, sample=notebook.sample, directions=directions, radius=step, with_base=False
    )
    (answer,) = yield Plan(queries=(query,))
    slopes = (answer.values - value) / step
    return np.where(np.isfinite(slopes), slopes, 0.0)
