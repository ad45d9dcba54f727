"""Sparse-RS: random search over few units that sit at corners of a box."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.algorithms.vertex.box_vertices import BoxVertices, check_box
from szoht.core.query import Plan
from szoht.core.random import Purpose
from szoht.core.validation import check_integer, check_real
from szoht.operators import GroupSparse, Operator, SparseBox
from szoht.types import Indices, Sample, Vector

__all__ = ["SparseRS", "exchange", "exchange_share", "sparse_rs"]

HORIZON = 10_000
BREAKS = (0, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)
DIVISORS = (1, 2, 4, 5, 6, 8, 10, 12, 15, 20)


def exchange_share(iteration: int, horizon: int) -> float:
    """Return which part of ``share`` is exchanged in an iteration, counted from 1.

    Piecewise constant, from 1/2 to 1/20 over a run of ``horizon`` iterations.

    >>> [exchange_share(i, 10_000) for i in (1, 51, 9_000)]
    [0.5, 0.25, 0.05]
    """
    scaled = int(iteration / horizon * HORIZON)
    return 1 / DIVISORS[int(np.searchsorted(BREAKS, scaled, side="left"))]


def exchange(
    generator: np.random.Generator, chosen: Indices, n_units: int, size: int
) -> tuple[Indices, Indices]:
    """Return places in ``chosen`` to give up, and as many units outside it, all drawn uniformly.

    If there are no units outside, those given up are the ones that come in.
    """
    outside = np.setdiff1d(np.arange(n_units), chosen, assume_unique=True)
    size = min(size, outside.size) if outside.size else size
    places = generator.choice(chosen.size, size, replace=False)
    if not outside.size:
        return places, chosen[places]
    return places, generator.choice(outside, size, replace=False)


@dataclass(frozen=True, kw_only=True)
class SparseRS(GeneratorAlgorithm):
    """Random search over k units at corners; see `sparse_rs`."""

    operator: SparseBox | GroupSparse
    share: float
    horizon: int

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Take a finite sum as a whole: values must be comparable."""
        del seed
        return None if n_samples is None else np.arange(n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Exchange some of the k units; keep what is better."""
        corners = BoxVertices.of(self.operator, context.x.size)
        generator = context.key().generator(Purpose.DIRECTIONS)
        chosen = generator.choice(corners.n_units, self.operator.k, replace=False)
        nothing = np.zeros(context.x.size)
        x = self._moved(generator, corners, nothing, chosen[:0], chosen)
        best = math.inf
        candidate, units = x, chosen
        iteration = 0
        while True:
            (answer,) = yield Plan(queries=(context.query(candidate),))
            value = float(answer.values[0])
            context.note(candidate, value)
            if iteration == 0 or value < best:  # NaN is never better
                x, chosen = candidate, units
                best = math.inf if math.isnan(value) else value
            context.move(x, best if math.isfinite(best) else math.nan)
            iteration += 1
            part = self.share * exchange_share(iteration, self.horizon)
            size = max(int(part * self.operator.k), 1)
            places, into = exchange(generator, chosen, corners.n_units, size)
            candidate = self._moved(generator, corners, x, chosen[places], into)
            units = chosen.copy()
            units[places] = into

    @staticmethod
    def _moved(
        generator: np.random.Generator, corners: BoxVertices, x: Vector, out: Indices, into: Indices
    ) -> Vector:
        corner = np.zeros_like(x)
        there = corners.coordinates(into)
        corner[there] = corners.random(generator, there)
        return corners.exchanged(x, out, into, corner)


def sparse_rs(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    share: float = 0.3,
    horizon: int = HORIZON,
) -> SparseRS:
    """Search at random among points whose k units sit at corners of a box.

    Start with k random units at random corners. Each iteration puts
    ``max(floor(share p_t k), 1)`` of them back to zero and as many others to random corners, and
    keeps the change if f decreases; p_t falls from 1/2 to 1/20 over ``horizon`` iterations.

    Parameters
    ----------
    k : int
        Taken only to say that bounds are missing.
    constraint : SparseBox or GroupSparse
        With finite bounds; a unit is a coordinate or a group.
    share : float
        In (0, 1]; 0.3 for untargeted and 0.1 for targeted attacks in the reference.
    horizon : int
        Iterations over which the share falls, >= 1; the reference's budget.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht import SparseBox, minimize
    >>> result = minimize(
    ...     lambda x: float(((x - np.eye(20)[3]) ** 2).sum()),
    ...     np.zeros(20),
    ...     constraint=SparseBox(1, low=-1.0, high=1.0),
    ...     method="sparse_rs",
    ...     max_queries=300,
    ...     rng=0,
    ... )
    >>> result.support
    array([3])

    Notes
    -----
    One query per iteration. The start ``x0`` is not used: f is never asked there.

    References
    ----------
    Croce, Andriushchenko, Singh, Flammarion, Hein, Sparse-RS: a versatile framework for
    query-efficient sparse black-box adversarial attacks, AAAI 2022.
    """
    operator = check_box(pick_operator(k, constraint), "sparse_rs")
    check_real("share", share, low=0.0, high=1.0, open_low=True)
    check_integer("horizon", horizon, low=1)
    return SparseRS(operator=operator, share=share, horizon=horizon)
