"""Simulations with few runs to spare: an evolution strategy on common seeds, then on k weights.

A quadratic model on k coordinates takes more values than a few hundred episodes where k is twenty;
and the return of an episode that ends early has steps, plateaus and heavy tails. So ranks decide,
over long distances, and the points that are compared share a seed: what that seed does to all of
them alike cancels. The order is: how long a step matters; the strategy on all coordinates; which k
of them are kept; the strategy on these; a race for the answer. Where the length of x means nothing,
single coordinates are tried too, and what follows are changes of few entries.
"""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseKind, Steps
from szoht.algorithms.auto.restricted.quadratic_model import n_terms
from szoht.algorithms.auto.simulations.paired_race import PairedRace
from szoht.algorithms.auto.simulations.removal import remove_by_trial
from szoht.algorithms.auto.simulations.single_axes import axes_cost, try_single_axes
from szoht.algorithms.auto.simulations.sparse_changes import SparseChanges
from szoht.algorithms.auto.simulations.strategy import GENERATION, Strategy
from szoht.algorithms.auto.simulations.trials import Trials
from szoht.core.algorithm import Ending, Evidence
from szoht.types import Vector

__all__ = ["evolve", "needs_evolution"]

FEWEST_VALUES, VALUES_PER_TERM = 40, 4
"""A search by quadratic models takes this many values for each term of one on k coordinates; with
fewer than the first, nothing but that search is left."""

FIRST_LENGTHS = (1.0, 0.3, 0.1, 0.03)
"""Steps of all coordinates that are compared, in units, and half of a finite box."""

ALL_SHARE, REMOVAL_SHARE, ANSWER_SHARE = 0.55, 0.1, 0.12
"""Of the budget: for the strategy on all coordinates, for the choice among them, and at the end for
the race and the value of its winner."""

RIVAL_SHARE, AXES_SHARE = 0.1, 0.6
"""Of the budget: for the dense point that single coordinates are compared with, and what these may
take at most."""


def needs_evolution(context: SearchContext) -> bool:
    """Tell whether f takes a seed and a known budget is too small for quadratic models."""
    few = VALUES_PER_TERM * n_terms(context.structure.size)
    return (
        context.outer.seeded
        and context.structure.independent
        and FEWEST_VALUES <= context.left < few
        and context.structure.d <= context.left
    )


def evolve(context: SearchContext, start: EvaluatedPoint) -> Steps[EvaluatedPoint]:
    """Minimize the mean of f over seeds; the answer has won a race that the start was in.

    It goes on until the budget is spent, and beyond if that is raised.
    """
    budget = int(context.left)
    end = context.spent + budget
    context.explain("few values for so many non-zeros: an evolution strategy on common seeds.")
    search = yield from _sparse_search(context, start.z, budget)
    spend = end - context.spent - max(int(ANSWER_SHARE * budget), 2 * GENERATION)
    points = [start.z, *search.answers()]
    while True:
        yield from search.run(spend)
        points += search.answers()
        found = yield from _answer(context, points, end - context.spent)
        # what follows is asked only if the budget is raised
        points, end, spend = [points[0], found.z], end + 2 * budget, budget


def _sparse_search(
    context: SearchContext, z: Vector, budget: int
) -> Steps[Strategy | SparseChanges]:
    """Return a search on k coordinates that goes on from the best ones found."""
    structure, reach, begin = context.structure, _reach(context), context.spent
    length, only_direction = yield from _length(context, z)
    rng = context.generator()
    strategy = Strategy(context, z, structure.free, reach, context.generator(), length)
    only_direction = only_direction and not z.any()
    if only_direction and axes_cost(structure.free.size) <= AXES_SHARE * budget:
        yield from strategy.run(int(RIVAL_SHARE * budget))
        changes = yield from try_single_axes(context, strategy.z, reach, rng)
        if changes is not None:
            context.explain("the length of x means nothing: sparse changes of its direction.")
            return changes
    yield from strategy.run(begin + int(ALL_SHARE * budget) - context.spent)
    pruned = yield from remove_by_trial(context, strategy.z, int(REMOVAL_SHARE * budget), rng)
    on = structure.active(pruned)
    if only_direction and on.size:
        chances = np.isin(np.arange(structure.d), structure.free) / structure.free.size
        return SparseChanges(context, Trials(pruned), reach, chances, rng)
    return replace(strategy, z=pruned, on=on, path=[])


def _reach(context: SearchContext) -> Vector:
    """Return the length of a step of one: a unit, or half of a finite box."""
    structure = context.structure
    return np.where(np.isfinite(structure.high - structure.low), 0.5, 1.0)


def _length(context: SearchContext, z: Vector) -> Steps[tuple[float, bool]]:
    """Return the length of steps after which values are least, and whether it means nothing.

    The steps are along random lines of all coordinates, one for each of two seeds.
    """
    rng, structure = context.generator(), context.structure
    found = np.empty((2, 2, len(FIRST_LENGTHS)))
    for row in found:
        step = _reach(context) * rng.choice([-1.0, 1.0], z.size)
        steps = np.outer([*FIRST_LENGTHS, *(-length for length in FIRST_LENGTHS)], step)
        values = yield from context.values_on_one_seed([structure.clip(z + one) for one in steps])
        row[:] = np.where(np.isnan(values), math.inf, values).reshape(row.shape)
    same = np.all(found == found[..., :1]) and np.unique(found).size > 1
    return FIRST_LENGTHS[int(np.argmin(found.min(axis=1).mean(axis=0)))], bool(same)


def _answer(context: SearchContext, points: list[Vector], spend: int) -> Steps[EvaluatedPoint]:
    """Race the last points and the start for the answer; measure it with the half that is left."""
    race, stop = PairedRace(context, points), context.spent + spend
    winner = yield from race.run(spend // 2)
    count = stop - context.spent
    location = yield from race.measure(winner, count)
    found = EvaluatedPoint(winner, location.value)
    context.settle(found, location.error)
    context.explain(f"last race: f = {location.value:.6g} +- {location.error:.1g} at the answer.")
    improved = not np.array_equal(winner, points[0])
    context.outer.ending = None if improved else Ending.NO_PROGRESS
    context.outer.evidence = Evidence(
        noise=NoiseKind.FRESH.value, noise_level=location.error * math.sqrt(count)
    )
    return found
