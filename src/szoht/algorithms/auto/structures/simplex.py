"""At most k weights, none negative, with a given sum: long-only portfolios of few assets."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from szoht.algorithms.auto.records import Curvature, NoiseModel
from szoht.algorithms.auto.restricted.simplex_model import best_step, worth
from szoht.algorithms.auto.structures.given_sum import GivenSum
from szoht.algorithms.auto.structures.long_only import LongOnly
from szoht.core.directions import ArrayDirections, Directions
from szoht.core.validation import frozen
from szoht.estimators.sensing import Recovery
from szoht.types import Indices, Vector

__all__ = ["Simplex"]

ROUNDED = 4e-16
"""Sums this close to one are one, but for rounding."""

VANISHING = 1e-12
"""A step away from a vertex leads elsewhere if the others weigh at least this much."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Simplex(LongOnly, GivenSum):
    """The set {x : ||x||_0 <= k, x >= 0, sum(x) = total}; atoms are its vertices.

    Any z that is not negative stands for ``total * z / sum(z)``, so that whatever is evaluated
    lies on the simplex. A step along axis i then leads towards vertex i, and its slope is
    ``g_i - g' z``, g being the gradient of f: the reduced cost of the vertex. Those of the weights
    that are not zero vanish at a minimum, the others are not negative.
    The methods that are not here are those of `LongOnly` and `GivenSum`.
    """

    sums_to_one = True

    def __post_init__(self) -> None:
        if self.total != 1:
            object.__setattr__(self, "unit", frozen(np.full(self.d, self.total)))

    @cached_property
    def low(self) -> Vector:
        """No weight is negative."""
        return frozen(np.zeros(self.d))

    @cached_property
    def high(self) -> Vector:
        """One weight may be all."""
        return frozen(np.ones(self.d))

    @property
    def longest_row(self) -> float:
        """The longest differences that fit along rows: all weights must be larger."""
        return 0.4 / self.d

    def to_x(self, z: Vector) -> Vector:
        """Return the point of the simplex for which ``z`` stands."""
        return self.clip(z) * self.total

    def to_z(self, x: Vector) -> Vector:
        """Return the weights."""
        return self.clip(np.asarray(x, dtype=float) / self.total)

    def clip(self, z: Vector) -> Vector:
        """Return weights, none negative, that sum to one; the first vertex if all are zero."""
        weights = np.maximum(z, 0.0)
        total = float(weights.sum())
        if not 0 < total < np.inf:
            weights = np.zeros(self.d)
            weights[0] = total = 1.0
        # weights that are right but for rounding stay as they are
        return weights if abs(total - 1) <= ROUNDED else np.asarray(weights / total)

    def contains(self, z: Vector) -> bool:
        """Tell whether at most k weights are not zero, and none is negative."""
        return 0 < int(np.count_nonzero(z)) <= self.size and bool((z >= 0).all())

    def axes(self, x: Vector, support: Indices, steps: Vector) -> Directions:
        """Return what steps along axes of z add to ``x``: moves towards vertices, or away.

        A step s takes x to (x + s total e_i) / (1 + s).
        """
        support = np.asarray(support, dtype=np.intp)
        here = np.flatnonzero(x)
        outside = np.setdiff1d(np.arange(self.d), here, assume_unique=True)
        steps = np.maximum(steps, -x[support] / self.total)
        # away from the only vertex there is no way
        possible = steps > -1 + VANISHING
        shares = np.where(possible, steps / np.where(possible, 1 + steps, 1.0), 0.0)
        values = -shares[:, np.newaxis] * x[here]
        indices = np.broadcast_to(here, values.shape)
        if outside.size:
            # one more column: the vertex itself, or for those in `here` any other that stays zero
            own = np.where(x[support] == 0, support, outside[0])
            indices = np.column_stack([indices, own])
            values = np.column_stack([values, np.zeros(support.size)])
        row, column = np.nonzero(indices == support[:, np.newaxis])
        values[row, column] += shares[row] * self.total
        # a weight that is to vanish does so in spite of rounding
        values[row, column] = np.maximum(values[row, column], -x[support[row]])
        return ArrayDirections(d=self.d, indices=indices, values=values)

    def line(self, z: Vector, signs: Vector, length: float) -> Vector:
        """Return the direction towards a point of the simplex with random weights."""
        del length
        weights = 1 + 0.5 * signs
        return np.asarray(weights / weights.sum() - z)

    def base(self, z: Vector, length: float) -> Vector:
        """Return a point close by with weights that are all larger than rows of this length."""
        share = min(2 * length * self.d, 0.9)
        return self.clip((1 - share) * self.clip(z) + share / self.d)

    def along_rows(self, noise: NoiseModel) -> NoiseModel:
        """Return short differences: all weights together change by one over a length of 1 / d."""
        return replace(noise, row_step=noise.axis_step / self.d, curvature=0.0)

    def slopes(self, z: Vector, recovery: Recovery) -> tuple[Vector, Indices]:
        """Return reduced costs, and the vertices found, the most promising first.

        Rows that sum to zero show slopes up to a constant, and so does sparse recovery: reduced
        costs are the same for all constants.
        """
        gradient = np.zeros_like(z)
        gradient[recovery.support] = recovery.slopes
        values = gradient - float(gradient @ z) / float(z.sum())
        found = recovery.support
        found = found[(values[found] < 0) | (z[found] > 0)]
        promise = np.where(z[found] > 0, 0.0, self.promise(values[found]))
        return values, found[np.argsort(-promise, kind="stable")]

    def axis_slopes(self, z: Vector, gradient: Vector) -> Vector:
        """Return reduced costs: what is added to one weight is taken from all of them."""
        weights = self.clip(z)
        return np.asarray(self.total * (gradient - float(gradient @ weights)))

    def by_models(self, z: Vector) -> bool:
        """Weights change at the expense of each other, always."""
        del z
        return True

    def centering(self, z: Vector) -> Vector:
        """Take what is added to one weight from all of them."""
        return self.clip(z)

    def best_step(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector, *, fits: bool
    ) -> Vector:
        """Return the step that minimizes a quadratic model over weights that sum to one."""
        del fits
        return best_step(slopes, hessian, z[support])

    def prune(self, z: Vector, curvature: Curvature | None, size: int) -> Vector:
        """Drop one weight after the other, that which costs least; the others follow the model."""
        support = np.flatnonzero(z)
        if support.size <= size:
            return self.clip(z)
        if curvature is None or not np.isin(support, curvature.support).all():
            order = np.argsort(-z[support], kind="stable")
            return self.without(z, support[order[size:]])
        place = np.searchsorted(curvature.support, support)
        whole = np.asarray(np.linalg.pinv(curvature.inverse), dtype=np.float64)
        hessian = whole[np.ix_(place, place)]
        weights, gone = z[support], np.zeros(support.size, dtype=bool)
        flat = np.zeros(support.size)
        while np.count_nonzero(weights) > size:
            left = np.flatnonzero(weights)
            inverse = np.asarray(np.linalg.pinv(hessian[np.ix_(left, left)]), dtype=np.float64)
            cost = worth(weights[left], inverse)
            gone[left[np.argmin(cost)]] = True
            weights = np.maximum(weights + best_step(flat, hessian, weights, gone), 0.0)
            weights[weights <= 1e-9 * weights.max()] = 0.0
        pruned = np.zeros_like(z)
        pruned[support] = weights
        return self.clip(pruned)

    def without(self, z: Vector, coordinates: Indices) -> Vector:
        """Return the point with some weights zero, unless these are all."""
        pruned = super().without(z, coordinates)
        return self.clip(pruned if pruned.any() else z)
