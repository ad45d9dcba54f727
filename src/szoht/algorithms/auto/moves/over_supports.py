"""Moves over supports that no slope guides: coordinates join, leave or are drawn at random."""

from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.descent import descend
from szoht.algorithms.auto.exploration import Exploration
from szoht.algorithms.auto.moves.perturb import PerturbSupport
from szoht.algorithms.auto.records import NoiseKind, Steps
from szoht.algorithms.auto.restricted.random_search import heavy_tailed_search
from szoht.algorithms.auto.sensing.round import Gradient, SensingMemory
from szoht.algorithms.auto.state import SearchState

__all__ = ["LongSlopes", "PerturbedSupport", "RandomJoin", "RandomSwap", "SparseRandomSearch"]


@dataclass(frozen=True)
class RandomJoin:
    """Let some random coordinates join, solve, prune by what each loss costs."""

    name: str = "join-and-prune"
    keeps_support: bool = False

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        structure = search.context.structure
        here = structure.active(search.incumbent.z)
        count = int(search.context.generator().integers(1, structure.size + 1))
        new = search.random_support(count, here)
        if new.size:
            yield from search.extend(np.union1d(here, new))


@dataclass(frozen=True)
class RandomSwap:
    """One atom leaves, the cheapest as measured or a random one; a random one enters."""

    name: str = "swap"
    keeps_support: bool = False

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        context, generator = search.context, search.context.generator()
        here = search.incumbent
        support = context.structure.active(here.z)
        atoms = context.structure.atoms(support)
        if not atoms:
            return
        out = int(generator.choice(len(atoms)))
        if generator.integers(2):
            out = int(np.argmin((yield from search.losses(here, atoms))))
        new = search.random_support(1, support)
        if not new.size:
            return
        left = np.union1d(np.setdiff1d(support, atoms[out]), new)
        if not context.structure.fits(left):
            return
        face = search.face(left, search.slice())
        start = yield from face.at(here.z[left])
        yield from heavy_tailed_search(face, start, search.unit[left], generator)


@dataclass(frozen=True)
class SparseRandomSearch:
    """Random search over supports and values; equal values are accepted."""

    name: str = "sparse random search"
    keeps_support: bool = False

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        context, generator = search.context, search.context.generator()
        structure, stop = context.structure, context.spent + search.slice()
        here = search.incumbent
        while context.spent < stop:
            z = here.z.copy()
            support = np.flatnonzero(z)
            full = structure.count(support) >= structure.size
            if generator.integers(3) == 0 or not full:
                if full:
                    counted = np.concatenate(structure.atoms(support))
                    z[structure.atoms(generator.choice(counted, 1))[0]] = 0.0
                i = int(generator.choice(search.pool))
                z[i] = search.unit[i] * generator.standard_normal()
            else:
                scale = 10 ** generator.uniform(-3, 0)
                step = search.unit[support] * generator.standard_normal(support.size)
                z[support] += scale * step
            z = structure.prune(structure.clip(z), None, structure.size)
            trial = yield from context.point(z)
            here = trial if trial.value <= here.value else here


@dataclass(frozen=True)
class PerturbedSupport:
    """Search locally over supports by slopes, again and again: perturb and descend."""

    name: str = "perturbed support"
    keeps_support: bool = False

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        state = replace(search.state, point=search.incumbent)
        if state.slopes is None or not state.point.z.any() or not state.noise.exact:
            return
        solution = yield from PerturbSupport().propose(search.context, state)
        elsewhere = replace(state, point=solution.point, curvature=None)
        gain_share = search.context.policy.gain_share
        elsewhere = yield from descend(search.context, elsewhere, gain_share)
        search.state = replace(search.state, slopes=elsewhere.slopes, memory=elsewhere.memory)


@dataclass
class LongSlopes:
    """Descend by slopes over long differences, half as long each time.

    The first time from the start: what longer looks have found since may be a trap.
    """

    name: str = "long slopes"
    keeps_support: bool = False
    turns: int = 0

    def run(self, search: Exploration) -> Steps[None]:
        """Spend one turn."""
        length = 0.5 * 0.5 ** (self.turns % 5)
        size = 1.0 if search.context.structure.has_units else float(search.unit.max())
        noise = replace(
            search.state.noise,
            kind=NoiseKind.EXACT,
            axis_step=length * size,
            row_step=length * size,
            curvature=0.0,
        )
        point = search.incumbent if self.turns else search.state.point
        self.turns += 1
        # few coordinates that explain everything would have shown in 0/1 probes
        dense = SensingMemory(gradient=Gradient.DENSE)
        state = SearchState(point=point, noise=noise, memory=dense)
        # exchanges by slopes are worth a try, but others follow
        yield from descend(search.context, state, search.context.policy.gain_share, patience=1.0)
