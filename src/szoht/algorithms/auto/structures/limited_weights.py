"""At most k weights with a given sum, each of them zero or within limits, few of a group."""

import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.records import Curvature, NoiseModel
from szoht.algorithms.auto.restricted.bounded_model import best_branch, bounded_step
from szoht.algorithms.auto.structures.fixed_sum import FixedSum
from szoht.algorithms.auto.structures.long_only import LongOnly
from szoht.core.directions import ArrayDirections, Directions
from szoht.core.validation import frozen
from szoht.estimators.sensing import Recovery
from szoht.operators import SparseSimplex
from szoht.operators.base import ranks_within
from szoht.operators.sparse_sum import onto_sum
from szoht.types import Indices, Mask, Vector

__all__ = ["LimitedWeights", "limited_weights"]

AT_LIMIT = 1e-12
"""A weight this close to a limit is there."""

ROOM = 1e-5
"""A weight this far from its limits has room for differences."""

ROUNDED_SUM = 1e-14
"""Sums this close to one are one, but for rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LimitedWeights(LongOnly, FixedSum):
    """The points of a `SparseSimplex` with limits, in shares of their sum.

    Probes keep to ``0 <= z <= highest`` and the sum; answers keep to ``least`` and the groups as
    well. A step along an axis is at the expense of all weights that are strictly between 0 and
    the largest, so that slopes are those of f less their mean over these. The methods that
    are not here are those of `LongOnly` and `FixedSum`.
    """

    least: float
    members: Indices | None = None
    per_group: int = 0

    sums_to_one = True

    @property
    def gaps(self) -> bool:  # type: ignore[override]
        """Whether weights must not be small."""
        return self.least > 0

    @property
    def independent(self) -> bool:  # type: ignore[override]
        """Whether any weights may be together."""
        return self.members is None

    @property
    def fewest(self) -> int:
        """The fewest weights that reach the sum."""
        return max(1, math.ceil(1 / self.highest * (1 - AT_LIMIT)))

    def clip(self, z: Vector) -> Vector:
        """Return the nearest point with the right sum on the support of ``z``, or on more."""
        if np.count_nonzero(z) < self.fewest:
            z = self._filled(z)
        inside = z.min() >= 0 and z.max() <= self.highest
        return z if inside and abs(float(z.sum()) - 1) <= ROUNDED_SUM else super().clip(z)

    def _filled(self, z: Vector) -> Vector:
        """Return a point with so many weights that they reach the sum, as groups allow."""
        worth_of = np.where(z != 0, 1.0, 0.0)
        atoms = self.atoms(np.arange(self.d))
        chosen = self.kept(atoms, worth_of, self.fewest)
        filled = z.copy()
        filled[np.setdiff1d(chosen, np.flatnonzero(z))] = AT_LIMIT
        return filled

    def nearest(self, z: Vector) -> Vector:
        """Return the nearest point with all of its weights within limits."""
        z = self.clip(z)
        support = np.flatnonzero(z)
        if not self.fits(support) or (z[support] >= self.least).all():
            return z
        moved = np.zeros(self.d)
        moved[support] = onto_sum(z[support], 1.0, self.least, self.highest)
        return moved

    def contains(self, z: Vector) -> bool:
        """Tell whether the weights, which go together, are within limits."""
        z = self.clip(z)
        support = np.flatnonzero(z)
        return self.fits(support) and bool((z[support] >= self.least - AT_LIMIT).all())

    def fits(self, coordinates: Indices) -> bool:
        """Tell whether these weights can have the sum, and groups allow them."""
        return (
            self.fewest <= coordinates.size <= self.size and not self._too_many(coordinates).any()
        )

    def _too_many(self, coordinates: Indices) -> Mask:
        """Tell which of these are of groups that have more of them than allowed."""
        if self.members is None:
            return np.zeros(coordinates.size, dtype=bool)
        groups = self.members[coordinates]
        many: Mask = np.bincount(groups)[groups] > self.per_group if groups.size else groups > 0
        return many

    # probes

    def _inner(self, z: Vector) -> Mask:
        """Tell which weights change at the expense of each other: all if none is between limits."""
        room = min(ROOM, 0.1 * self.highest)
        inner: Mask = (z > room) & (z < self.highest - room)
        return inner if inner.any() else z > 0

    def by_models(self, z: Vector) -> bool:
        """Weights change at the expense of each other, always."""
        del z
        return True

    def centering(self, z: Vector) -> Vector:
        """Take what is added to one weight from those between the limits alike."""
        inner = self._inner(self.clip(z))
        return inner / np.count_nonzero(inner)

    def axes(self, x: Vector, support: Indices, steps: Vector) -> Directions:
        """Return what steps along axes of z add to ``x``: at limits, others give more."""
        unit = 1.0 if self.unit is None else float(self.unit[0])
        z = x / unit
        inner = np.flatnonzero(self._inner(z))
        outside = np.setdiff1d(np.arange(self.d), inner, assume_unique=True)
        support = np.asarray(support, dtype=np.intp)
        among = np.isin(support, inner)
        # one more column: the coordinate itself, or any other that stays as it is
        spare = outside[0] if outside.size else inner[0]
        own = np.where(among, spare, support)
        indices = np.column_stack([np.broadcast_to(inner, (support.size, inner.size)), own])
        values = np.repeat(-steps[:, np.newaxis] / inner.size, inner.size + 1, axis=1)
        values[:, -1] = np.where(among, 0.0, steps)
        row, column = np.nonzero(indices[:, :-1] == support[:, np.newaxis])
        values[row, column] += steps[row]
        after = z[indices] + values
        if not outside.size:  # no column is left over
            indices, values, after = indices[:, :-1], values[:, :-1], after[:, :-1]
        leaving = ((after < 0) | (after > self.highest)).any(axis=1)
        if leaving.any():
            return self._projected(x, support, np.where(leaving, steps, 0.0), indices, values)
        return ArrayDirections(d=self.d, indices=indices, values=values * unit)

    def _projected(
        self, x: Vector, support: Indices, leaving: Vector, indices: Indices, values: Vector
    ) -> Directions:
        """Return steps of which some would leave the limits: these end at the nearest point."""
        unit = 1.0 if self.unit is None else float(self.unit[0])
        z = x / unit
        columns = np.flatnonzero(z)
        wide = np.column_stack(
            [np.broadcast_to(columns, (support.size, columns.size)), np.zeros_like(support)]
        )
        spare = np.setdiff1d(np.arange(self.d), columns, assume_unique=True)
        offsets = np.zeros(wide.shape)
        for row, (i, step) in enumerate(zip(support, leaving, strict=True)):
            moved = z.copy()
            if step:
                moved[i] += step
                enough = np.count_nonzero(moved) >= self.fewest
                moved = self.clip(moved) if enough else z
            else:
                np.add.at(moved, indices[row], values[row])
            wide[row, -1] = i if z[i] == 0 else spare[0] if spare.size else columns[0]
            offsets[row, :-1] = moved[columns] - z[columns]
            offsets[row, -1] = moved[i] if z[i] == 0 else 0.0
        if not spare.size:
            wide, offsets = wide[:, :-1], offsets[:, :-1]
        return ArrayDirections(d=self.d, indices=wide, values=offsets * unit)

    def along_rows(self, noise: NoiseModel) -> NoiseModel:
        """Return short differences: all weights together change by one over a length of 1 / d."""
        return replace(noise, row_step=noise.axis_step / self.d, curvature=0.0)

    def slopes(self, z: Vector, recovery: Recovery) -> tuple[Vector, Indices]:
        """Return slopes less their mean, and the coordinates found, the most promising first."""
        values, found = super().slopes(z, recovery)
        active = np.flatnonzero(self.clip(z))
        return values, np.concatenate([found, np.setdiff1d(active, found)])

    def _reduced(self, z: Vector, gradient: Vector) -> Vector:
        return np.asarray(gradient - float(self.centering(z) @ gradient))

    # models

    def best_step(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector, *, fits: bool
    ) -> Vector:
        """Return the step that minimizes a model; weights that are large enough stay so."""
        weights = z[support]
        held = fits & (weights >= self.least - AT_LIMIT)
        low = np.where(held, np.minimum(self.least, weights), 0.0)
        return bounded_step(slopes, hessian, low - weights, self.highest - weights, total=0.0)

    def best_choice(
        self, z: Vector, support: Indices, slopes: Vector, hessian: Vector
    ) -> Vector | None:
        """Return where the model is least if small weights, and those at the limit, may vanish."""
        weights = z[support]
        undecided = (weights > 0) & (weights <= self.least + AT_LIMIT)
        if not undecided.any():
            return None
        sides = []
        for weight, is_open in zip(weights, undecided, strict=True):
            within, zero = (self.least, self.highest), (0.0, 0.0)
            either = [within, zero] if weight > 0.5 * self.least else [zero, within]
            sides.append(either if is_open else [within if weight > 0 else zero])
        return best_branch(slopes, hessian, weights, sides, given_sum=True)

    # atoms

    def kept(self, atoms: list[Indices], worth: Vector, size: int) -> Indices:
        """Return the coordinates that groups allow and that are worth most."""
        order = np.concatenate(atoms)[np.argsort(-worth, kind="stable")]
        if self.members is not None:
            order = order[ranks_within(self.members[order]) < self.per_group]
        return np.sort(order[:size])

    def prune(self, z: Vector, curvature: Curvature | None, size: int) -> Vector:
        """Drop one weight after the other, that which costs least; the others follow the model."""
        z = self.clip(z)
        support = np.flatnonzero(z)
        size = max(size, self.fewest)
        if curvature is None or not np.isin(support, curvature.support).all():
            atoms = self.atoms(support)
            kept = self.kept(atoms, z[support] ** 2, size)
            return self.nearest(self.without(z, np.setdiff1d(support, kept)))
        while support.size > size or self._too_many(support).any():
            if support.size <= self.fewest:
                break
            z = self._without_least(z, support, curvature, size)
            support = np.flatnonzero(z)
        return self.nearest(z)

    def _without_least(
        self, z: Vector, support: Indices, curvature: Curvature, size: int
    ) -> Vector:
        """Return the point without the weight that costs least, of those that are too many."""
        cost = self.importance(z, self.atoms(support), curvature)
        if support.size <= size:
            cost = np.where(self._too_many(support), cost, np.inf)
        out = int(np.argmin(cost))
        place = np.searchsorted(curvature.support, support)
        whole = np.asarray(np.linalg.pinv(curvature.inverse), dtype=np.float64)
        hessian, weights = whole[np.ix_(place, place)], z[support]
        high = np.full(support.size, self.highest)
        high[out] = 0.0
        step = bounded_step(np.zeros(support.size), hessian, -weights, high - weights, total=0.0)
        pruned = np.zeros(self.d)
        pruned[support] = np.where(weights + step > AT_LIMIT, weights + step, 0.0)
        pruned[support[out]] = 0.0
        return self.clip(pruned)

    def exchanged(self, z: Vector, out: Indices, new: Indices) -> Vector:
        """Return the point without some weights; new ones take these where the sum needs them."""
        if np.setdiff1d(np.flatnonzero(z), out).size >= self.fewest:
            return self.without(z, out)
        moved, both = z.copy(), min(out.size, new.size)
        moved[out] = 0.0
        moved[new[:both]] = z[out[:both]]
        return self.clip(moved)


def limited_weights(operator: SparseSimplex, d: int) -> LimitedWeights:
    """Return the structure of weights with limits."""
    members, size = None, min(operator.most, d)
    if operator.groups is not None:
        members = np.array(operator.groups, dtype=np.intp)
        room = np.minimum(np.bincount(members), operator.per_group or 0).sum()
        size = min(size, int(room))
    total = operator.total
    return LimitedWeights(
        d=d,
        size=size,
        total=1.0,
        lowest=0.0,
        highest=min(operator.at_most / total, 1.0),
        least=operator.at_least / total,
        unit=None if total == 1 else frozen(np.full(d, total)),
        members=members,
        per_group=operator.per_group or 0,
    )
