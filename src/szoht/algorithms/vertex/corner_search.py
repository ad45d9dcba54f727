"""Corner search: exchanges among corners of a box, guided by a Gaussian model of the slopes."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.algorithms.defaults import pick_operator
from szoht.algorithms.generator import GeneratorAlgorithm, SolverContext, Steps
from szoht.algorithms.vertex.box_vertices import BoxVertices, check_box
from szoht.algorithms.vertex.slope_model import SlopeModel, SlopePrior
from szoht.algorithms.vertex.sparse_rs import exchange
from szoht.core.query import Plan
from szoht.core.random import Purpose
from szoht.core.validation import check_integer, check_real
from szoht.errors import ParameterError
from szoht.operators import GroupSparse, Operator, SparseBox
from szoht.types import Indices, Sample, Vector

__all__ = ["CornerSearch", "corner_search"]

HALVED_AFTER = 10
"""Queries in vain after which half as many units are exchanged."""

PATIENCE = 10
"""Queries in vain after which every second exchange is drawn uniformly: the model may be wrong."""

GRID_DIMENSIONS = 3


class Held(NamedTuple):
    """A point with k units at corners, and which they are."""

    x: Vector
    units: Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class CornerSearch(GeneratorAlgorithm):
    """Thompson sampling over corners; see `corner_search`."""

    operator: SparseBox | GroupSparse
    grid: Indices | None
    share: float
    length: float
    smooth: float
    shared: float
    noise: float
    window: int

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
        """Measure zero and a first guess, then exchange units of the best point."""
        d = context.x.size
        self._check_grid(d)
        corners = BoxVertices.of(self.operator, d)
        generator = context.key().generator(Purpose.DIRECTIONS)
        model = self._model(d)
        zero = np.zeros(d)
        tried = self._first(corners, model.draw(generator))
        at_zero, answer = yield Plan(queries=(context.query(zero), context.query(tried.x)))
        level, value = float(at_zero.values[0]), float(answer.values[0])
        context.note(zero, level)
        held, best, in_vain = tried, math.inf, 0
        while True:
            context.note(tried.x, value)
            if not math.isnan(value - level):
                model.add(tried.x, value - level)
            in_vain += 1
            if value < best:  # NaN is never better
                held, best, in_vain = tried, value, 0
            context.move(held.x, best if math.isfinite(best) else math.nan)
            if in_vain > PATIENCE and generator.random() < 1 / 2:
                tried = self._anywhere(corners, generator, held, in_vain)
            else:
                tried = self._guided(corners, model.draw(generator), held, in_vain)
            (answer,) = yield Plan(queries=(context.query(tried.x),))
            value = float(answer.values[0])

    def _model(self, d: int) -> SlopeModel:
        prior = SlopePrior(
            d=d, grid=self.grid, length=self.length, smooth=self.smooth, shared=self.shared
        )
        return SlopeModel(prior=prior, noise=self.noise, window=self.window)

    def _first(self, corners: BoxVertices, slopes: Vector) -> Held:
        """Take the k units that lower the linear model most."""
        corner, gains = _best_corner(corners, slopes)
        units = np.argsort(-gains, kind="stable")[: self.operator.k]
        nothing = units[:0]
        return Held(corners.exchanged(np.zeros(slopes.size), nothing, units, corner), units)

    def _guided(self, corners: BoxVertices, slopes: Vector, held: Held, in_vain: int) -> Held:
        """Exchange the units that do least, by the model, for those that would do most.

        At least one is exchanged or, if all units are in use, set to another corner.
        """
        corner, gains = _best_corner(corners, slopes)
        now = corners.per_unit(-slopes * held.x)[held.units]
        order = np.argsort(now, kind="stable")[: self._size(in_vain)]
        outside = gains.copy()
        outside[held.units] = -math.inf
        best = np.argpartition(-outside, min(order.size, outside.size) - 1)[: order.size]
        best = best[np.argsort(-outside[best], kind="stable")]
        swap = outside[best] > now[order]
        swap[0] = outside[best[0]] > -math.inf
        if not swap.any():
            best, swap = held.units[order], np.ones(order.size, dtype=bool)
        return _exchanged(corners, held, order[swap], best[swap], corner)

    def _anywhere(
        self, corners: BoxVertices, generator: np.random.Generator, held: Held, in_vain: int
    ) -> Held:
        """Exchange units drawn uniformly; corners too, but none that changes nothing."""
        size = self._size(in_vain)
        places, into = exchange(generator, held.units, corners.n_units, size)
        every = np.arange(held.x.size)
        drawn = corners.random(generator, every)
        return _exchanged(corners, held, places, into, np.where(drawn == 0, corners.far, drawn))

    def _size(self, in_vain: int) -> int:
        """Return how many units are exchanged: fewer, the longer nothing was gained."""
        return max(int(self.share * 0.5 ** (in_vain / HALVED_AFTER) * self.operator.k), 1)

    def _check_grid(self, d: int) -> None:
        if self.grid is not None and not np.array_equal(
            np.sort(self.grid, axis=None), np.arange(d)
        ):
            raise ParameterError(
                f"`grid` must hold each of the coordinates 0 to {d - 1} once; got an array of "
                f"shape {self.grid.shape}."
            )


def _best_corner(corners: BoxVertices, slopes: Vector) -> tuple[Vector, Vector]:
    """Return the corner of each coordinate that lowers <slopes, x>, and by how much per unit."""
    corner = np.where(slopes > 0, corners.low, corners.high)
    return corner, corners.per_unit(-slopes * corner)


def _exchanged(
    corners: BoxVertices, held: Held, places: Indices, into: Indices, corner: Vector
) -> Held:
    units = held.units.copy()
    units[places] = into
    return Held(corners.exchanged(held.x, held.units[places], into, corner), units)


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
    """Learn slopes from values at corners of a box, and exchange units accordingly.

    Wherever few units matter and large changes pay, as in few-pixel attacks, good points sit at
    corners. The values at corner points x_i tried so far are modelled as
    ``f(x_i) - f(0) = <g, x_i> + noise`` with normal slopes g, those of neighbours on ``grid``
    correlated. Each iteration draws g from the posterior, exchanges those of the k units of the
    best point that do least by it for those that would do most, and asks for f there. The longer
    nothing is gained, the fewer are exchanged, and every second exchange is drawn uniformly.

    Parameters
    ----------
    k : int
        Taken only to say that bounds are missing.
    constraint : SparseBox or GroupSparse
        With finite bounds; a unit is a coordinate or a group.
    grid : array of int of shape (channels, height, width), optional
        Which coordinate is where, so that neighbors are known; `szoht.attack` gives it to every
        method that has this parameter.
    share : float
        The part of the units exchanged at most, in (0, 1].
    length : float
        Over how many places slopes are alike, >= 0.
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
    places = np.array(grid)
    if places.ndim != GRID_DIMENSIONS or places.dtype.kind not in "iu":
        raise ParameterError(
            "`grid` must hold integers in the shape (channels, height, width); got "
            f"{places.dtype} of shape {places.shape}."
        )
    places.flags.writeable = False
    return places
