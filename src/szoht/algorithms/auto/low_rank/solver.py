"""The default solver for matrices of low rank: noise -> sense -> solve -> exchange or restart."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from szoht.algorithms.auto.context import BudgetSpentError, SearchContext
from szoht.algorithms.auto.low_rank.descent import Manifold
from szoht.algorithms.auto.low_rank.tangent import TangentSpace, truncated
from szoht.algorithms.auto.noise import estimate_noise
from szoht.algorithms.auto.policy import Policy
from szoht.algorithms.auto.records import EvaluatedPoint, Steps
from szoht.algorithms.auto.restricted.line_search import MAX_UNITS
from szoht.algorithms.auto.structures.coordinates import Coordinates
from szoht.algorithms.auto.units import find_units
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext
from szoht.algorithms.szoht import szoht
from szoht.core.algorithm import Ending, Evidence
from szoht.operators import LowRank
from szoht.samplers import Full, Seeds
from szoht.types import Sample, Vector

__all__ = ["AutoLowRank", "Matrices"]

RESTARTS, PERTURBED = 3, 0.3
"""Restarts that must come back to the same value, and how far away they begin."""

GAIN = 1e-6
"""A restart has found something else if it gains this share of everything gained before."""

AGREE = 1e-2
"""Values are the same if they differ by less than this share of what a restart has descended."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrices(Coordinates):
    """The matrices of low rank, as what can be measured and may be an answer."""

    operator: LowRank

    def contains(self, z: Vector) -> bool:
        """Tell whether the rank is low enough."""
        return self.operator.contains(z)


@dataclass(frozen=True, kw_only=True)
class AutoLowRank(GeneratorAlgorithm):
    """`auto` for matrices of low rank: rank-one probes, then quasi-Newton on the manifold."""

    answers_best: ClassVar[bool] = True

    operator: LowRank
    seeded: bool = False
    max_queries: int | None = None
    effort: float = 1.0

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Return the whole of a finite sum."""
        del seed
        return None if n_samples is None else np.arange(n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Search where values are exact; where they are not, let `szoht` do it."""
        d = context.x.size
        context.seeded = self.seeded
        search = SearchContext(
            outer=context,
            structure=Matrices(d=d, size=d, operator=self.operator),
            policy=Policy(),
            budget=self.max_queries,
            effort=self.effort,
        )
        start = yield from search.point(np.array(context.x))
        if math.isnan(start.value):
            return
        search.first_value = start.value
        try:
            noise = yield from estimate_noise(search, start)
            start, noise = yield from find_units(search, start, noise)
            if noise.exact:
                manifold = Manifold(search, noise, self.operator.r, self.operator.shape)
                yield from _solve(manifold, start)
                return
        except BudgetSpentError:
            yield from _spend_rest(search, self.operator)
        yield from self._hand_over(search)

    def _hand_over(self, search: SearchContext) -> Steps[None]:
        """Go on with `szoht`, whose steps need no exact slopes."""
        outer = search.outer
        search.explain(
            "`auto` serves LowRank itself only where values are exact: the run is handed to "
            "`szoht` with its line search."
        )
        sampler = Seeds() if self.seeded else Full()
        other = szoht(constraint=self.operator, sampler=sampler, d=outer.x.size)
        state = other.init(outer.x, seed=outer.seed, n_samples=outer.n_samples)
        while not state.finished:
            plan = other.ask(state)
            state = other.tell(state, plan, (yield plan))
            outer.x, outer.iteration = state.x, state.iteration
            outer.best = state.best or outer.best


def _solve(manifold: Manifold, start: EvaluatedPoint) -> Steps[None]:
    """Descend; then exchange a part of rank one, and restart around the answer."""
    context = manifold.context
    point = yield from _descend(manifold, start)
    failed = agreeing = 0
    while failed <= RESTARTS or math.isinf(context.effort):
        if np.abs(point.z).max() > MAX_UNITS:
            context.outer.ending = Ending.UNBOUNDED
            return
        elsewhere = yield from (_perturbed if failed else _exchanged)(manifold, point)
        found = yield from _descend(manifold, elsewhere)
        fall, gain = elsewhere.value - point.value, point.value - found.value
        if gain > GAIN * abs(context.first_value - point.value):
            context.explain(f"from elsewhere f fell to {found.value:.6g}.")
            failed = agreeing = 0
        else:
            agreeing += failed > 0 and abs(gain) <= AGREE * fall
            failed += 1
        point = found if gain > 0 else point
        context.accept(point)
    _end(manifold, agreeing)


def _descend(manifold: Manifold, point: EvaluatedPoint) -> Steps[EvaluatedPoint]:
    """Let parts of rank one join where more may, and solve on the manifold."""
    if manifold.rank(point) < manifold.r:
        gradient = yield from manifold.sense(point)
        moved = yield from manifold.descend_along(point, gradient)
        if moved is point:
            return point
        point = moved
        manifold.context.accept(point)
    solved = yield from manifold.minimize(point)
    manifold.context.explain(f"on the manifold f fell to {solved.value:.6g}.")
    return solved


def _exchanged(manifold: Manifold, point: EvaluatedPoint) -> Steps[EvaluatedPoint]:
    """Return the point without its smallest part of rank one: another one may take its place."""
    left, values, right = truncated(manifold.matrix(point), manifold.r - 1)
    z = ((left * values) @ right.T).ravel()
    return EvaluatedPoint(z, (yield from manifold.context.value(z)))


def _perturbed(manifold: Manifold, point: EvaluatedPoint) -> Steps[EvaluatedPoint]:
    """Return a point some way off on the manifold."""
    matrix = manifold.matrix(point)
    random = manifold.context.generator().standard_normal(manifold.shape)
    space = TangentSpace(matrix, manifold.r)
    step = space.project(random)
    size = float(np.linalg.norm(matrix)) or 1.0
    z = space.retract(PERTURBED * size / float(np.linalg.norm(step)) * step).ravel()
    return EvaluatedPoint(z, (yield from manifold.context.value(z)))


def _end(manifold: Manifold, agreeing: int) -> None:
    """Say how the run ended and on what evidence."""
    context, noise = manifold.context, manifold.noise
    ending = Ending.CONVERGED if agreeing == RESTARTS else Ending.EXHAUSTED
    if not context.gains > 0:
        ending = Ending.NO_PROGRESS
    if 2 * context.failures > context.spent:
        ending = Ending.MOSTLY_FAILED
    context.outer.ending = ending
    context.outer.evidence = Evidence(
        noise=noise.kind.value,
        noise_level=noise.sigma,
        slopes="one difference along every direction of the tangent space",
        lengths=(noise.axis_step,),
        restarts=RESTARTS,
        restarts_agreeing=agreeing,
    )
    context.explain(f"{agreeing} of {RESTARTS} restarts came back; {ending.value}: done.")


def _spend_rest(context: SearchContext, operator: LowRank) -> Steps[None]:
    """Use what is left of a budget that is too small for the next plan: single points."""
    context.explain(f"{context.left:.0f} queries are left: they go to single points.")
    p, q = operator.shape
    while True:  # the budget ends it
        assert context.best is not None, "the start was measured"  # noqa: S101
        generator, best = context.generator(), context.best.z
        size = float(np.linalg.norm(best)) or 1.0
        step = np.outer(generator.standard_normal(p), generator.standard_normal(q)).ravel()
        length = size * 10 ** generator.uniform(-3, 0) / float(np.linalg.norm(step))
        yield from context.point(operator.prox(best + length * step, 1.0))
