"""Corner search: swaps among vertices of a box, guided by a Gaussian model of the slopes."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.algorithms.vertex.box_vertices import BoxVertices, check_box
from szoht.algorithms.vertex.slope_model import SlopeModel, SlopePrior
from szoht.algorithms.vertex.sparse_rs import random_swap
from szoht.core.query import Plan
from szoht.core.random import Purpose
from szoht.core.validation import check_integer, check_real
from szoht.errors import ParameterError
from szoht.operators import GroupSparse, Operator, SparseBox
from szoht.types import Indices, Sample, Vector

__all__ = ["CornerSearch", "corner_search"]

HALVING_QUERIES = 10
"""Queries without a gain after which half as many groups are swapped."""

MAX_STALLED_QUERIES = 10
"""Queries without a gain after which every second swap is uniform: the model may be wrong."""

GRID_NDIM = 3


class Candidate(NamedTuple):
    """A point with k groups at bounds, and which they are."""

    x: Vector
    groups: Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class CornerSearch(GeneratorAlgorithm):
    """Thompson sampling over vertices; see `corner_search`."""

    operator: SparseBox | GroupSparse
    grid: Indices | None
    share: float
    length: float
    smooth: float
    shared: float
    noise: float
    window: int
    asks_integers: ClassVar[bool] = True

    def __repr__(self) -> str:
        shape = None if self.grid is None else self.grid.shape
        rest = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in ("share", "length", "smooth", "shared", "noise", "window")
        )
        return f"CornerSearch(operator={self.operator!r}, grid of shape {shape}, {rest})"

    def sample(self, seed: int, n_samples: int | None) -> Sample:
        """Take a finite sum as a whole: values must be comparable."""
        del seed
        return None if n_samples is None else np.arange(n_samples)

    def steps(self, context: SolverContext) -> Steps[None]:
        """Measure zero and a first guess, then swap groups of the best point."""
        d = context.x.size
        self._check_grid(d)
        vertices = BoxVertices.of(self.operator, d)
        generator = context.key().generator(Purpose.DIRECTIONS)
        model = self._model(d)
        zero = np.zeros(d)
        candidate = self._initial(vertices, model.draw(generator))
        at_zero, answer = yield Plan(queries=(context.query(zero), context.query(candidate.x)))
        level, value = float(at_zero.values[0]), float(answer.values[0])
        context.note(zero, level)
        incumbent, best, n_stalled = candidate, math.inf, 0
        while True:
            context.note(candidate.x, value)
            if not math.isnan(value - level):
                model.add(candidate.x, value - level)
            n_stalled += 1
            if value < best:  # NaN is never better
                incumbent, best, n_stalled = candidate, value, 0
            context.move(incumbent.x, best if math.isfinite(best) else math.nan)
            if n_stalled > MAX_STALLED_QUERIES and generator.random() < 1 / 2:
                candidate = self._uniform_swap(vertices, generator, incumbent, n_stalled)
            else:
                candidate = self._model_swap(vertices, model.draw(generator), incumbent, n_stalled)
            (answer,) = yield Plan(queries=(context.query(candidate.x),))
            value = float(answer.values[0])

    def _model(self, d: int) -> SlopeModel:
        prior = SlopePrior(
            d=d, grid=self.grid, length=self.length, smooth=self.smooth, shared=self.shared
        )
        return SlopeModel(prior=prior, noise=self.noise, window=self.window)

    def _initial(self, vertices: BoxVertices, slopes: Vector) -> Candidate:
        """Take the k groups that lower the linear model most."""
        vertex, gains = _best_vertex(vertices, slopes)
        groups = np.argsort(-gains, kind="stable")[: self.operator.k]
        nothing = groups[:0]
        return Candidate(vertices.swapped(np.zeros(slopes.size), nothing, groups, vertex), groups)

    def _model_swap(
        self, vertices: BoxVertices, slopes: Vector, incumbent: Candidate, n_stalled: int
    ) -> Candidate:
        """Swap the groups that lower the model least for those that would lower it most.

        At least one is swapped or, if all groups are in use, set to another vertex.
        """
        vertex, gains = _best_vertex(vertices, slopes)
        now = vertices.sum_per_group(-slopes * incumbent.x)[incumbent.groups]
        order = np.argsort(now, kind="stable")[: self._size(n_stalled)]
        outside = gains.copy()
        outside[incumbent.groups] = -math.inf
        best = np.argpartition(-outside, min(order.size, outside.size) - 1)[: order.size]
        best = best[np.argsort(-outside[best], kind="stable")]
        swap = outside[best] > now[order]
        swap[0] = outside[best[0]] > -math.inf
        if not swap.any():
            best, swap = incumbent.groups[order], np.ones(order.size, dtype=bool)
        return _swapped(vertices, incumbent, order[swap], best[swap], vertex)

    def _uniform_swap(
        self,
        vertices: BoxVertices,
        generator: np.random.Generator,
        incumbent: Candidate,
        n_stalled: int,
    ) -> Candidate:
        """Swap groups and vertices sampled uniformly, but no vertex at zero."""
        size = self._size(n_stalled)
        positions, incoming = random_swap(generator, incumbent.groups, vertices.n_groups, size)
        every = np.arange(incumbent.x.size)
        sampled = vertices.random(generator, every)
        return _swapped(
            vertices, incumbent, positions, incoming, np.where(sampled == 0, vertices.far, sampled)
        )

    def _size(self, n_stalled: int) -> int:
        """Return how many groups are swapped: fewer, the longer nothing was gained."""
        return max(int(self.share * 0.5 ** (n_stalled / HALVING_QUERIES) * self.operator.k), 1)

    def _check_grid(self, d: int) -> None:
        if self.grid is not None and not np.array_equal(
            np.sort(self.grid, axis=None), np.arange(d)
        ):
            raise ParameterError(
                f"`grid` must hold each of the coordinates 0 to {d - 1} once; got an array of "
                f"shape {self.grid.shape}."
            )


def _best_vertex(vertices: BoxVertices, slopes: Vector) -> tuple[Vector, Vector]:
    """Return the vertex of each coordinate that lowers <slopes, x>, and by how much per group."""
    vertex = np.where(slopes > 0, vertices.low, vertices.high)
    return vertex, vertices.sum_per_group(-slopes * vertex)


def _swapped(
    vertices: BoxVertices,
    incumbent: Candidate,
    positions: Indices,
    incoming: Indices,
    vertex: Vector,
) -> Candidate:
    groups = incumbent.groups.copy()
    groups[positions] = incoming
    return Candidate(
        vertices.swapped(incumbent.x, incumbent.groups[positions], incoming, vertex), groups
    )


def corner_search(
    *,
    k: int | None = None,
    constraint: Operator | None = None,
    grid: Indices | None = None,
    share: float = 0.3,
    length: float = 1.0,
    smooth: float = 0.8,
    shared: float = 0.5,
    noise: float = 0.3,
    window: int = 90,
) -> CornerSearch:
    """Learn slopes from values at vertices of a box, and swap groups accordingly.

    Where few groups matter and large changes pay, as in few-pixel attacks, good points are
    vertices. The values at the vertices x_i evaluated so far are modeled as
    ``f(x_i) - f(0) = <g, x_i> + noise`` with normal slopes g, those of neighbors on ``grid``
    correlated. Each iteration draws g from the posterior, swaps those of the k groups of the
    best point that lower it least for those that would lower it most, and evaluates f there. The
    longer nothing is gained, the fewer are swapped, and every second swap is uniform.

    Parameters
    ----------
    k : int
        Accepted only to report that bounds are missing.
    constraint : SparseBox or GroupSparse
        With finite bounds; a group is a coordinate, or one of ``groups``.
    grid : array of int of shape (channels, height, width), optional
        Which coordinate is where, so that neighbors are known; `szoht.attack` gives it to every
        method that has this parameter.
    share : float
        The part of the groups swapped at most, in (0, 1].
    length : float
        Over how many positions slopes are alike, >= 0.
    smooth, shared : float
        Which part of a slope's variance is smooth, and which part of that all channels of a place
        share, in [0, 1].
    noise : float
        The variance of what is not linear, relative to the model's, > 0.
    window : int
        Values that the model remembers, >= 10.

    Examples
    --------
    >>> import numpy as np
    >>> from szoht import SparseBox, minimize
    >>> slopes = np.random.default_rng(0).standard_normal(200)
    >>> result = minimize(
    ...     lambda x: float(slopes @ x),
    ...     np.zeros(200),
    ...     constraint=SparseBox(5, low=-1.0, high=1.0),
    ...     method="corner_search",
    ...     max_queries=500,
    ...     rng=0,
    ... )
    >>> best = -np.sort(np.abs(slopes))[-5:].sum()
    >>> bool(result.fun < 0.8 * best)
    True

    Notes
    -----
    One query per iteration; the first one has a second, at zero. Time O(d + window^2) and
    memory O(d + window (k + window)) per query.
    """
    operator = check_box(pick_operator(k, constraint), "corner_search")
    for name, value in {"share": share, "noise": noise}.items():
        check_real(name, value, low=0.0, open_low=True, high=1.0 if name == "share" else math.inf)
    check_real("length", length, low=0.0)
    for name, value in {"smooth": smooth, "shared": shared}.items():
        check_real(name, value, low=0.0, high=1.0)
    check_integer("window", window, low=10)
    return CornerSearch(
        operator=operator,
        grid=None if grid is None else _as_grid(grid),
        share=share,
        length=length,
        smooth=smooth,
        shared=shared,
        noise=noise,
        window=window,
    )


def _as_grid(grid: Indices) -> Indices:
    positions = np.array(grid)
    if positions.ndim != GRID_NDIM or positions.dtype.kind not in "iu":
        raise ParameterError(
            "`grid` must hold integers in the shape (channels, height, width); got "
            f"{positions.dtype} of shape {positions.shape}."
        )
    positions.flags.writeable = False
    return positions
