"""Simulations with few runs to spare: an evolution strategy on common seeds, then on k weights.

A quadratic model on k coordinates takes more values than a few hundred episodes where k is twenty;
and the return of an episode that ends early has steps, plateaus and heavy tails. So ranks decide,
over long distances, and the points that are compared share a seed: what that seed does to all of
them alike cancels. The order is: how long a step matters; the strategy on all coordinates, then on
the k largest; a race for the answer. (One step along each axis
first, as a start, was worse on two of four tasks, level on one and better on one.)
"""

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.paired_race import PairedRace
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseKind, Steps
from szoht.algorithms.auto.restricted.quadratic_model import n_terms
from szoht.core.algorithm import Ending, Evidence
from szoht.types import Indices, Vector

__all__ = ["evolve", "needs_evolution"]

FEWEST_VALUES, VALUES_PER_TERM = 40, 4
"""A search by quadratic models takes this many values for each term of one on k coordinates; with
fewer than the first, nothing but that search is left."""

FIRST_LENGTHS = (1.0, 0.3, 0.1, 0.03)
"""Steps of all coordinates that are compared, in units, and half of a finite box."""

PARENTS_AND_OFFSPRING = 8
"""Points of one generation, in pairs x + s and x - s."""

SPARSE_SHARE, ANSWER_SHARE = 0.45, 0.15
"""Of the budget: for the strategy on k coordinates and all that follows, and for the race and
the value of its winner."""


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
    structure, budget = context.structure, int(context.left)
    end = context.spent + budget
    context.explain("few values for so many non-zeros: an evolution strategy on common seeds.")
    length = yield from _length(context, start.z)
    strategy = Strategy(
        context=context,
        z=start.z,
        on=structure.free,
        scale=_reach(context),
        rng=context.generator(),
        step=length,
    )
    yield from strategy.run(end - int(SPARSE_SHARE * budget) - context.spent)
    pruned = structure.prune(strategy.z, None, structure.size)
    strategy = replace(strategy, z=pruned, on=structure.active(pruned), path=[])
    spend = end - context.spent - max(int(ANSWER_SHARE * budget), 2 * PARENTS_AND_OFFSPRING)
    points = [start.z, pruned]
    while True:
        yield from strategy.run(spend)
        points += [*strategy.path[-6:-5], strategy.z]
        found = yield from _answer(context, points, end - context.spent)
        # what follows is asked only if the budget is raised
        points, end, spend = [points[0], found.z], end + 2 * budget, budget


def _reach(context: SearchContext) -> Vector:
    """Return the length of a step of one: a unit, or half of a finite box."""
    structure = context.structure
    return np.where(np.isfinite(structure.high - structure.low), 0.5, 1.0)


def _length(context: SearchContext, z: Vector) -> Steps[float]:
    """Return the length of random steps, of all coordinates, after which values are least."""
    rng, structure, found = (
        context.generator(),
        context.structure,
        np.empty((2, len(FIRST_LENGTHS))),
    )
    for row in found:
        signs = rng.choice([-1.0, 1.0], (len(FIRST_LENGTHS), z.size))
        steps = np.array(FIRST_LENGTHS)[:, np.newaxis] * _reach(context) * signs
        points = [structure.clip(z + step) for step in np.concatenate([steps, -steps])]
        values = yield from context.values_on_one_seed(points)
        row[:] = np.where(np.isnan(values), math.inf, values).reshape(2, -1).min(axis=0)
    return FIRST_LENGTHS[int(np.argmin(found.mean(axis=0)))]


@dataclass(eq=False)
class Strategy:
    """A mean ``z`` that moves by weighted ranks of pairs around it, all on one seed.

    The length of steps is adapted cumulatively (Ostermeier, Gawelczyk, Hansen 1994); weights are
    normal scores of the ranks, negative for the worse half (Arnold 2006).
    """

    context: SearchContext
    z: Vector
    on: Indices
    scale: Vector
    rng: np.random.Generator
    step: float = 1.0
    path: list[Vector] = field(default_factory=list)

    def run(self, spend: int) -> Steps[None]:
        """Spend so many values at most."""
        stop = self.context.spent + spend
        n, size = self.on.size, PARENTS_AND_OFFSPRING
        shares = (np.arange(1, size + 1) - 0.375) / (size + 0.25)
        weights = np.array([NormalDist().inv_cdf(1 - share) for share in shares])
        weights /= weights[weights > 0].sum()
        mass = 1 / float(weights @ weights)
        memory = (mass + 2) / (n + mass + 5)
        trail = np.zeros(n)
        while n and self.context.spent + size <= stop:
            draws = self.rng.standard_normal((size // 2, n))
            draws = np.concatenate([draws, -draws])
            values = yield from self.context.values_on_one_seed(
                [self._moved(self.step * draw) for draw in draws]
            )
            values = np.where(np.isnan(values), math.inf, values)
            if np.all(values == values[0]):
                self.step *= 1.5  # a plateau
                continue
            move = weights @ draws[np.argsort(values, kind="stable")]
            self.z = self._moved(self.step * move)
            self.path.append(self.z)
            trail = (1 - memory) * trail + math.sqrt(memory * (2 - memory) * mass) * move
            longer = float(np.linalg.norm(trail)) / math.sqrt(n) - 1
            self.step *= math.exp(min(1.0, memory / (1 + memory) * longer))

    def _moved(self, move: Vector) -> Vector:
        z = self.z.copy()
        z[self.on] += self.scale[self.on] * move
        return self.context.structure.clip(z)


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
