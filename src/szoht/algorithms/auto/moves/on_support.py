"""Moves that keep the support: other minima on the same coordinates."""

import math
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.bfgs import minimize_on
from szoht.algorithms.auto.restricted.covariance_adaptation import (
    SampleDistribution,
    adapt_covariance,
    first_distribution,
)
from szoht.algorithms.auto.restricted.evolution import Population, evolve, random_population
from szoht.algorithms.auto.restricted.face import Face, Local
from szoht.algorithms.auto.restricted.goal import Goal
from szoht.algorithms.auto.restricted.nelder_mead import nelder_mead
from szoht.algorithms.auto.restricted.pattern_search import pattern_search
from szoht.algorithms.auto.restricted.random_search import heavy_tailed_search
from szoht.types import Vector

__all__ = [
    "BasinHopping",
    "CovarianceAdaptation",
    "DifferentialEvolution",
    "PerturbedBfgs",
    "RandomSearch",
    "Restart",
    "SimplexSearch",
]


@dataclass(frozen=True)
class BasinHopping:
    """Perturb all or about one coordinate, pattern search from there."""

    name: str = "basin hopping"
    keeps_support: bool = True

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        generator, support = search.context.generator(), search.support
        unit, n = search.unit[support], support.size
        length = 10 ** generator.uniform(-2, 0.5)
        moved = generator.random(n) < (1.0 if generator.integers(2) else 1.5 / n)
        moved[generator.integers(n)] = True
        face = search.face(support, search.slice())
        here = search.incumbent.z[support]
        y = np.where(moved, here + length * unit * generator.standard_normal(n), here)
        start = yield from face.at(face.clip(y))
        yield from pattern_search(face, start, length * unit, generator)


@dataclass(frozen=True)
class RandomSearch:
    """Heavy-tailed random search from the incumbent."""

    name: str = "random search"
    keeps_support: bool = True

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        face = search.face(search.support, search.slice())
        start, unit = face.local(search.incumbent), search.unit[face.support]
        yield from heavy_tailed_search(face, start, unit, search.context.generator())


@dataclass(frozen=True)
class PerturbedBfgs:
    """BFGS from a perturbed point."""

    name: str = "perturbed BFGS"
    keeps_support: bool = True

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        context, support = search.context, search.support
        start = yield from _perturbed(search, search.face(support, search.slice()), 0.3)
        if math.isfinite(start.value):
            point = Face(context, support).point(start)
            goal = Goal(steps=20, accuracy=1e-6)
            yield from minimize_on(context, point, support, search.state.noise, goal)


@dataclass(frozen=True)
class Restart:
    """Pattern search from a random point, on a random support if variables are many."""

    name: str = "restart"
    keeps_support: bool = True

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        generator, structure = search.context.generator(), search.context.structure
        support = search.support if search.few else search.random_support(structure.size)
        unit = search.unit[support]
        low, high = structure.low[support], structure.high[support]
        inside = np.isfinite(high - low)
        y = 2 * unit * generator.standard_normal(support.size)
        y[inside] = generator.uniform(low[inside], high[inside])
        face = search.face(support, search.slice())
        start = yield from face.at(face.clip(y))
        yield from pattern_search(face, start, unit, generator)


@dataclass
class SimplexSearch:
    """Nelder and Mead from the incumbent, later from perturbed points."""

    name: str = "Nelder-Mead"
    keeps_support: bool = True
    turns: int = 0

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        face = search.face(search.support, _long_turn(search, 3))
        start = face.local(search.incumbent)
        if self.turns % 2:
            start = yield from _perturbed(search, face, 0.0)
        self.turns += 1
        edges = 10 ** search.context.generator().uniform(-2, 0) * search.unit[face.support]
        yield from nelder_mead(face, start, edges)


@dataclass
class DifferentialEvolution:
    """Differential evolution; its population is kept between turns."""

    name: str = "differential evolution"
    keeps_support: bool = True
    population: Population | None = None
    support: tuple[int, ...] = ()

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        support, generator = search.support, search.context.generator()
        face, unit = search.face(support, _long_turn(search, 3)), search.unit[support]
        same = self.support == tuple(support.tolist())
        population = self.population
        if population is None or not same or _has_collapsed(population, unit):
            center = search.incumbent.z[support]
            population = yield from random_population(face, center, unit, generator)
            self.support = tuple(support.tolist())
        self.population = yield from evolve(face, population, generator)


@dataclass
class CovarianceAdaptation:
    """CMA-ES; restarts take twice the points, or few points and short steps (Hansen 2009)."""

    name: str = "CMA-ES"
    keeps_support: bool = True
    now: SampleDistribution | None = None
    support: tuple[int, ...] = ()
    unit: Vector = field(default_factory=lambda: np.empty(0))
    restarts: int = 0

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        support, generator = search.support, search.context.generator()
        face = search.face(support, _long_turn(search, 4))
        now, key = self.now, tuple(support.tolist())
        if now is None or key != self.support or now.has_converged:
            self.restarts = self.restarts + 1 if key == self.support else 0
            self.support, self.unit = key, search.unit[support]
            now = self._first(search, generator)
        self.now = yield from adapt_covariance(face, now, self.unit, generator)

    def _first(self, search: Exploration, generator: np.random.Generator) -> SampleDistribution:
        center = search.incumbent.z[list(self.support)] / self.unit
        if self.restarts % 2:  # many points, from anywhere
            size = first_distribution(center, 1.0).size * 2 ** min((self.restarts + 5) // 2, 5)
            return first_distribution(center + generator.standard_normal(center.size), 1.0, size)
        return first_distribution(center, 10 ** generator.uniform(-2, 0))


def _long_turn(search: Exploration, turns: float) -> float:
    """Return the queries of a turn that must be long; shorter where other supports wait."""
    return (turns if search.few else 1.5) * search.slice()


def _perturbed(search: Exploration, face: Face, largest_power: float) -> Steps[Local]:
    generator = search.context.generator()
    length = 10 ** generator.uniform(-2, largest_power)
    step = length * search.unit[face.support] * generator.standard_normal(face.n)
    return (yield from face.at(face.clip(search.incumbent.z[face.support] + step)))


def _has_collapsed(population: Population, unit: Vector) -> bool:
    return bool((np.ptp(population.points, axis=0) <= 1e-6 * unit).all())
