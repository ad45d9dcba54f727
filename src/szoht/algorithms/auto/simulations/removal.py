"""From many non-zeros to few: which of several choices costs least is tried."""

import math

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.simulations.strategy import GENERATION
from szoht.types import Vector

__all__ = ["remove_by_trial"]

MOST_ROUNDS = 5
"""Each leaves out the same share of what is left."""


def remove_by_trial(
    context: SearchContext, z: Vector, spend: int, rng: np.random.Generator
) -> Steps[Vector]:
    """Return a point of the set with some of the entries of ``z``.

    In each round several choices are compared on one seed: the largest entries, and random ones. An
    entry is left out with a probability that is inversely proportional to its size (the smallest of
    exponential draws times the sizes are such a sample: Efraimidis, Spirakis 2006). The largest
    entries alone were a loss: of five policies for a running robot, three lost all they had won.
    """
    structure = context.structure
    many, few = structure.count(structure.active(z)), structure.size
    if many <= few:
        return z
    rounds = min(max(spend // GENERATION, 1), MOST_ROUNDS)
    for size in np.round(np.geomspace(many, few, rounds + 1)).astype(int)[1:]:
        choices = [np.ones(z.size), *rng.exponential(size=(GENERATION - 1, z.size))]
        pruned = [structure.prune(z * choice, None, int(size)) for choice in choices]
        points = [np.where(point != 0, z, 0.0) for point in pruned]
        values = yield from context.values_on_one_seed(points)
        z = points[int(np.argmin(np.where(np.isnan(values), math.inf, values)))]
    return z
