"""Sparse-RS: random search over vertices of a box with few non-zero groups."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.algorithms.vertex.box_vertices import BoxVertices, check_box
from szoht.core.query import Plan
from szoht.core.random import Purpose
from szoht.core.validation import check_integer, check_real
from szoht.operators import GroupSparse, Operator, SparseBox
from szoht.types import Indices, Sample, Vector

__all__ = ["SparseRS", "random_swap", "sparse_rs", "swap_fraction"]

REFERENCE_ITERATIONS = 10_000
FRACTION_BREAKPOINTS = (0, 50, 200, 500, 1000, 2000, 4000, 6000, 8000)
FRACTION_DIVISORS = (1, 2, 4, 5, 6, 8, 10, 12, 15, 20)


def swap_fraction(iteration: int, horizon: int) -> float:
    """Return which fraction of ``share`` is swapped in an iteration, counted from 1.

    Piecewise constant, from 1/2 to 1/20 over a run of ``horizon`` iterations.

    >>> [swap_fraction(i, 10_000) for i in (1, 51, 9_000)]
    [0.5, 0.25, 0.05]
    """
    scaled = int(iteration / horizon * REFERENCE_ITERATIONS)
    return 1 / FRACTION_DIVISORS[int(np.searchsorted(FRACTION_BREAKPOINTS, scaled, side="left"))]


def random_swap(
    generator: np.random.Generator, chosen: Indices, n_groups: int, size: int
) -> tuple[Indices, Indices]:
    """Return positions in ``chosen`` to remove, and as many groups outside it, sampled uniformly.

    If there are no groups outside, the removed ones come back.
    """
    outside = np.setdiff1d(np.arange(n_groups), chosen, assume_unique=True)
    size = min(size, outside.size) if outside.size else size
    positions = generator.choice(chosen.size, size, replace=False)
    if not outside.size:
        return positions, chosen[positions]
    return positions, generator.choice(outside, size, replace=False)


@dataclass(frozen=True, kw_only=True)
class SparseRS(GeneratorAlgorithm):
    """Random search over vertices with k non-zero groups; see `sparse_rs`."""

    operator: SparseBox | GroupSparse
    share: float
    horizon: int
    asks_integers: ClassVar[bool] = True

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Take a finite sum as a whole: values must be comparable."""
        del seed
        return None if n_samples is None else np.arange(n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Swap some of the k groups; keep the better point."""
        vertices = BoxVertices.of(self.operator, context.x.size)
        generator = context.key().generator(Purpose.DIRECTIONS)
        chosen = generator.choice(vertices.n_groups, self.operator.k, replace=False)
        x = np.zeros(context.x.size)
        there = vertices.coordinates(chosen)
        x[there] = vertices.random(generator, there)
        best = math.inf
        candidate, groups = x, chosen
        iteration = 0
        while True:
            (answer,) = yield Plan(queries=(context.query(candidate),))
            value = float(answer.values[0])
            context.note(candidate, value)
            if iteration == 0 or value < best:  # NaN is never better
                x, chosen = candidate, groups
                best = math.inf if math.isnan(value) else value
            context.move(x, best if math.isfinite(best) else math.nan)
            iteration += 1
            fraction = self.share * swap_fraction(iteration, self.horizon)
            size = max(int(fraction * self.operator.k), 1)
            positions, incoming = random_swap(generator, chosen, vertices.n_groups, size)
            candidate = _swapped(generator, vertices, x, chosen[positions], incoming)
            groups = chosen.copy()
            groups[positions] = incoming


def _swapped(
    generator: np.random.Generator,
    vertices: BoxVertices,
    x: Vector,
    outgoing: Indices,
    incoming: Indices,
) -> Vector:
    """Return ``x`` with the groups ``outgoing`` at zero and ``incoming`` at random vertices.

    A single group gets a vertex other than its value in ``x``. Else half of the swaps of one pixel
    of a black background would only take another pixel away.
    """
    there = vertices.coordinates(incoming)
    vertex = np.zeros_like(x)
    vertex[there] = vertices.random(generator, there)
    must_change = incoming.size == 1 and vertices.can_change(x, there)
    while must_change and np.array_equal(vertex[there], x[there]):
        vertex[there] = vertices.random(generator, there)
    return vertices.swapped(x, outgoing, incoming, vertex)


def sparse_rs(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    share: float = 0.3,
    horizon: int | None = None,
    max_queries: int | None = None,
) -> SparseRS:
    """Search at random among points whose k non-zero groups are at bounds of a box.

    Start with k random groups at random vertices. Each iteration puts
    ``max(floor(share p_t k), 1)`` of them back to zero and as many others to random vertices, and
    keeps the change if f decreases; p_t falls from 1/2 to 1/20 over ``horizon`` iterations. If one
    group is swapped, its vertex is drawn among those that differ from its value.

    Parameters
    ----------
    k : int
        Accepted only to report that bounds are missing.
    constraint : SparseBox or GroupSparse
        With finite bounds; a group is a coordinate, or one of ``groups``.
    share : float
        In (0, 1]; 0.3 for untargeted and 0.1 for targeted attacks in the reference.
    horizon : int
        Iterations over which the share falls, >= 1; by default the budget, as in the reference.
    max_queries : int, optional
        The budget, if it is known: `minimize` fills it in. Without one ``horizon`` is 10,000.

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
    One query per iteration. The start ``x0`` is not used: f is never evaluated there.

    References
    ----------
    Croce, Andriushchenko, Singh, Flammarion, Hein, Sparse-RS: a versatile framework for
    query-efficient sparse black-box adversarial attacks, AAAI 2022.
    """
    operator = check_box(pick_operator(k, constraint), "sparse_rs")
    check_real("share", share, low=0.0, high=1.0, open_low=True)
    if horizon is None:
        horizon = max(1, max_queries) if max_queries is not None else REFERENCE_ITERATIONS
    check_integer("horizon", horizon, low=1)
    return SparseRS(operator=operator, share=share, horizon=horizon)
