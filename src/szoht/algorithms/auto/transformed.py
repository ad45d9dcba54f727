"""Points that are sparse in another basis, x = W z: the default solver over z."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from szoht.algorithms.auto.solver import Auto
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.core.algorithm import Measured
from szoht.core.directions import Directions, MappedDirections, Offsets
from szoht.core.query import Plan, Query
from szoht.core.validation import frozen
from szoht.operators import Sparse, SparseIn
from szoht.types import Sample

__all__ = ["AutoTransformed"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SynthesizedDirections(MappedDirections):
    """Directions in z, as what they are in x."""

    operator: SparseIn
    d: int

    def slices(self, start: int, stop: int) -> Iterator[Offsets]:
        """Yield the directions ``start`` to ``stop``."""
        for indices, values in self.inner.slices(start, stop):
            rows = values
            if indices is not None:
                rows = np.zeros((len(values), self.inner.d))
                np.add.at(rows, (np.arange(len(values))[:, np.newaxis], indices), values)
            yield Offsets(None, np.array([self.operator.synthesis(row) for row in rows]))

    def recycle(self, previous: Directions | None) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, kw_only=True)
class AutoTransformed(GeneratorAlgorithm):
    """`auto` for points that are sparse in another basis: it searches over their coefficients."""

    answers_best: ClassVar[bool] = True

    operator: SparseIn
    seeded: bool = False
    max_queries: int | None = None
    effort: float = 1.0

    @property
    def inner(self) -> Auto:
        """The solver over coefficients."""
        return Auto(
            operator=Sparse(self.operator.k),
            seeded=self.seeded,
            max_queries=self.max_queries,
            effort=self.effort,
        )

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return the components that the answer is measured on."""
        return self.inner.sample(seed, n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Hand plans of the solver over coefficients on, and keep the context up to date."""
        z = frozen(self.operator.coefficients(context.x))
        within = replace(context, x=z)  # which shares the lines
        search = self.inner.steps(within)
        plan = next(search, None)
        while plan is not None:
            answers = yield self._plan(plan, context.x.size)
            try:
                plan = search.send(answers)
            except StopIteration:
                plan = None
            self._follow(context, within)

    def _plan(self, plan: Plan, d: int) -> Plan:
        """Return a plan over coefficients as one over x."""
        return replace(plan, queries=tuple(self._query(query, d) for query in plan.queries))

    def _query(self, query: Query, d: int) -> Query:
        base, directions = frozen(self.operator.synthesis(np.asarray(query.base))), query.directions
        if directions is not None:
            directions = SynthesizedDirections(inner=directions, operator=self.operator, d=d)
        return replace(query, base=base, directions=directions)

    def _follow(self, context: SolverContext, within: SolverContext) -> None:
        context.x = frozen(self.operator.synthesis(within.x))
        context.best, context.measured = self._point(within.best), self._point(within.measured)
        context.iteration, context.draws = within.iteration, within.draws
        context.sample, context.seeded = within.sample, within.seeded
        context.ending, context.evidence = within.ending, within.evidence

    def _point(self, point: Measured | None) -> Measured | None:
        if point is None:
            return None
        return point._replace(x=frozen(self.operator.synthesis(point.x)))
