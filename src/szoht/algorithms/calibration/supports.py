"""Supports compared by the expected misfit of the linearized outputs, without a simulation.

Around the center c with residuals r, posterior mean M and covariance A C of the Jacobian,

    Q(t) = |r + M (t - c)|^2 + A (t - c)' C (t - c) + mu sum_i |M_i|^2 (t_i - c_i)^4 :

columns that are badly known pay for it, and long moves for what linearization misses.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.types import Vector

__all__ = ["MisfitModel", "Support", "SupportCandidate", "solve_in_box"]

Support: TypeAlias = tuple[int, ...]
"""Places among the columns of a model, in increasing order."""

NEAR_ZERO = 1e-300
RIDGE = 1e-12
"""Relative to the mean of the diagonal: keeps systems solvable."""


class SupportCandidate(NamedTuple):
    """Values for the columns of a model, at most k of them not zero, and their expected misfit."""

    values: Vector
    misfit: float
    support: Support


class Extension(NamedTuple):
    """By how much a quadratic falls on a support, and by how much more with each other column.

    ``values`` are those of the other columns at which it does.
    """

    base: float
    gains: Vector
    values: Vector


@dataclass(frozen=True, kw_only=True, eq=False)
class MisfitModel:
    """The expected misfit around a center; see the module.

    ``uncertainty`` is A C; ``damping`` is mu. Values keep within ``low`` and ``high``, and are
    multiples of ``grid`` where that is not zero.
    """

    residuals: Vector
    jacobian: Vector
    uncertainty: Vector
    damping: float
    center: Vector
    low: Vector
    high: Vector
    grid: Vector
    policy: CalibrationPolicy

    @cached_property
    def curvature(self) -> Vector:
        """Weight of the fourth power of each step."""
        return np.asarray(self.damping * (self.jacobian**2).sum(axis=0))

    @cached_property
    def _quadratic(self) -> tuple[Vector, Vector, float]:
        """H, g, c0 of t'Ht - 2 g't + c0, the expected misfit without the quartic term."""
        hessian = self.jacobian.T @ self.jacobian + self.uncertainty
        hessian.flat[:: len(hessian) + 1] += RIDGE * np.trace(hessian) / len(hessian) + NEAR_ZERO
        slope = hessian @ self.center - self.jacobian.T @ self.residuals
        shift = self.residuals - self.jacobian @ self.center
        spread = hessian - self.jacobian.T @ self.jacobian
        constant = float(shift @ shift + self.center @ spread @ self.center)
        return hessian, slope, constant

    def search(self, k: int, count: int, tabu: Collection[Support] = ()) -> list[SupportCandidate]:
        """Return the best ``count`` supports of at most k columns, the best first."""
        if k > len(self.residuals):
            return [one for one in [self._shortest(k)] if one.support not in tabu]
        hessian, slope, _ = self._quadratic
        typical = self.curvature * self.policy.typical_step**2
        hessian = hessian + np.diag(typical)
        slope = slope + typical * self.center
        pool = self._beam(hessian, slope, k)
        best = sorted(pool, key=lambda support: -pool[support])[: self.policy.swap_starts]
        current = tuple(np.flatnonzero(self.center).tolist())
        if len(current) == k:
            best.append(current)
        pool |= self._swaps(hessian, slope, best, pool)
        ranked = sorted(pool, key=lambda support: -pool[support])
        chosen = [support for support in ranked if support not in tabu][: 3 * count + 5]
        found = [self.solve(support) for support in chosen]
        return sorted(found, key=lambda candidate: candidate.misfit)[:count]

    def _shortest(self, k: int) -> SupportCandidate:
        """Return the columns that matter most after the shortest move to the least misfit.

        With more columns than outputs, many supports are as good as one another.
        """
        free = np.flatnonzero(self.low < self.high)
        values = self.solve(tuple(free.tolist())).values
        effect = np.abs(values) * np.linalg.norm(self.jacobian, axis=0)
        largest = np.sort(np.argsort(-effect, kind="stable")[: min(k, free.size)])
        return self.solve(tuple(largest.tolist()))

    def solve(self, support: Support) -> SupportCandidate:
        """Minimize the expected misfit on a support, within bounds and on the grid."""
        on = list(support)
        hessian, slope, constant = self._quadratic
        block, center, curvature = hessian[np.ix_(on, on)], self.center[on], self.curvature
        if len(on) > len(self.residuals):  # or columns that hardly matter would move most
            curvature = np.full_like(curvature, curvature[on].mean())
        weight = curvature[on]
        fixed = np.full(len(on), np.nan)
        step = np.full(len(on), self.policy.typical_step)
        passes = self.policy.reweightings
        values = center
        for last in [False] * passes + [True] * bool(self.grid[on].any()):
            if last:  # integers to the grid, then the others once more
                fixed = self._on_grid(values, on)
            damped = weight * step**2
            values = solve_in_box(
                block + np.diag(damped),
                slope[on] + damped * center,
                np.where(np.isnan(fixed), self.low[on], fixed),
                np.where(np.isnan(fixed), self.high[on], fixed),
            )
            step = np.maximum(np.abs(values - center), self.policy.shortest_step)
        all_values = np.zeros(len(self.center))
        all_values[on] = values
        quartic = float((curvature * (all_values - self.center) ** 4).sum())
        misfit = float(values @ block @ values - 2 * slope[on] @ values) + constant + quartic
        return SupportCandidate(all_values, max(misfit, 0.0), support)

    def on_current_support(self) -> SupportCandidate | None:
        """Minimize on the support of the center; None if that is empty."""
        support = tuple(np.flatnonzero(self.center).tolist())
        return self.solve(support) if support else None

    def gains_of_one_more(self) -> Vector:
        """Return by how much the misfit falls with each column added to the support of the center.

        The columns there follow; the one that is added keeps within bounds and reach.
        """
        hessian, slope, _ = self._quadratic
        _, gains, values = _extend(hessian, slope, tuple(np.flatnonzero(self.center).tolist()))
        reach = self.policy.reach
        kept = np.clip(values, np.maximum(self.low, -reach), np.minimum(self.high, reach))
        share = np.divide(kept, values, out=np.zeros_like(kept), where=values != 0)
        return np.asarray(np.maximum(gains, 0.0) * share * (2 - share))

    def exchanges(self, k: int, each: int) -> list[SupportCandidate]:
        """Return the best ``each`` replacements of each column, or additions to fewer than k."""
        hessian, slope, _ = self._quadratic
        support = tuple(np.flatnonzero(self.center).tolist())
        rests = [tuple(other for other in support if other != out) for out in support]
        near: dict[Support, float] = {}
        for rest in rests if len(support) >= k else [support]:
            extension = _extend(hessian, slope, rest)
            extension.gains[list(support)] = -1.0
            near |= _longer(extension, rest, each)
        return sorted(map(self.solve, near), key=lambda candidate: candidate.misfit)

    def missed(self, candidate: SupportCandidate, drift: float) -> float:
        """Return by how much a misfit may be wrong if columns change by ``drift`` per unit."""
        step = candidate.values - self.center
        return float((0.25 * drift**2 * (self.jacobian**2).sum(axis=0) * step**4).sum())

    def _on_grid(self, values: Vector, on: list[int]) -> Vector:
        """Return the nearest multiples of the grid, NaN where there is none."""
        grid = self.grid[on]
        steps = np.where(grid > 0, grid, 1.0)
        return np.where(grid > 0, np.rint(values / steps) * steps, np.nan)

    def _beam(self, hessian: Vector, slope: Vector, k: int) -> dict[Support, float]:
        """Return supports of k columns and by how much the quadratic falls on them."""
        width = self.policy.beam
        level: dict[Support, float] = {(): 0.0}
        for _ in range(k):
            longer: dict[Support, float] = {}
            for support in level:
                longer |= _longer(_extend(hessian, slope, support), support, width // 2 + 1)
            if not longer:
                break
            level = dict(sorted(longer.items(), key=lambda item: -item[1])[:width])
        return level

    def _swaps(
        self, hessian: Vector, slope: Vector, starts: Iterable[Support], known: dict[Support, float]
    ) -> dict[Support, float]:
        """Follow the best exchange of one column from each start; return all that were seen."""
        waiting, done = list(starts), set[Support]()
        seen: dict[Support, float] = {}
        while waiting and len(done) < self.policy.most_swaps:
            support = waiting.pop(0)
            if support in done:
                continue
            done.add(support)
            near: dict[Support, float] = {}
            for place in support:
                rest = tuple(other for other in support if other != place)
                near |= _longer(_extend(hessian, slope, rest), rest, 5)
            if not near:
                continue
            best = max(near, key=lambda other: near[other])
            seen |= near
            if near[best] > known.get(support, seen.get(support, -1.0)) * (1 + 1e-9):
                waiting.insert(0, best)
        return seen


def solve_in_box(hessian: Vector, slope: Vector, low: Vector, high: Vector) -> Vector:
    """Minimize t'Ht - 2 g't within bounds by an active set without release: a proposal."""
    values = np.linalg.solve(hessian, slope)
    held = np.zeros(values.size, dtype=bool)
    for _ in range(values.size):
        outside = ((values < low) | (values > high)) & ~held
        if not outside.any():
            break
        held |= outside
        values = np.clip(values, low, high)
        free = ~held
        if free.any():
            rest = slope[free] - hessian[np.ix_(free, held)] @ values[held]
            values[free] = np.linalg.solve(hessian[np.ix_(free, free)], rest)
    return np.clip(values, low, high)


def _extend(hessian: Vector, slope: Vector, support: Support) -> Extension:
    """Return the decrease on a support, and with each further column (Schur complement)."""
    diagonal = hessian.diagonal()
    if not support:
        values = slope / np.maximum(diagonal, NEAR_ZERO)
        return Extension(0.0, slope * values, values)
    on = list(support)
    factor = np.linalg.cholesky(hessian[np.ix_(on, on)])
    solved = np.linalg.solve(factor, np.column_stack([hessian[on], slope[on]]))
    rows, own = solved[:, :-1], solved[:, -1]
    left = np.maximum(diagonal - (rows**2).sum(axis=0), RIDGE * diagonal + NEAR_ZERO)
    pull = slope - rows.T @ own
    gains = pull**2 / left
    gains[on] = -1.0
    return Extension(float(own @ own), gains, pull / left)


def _longer(extension: Extension, support: Support, count: int) -> dict[Support, float]:
    """Return the best supports of one more column."""
    gains = extension.gains
    count = min(count, gains.size)
    best = np.argpartition(-gains, count - 1)[:count]
    return {
        tuple(sorted((*support, int(i)))): extension.base + float(gains[i])
        for i in best
        if gains[i] > 0
    }
