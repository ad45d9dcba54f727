"""Differential evolution on a face (Storn and Price 1997), a generation per plan."""

from typing import NamedTuple

import numpy as np

from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.face import Face
from szoht.types import Vector

__all__ = ["Population", "evolve", "random_population"]

WEIGHT, CROSSOVER = 0.8, 0.5
"""Length of a difference, and the share of coordinates that change."""


class Population(NamedTuple):
    """Points on a face, one per row, and their values."""

    points: Vector
    values: Vector


def random_population(
    face: Face, center: Vector, unit: Vector, generator: np.random.Generator
) -> Steps[Population]:
    """Return points around a center, or all over a finite box; the center is one of them."""
    n = face.n
    structure = face.context.structure
    low, high = structure.low[face.support], structure.high[face.support]
    points = center + 2 * unit * generator.standard_normal((max(5 * n, 10), n))
    inside = np.isfinite(high - low)
    points[:, inside] = generator.uniform(low[inside], high[inside], (len(points), inside.sum()))
    points[0] = center
    return (yield from _measured(face, face.clip(points)))


def evolve(face: Face, population: Population, generator: np.random.Generator) -> Steps[Population]:
    """Run generations until the allowance of the face is spent.

    Half of the trials start from a random member, the others between a member and the best.
    """
    points, values = population
    size, n = points.shape
    while face.open:
        a, b, c = (generator.permutation(size) for _ in range(3))
        best = points[np.argmin(values)]
        greedy = generator.integers(2, size=(size, 1)) == 0
        base = np.where(greedy, points + WEIGHT * (best - points), points[a])
        trials = base + WEIGHT * (points[b] - points[c])
        keep = generator.random((size, n)) >= CROSSOVER
        keep[np.arange(size), generator.integers(n, size=size)] = False
        trials = face.clip(np.where(keep, points, trials))
        new = yield from _measured(face, trials)
        better = new.values <= values
        points = np.where(better[:, np.newaxis], new.points, points)
        values = np.where(better, new.values, values)
    return Population(points, values)


def _measured(face: Face, points: Vector) -> Steps[Population]:
    found = yield from face.all_at(list(points))
    return Population(points, np.array([local.value for local in found]))
