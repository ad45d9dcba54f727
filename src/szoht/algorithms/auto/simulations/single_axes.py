"""Where only the direction of x counts: single coordinates, compared with a dense point.

What a policy does often hangs on the sign of a linear function of sensors, whose length then means
nothing. A sensor that shows noise, in large units, drowns the others in any dense direction; a
single coordinate is the same policy in all units.
"""

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.simulations.sparse_changes import SparseChanges
from szoht.algorithms.auto.simulations.trials import Trials
from szoht.types import Indices, Sample, Vector

__all__ = ["axes_cost", "try_single_axes"]

FINALISTS, FURTHER_SEEDS = 4, 3
"""Coordinates that are compared again, and on how many seeds."""


def axes_cost(d: int) -> int:
    """Return how many values `try_single_axes` asks for at most."""
    return 2 * d + 1 + (FINALISTS + 1) * FURTHER_SEEDS


def try_single_axes(
    context: SearchContext, rival: Vector, scale: Vector, rng: np.random.Generator
) -> Steps[SparseChanges | None]:
    """Return where to go on from if one coordinate alone is better than the rival.

    All are asked on one seed, both ways; only half of them unless one of these is better.
    """
    structure, sample = context.structure, context.outer.next_sample()
    first, second = np.array_split(rng.permutation(structure.free), 2)
    against = Trials(rival)
    yield from _ask(context, [against], sample)
    axes = yield from _both_ways(context, first, scale, sample)
    if not any(one.mean < against.mean for one in axes):
        return None
    axes += yield from _both_ways(context, second, scale, sample)
    # equal values on a seed are, as good as certainly, those of the same policy
    different = {one.mean: one for one in sorted(axes, key=lambda one: -one.mean)}
    final = [different[value] for value in sorted(different)[:FINALISTS]]
    for _ in range(FURTHER_SEEDS):
        yield from _ask(context, [*final, against], context.outer.next_sample())
    best = min(final, key=lambda one: one.mean)
    if not best.mean < against.mean:
        return None
    return SparseChanges(context, best, scale, _chances(axes), rng)


def _chances(axes: list[Trials]) -> Vector:
    """Return chances of coordinates that fall with their ranks."""
    order = [int(np.flatnonzero(one.z)[0]) for one in sorted(axes, key=lambda one: one.values[0])]
    order = list(dict.fromkeys(order))
    chances = np.zeros(axes[0].z.size)
    chances[order] = np.arange(len(order), 0, -1)
    return np.asarray(chances / chances.sum())


def _both_ways(
    context: SearchContext, coordinates: Indices, scale: Vector, sample: Sample
) -> Steps[list[Trials]]:
    """Return a trial of each coordinate by itself, positive and negative, where bounds allow it."""
    structure, trials = context.structure, []
    for j in coordinates:
        for sign in (1.0, -1.0):
            z = np.zeros(structure.d)
            z[j] = sign * scale[j]
            z = structure.clip(z)
            if z[j]:
                trials.append(Trials(z))
    yield from _ask(context, trials, sample)
    return trials


def _ask(context: SearchContext, trials: list[Trials], sample: Sample) -> Steps[None]:
    values = yield from context.values([one.z for one in trials], sample)
    for one, value in zip(trials, values, strict=True):
        one.add(sample, value)
