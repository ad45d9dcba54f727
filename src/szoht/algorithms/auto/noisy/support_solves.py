"""Solves under noise over more than k candidates, pruned to k: quasi-Newton or regression."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.noisy.race import Race
from szoht.algorithms.auto.noisy.sensing import Sensed
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.policy import NoisePolicy
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.algorithms.auto.restricted.noisy_bfgs import NoisySolve, minimize_with_differences
from szoht.algorithms.auto.restricted.quadratic_model import eliminate, minimize_model, n_terms
from szoht.algorithms.auto.restricted.regression import difference_radius, minimize_by_regression
from szoht.estimators.sensing.noise_test import pool
from szoht.types import Indices, Vector

__all__ = ["SupportSolves"]

BLIND_JITTER = 1e-3
"""Displacement of repeated values where the curvature is unknown and the error is fixed."""

DOUBT = 5.0
"""A value that is farther from what a model promises, in standard deviations, refutes it."""


@dataclass(kw_only=True, eq=False)
class SupportSolves:
    """An incumbent with at most ``k`` non-zeros, and solves over candidates that may replace it.

    ``explain`` takes lines for the user, ``report`` each incumbent with what is known of its value.
    """

    values: Values
    k: int
    noise: NoiseModel
    rng: np.random.Generator
    x: Vector
    start: Location
    explain: Callable[[str], None]
    report: Callable[[Vector, Location], None]
    first_sigma: float = field(init=False)
    support: Indices = field(init=False)
    value: float = field(init=False)
    candidates: list[Vector] = field(init=False)
    curvature: Vector = field(init=False)
    radius: float = 0.5
    jitter: float = BLIND_JITTER
    low_noise: bool = False
    budget: int = field(init=False)

    def __post_init__(self) -> None:
        self.first_sigma = self.noise.sigma
        self.support = np.flatnonzero(self.x)
        self.value = self.start.value
        self.candidates = [self.x]
        self.curvature = np.zeros(self.values.d)
        self.budget = self.values.left()

    @property
    def policy(self) -> NoisePolicy:
        """The numbers by which the search decides."""
        return self.values.policy.noise

    @property
    def reserve(self) -> int:
        """Values that are kept for the last race."""
        return min(max(8, int(self.policy.race_share * self.budget)), self.values.left())

    @property
    def room(self) -> int:
        """Values that may be spent before the last race."""
        return self.values.left() - self.reserve

    def solve(self, wide: Indices, sensed: Sensed, *, first: bool) -> Steps[bool]:
        """Minimize over ``wide`` and prune to k; tell whether that gained anything."""
        if first:
            self.low_noise = sensed.low_noise(self.policy)
            self.radius = max(min(2 * sensed.length, 1.0), self.policy.short_probe)
        if not self.low_noise:
            return (yield from self._solve_regression(wide, first=first))
        return (yield from self._solve_smooth(wide, sensed, first=first))

    # low noise: quasi-Newton on central differences

    def _solve_smooth(self, wide: Indices, sensed: Sensed, *, first: bool) -> Steps[bool]:
        spend, length = self.room, sensed.length
        if wide.size > self.k and not sensed.sure:
            spend = max(int(2 * self.policy.turn_share * self.room), min(self.room, 12 * wide.size))
        solved = yield from self._bfgs(self.x[wide], self.value, wide, length, spend)
        support, z = wide, solved.z
        if wide.size > self.k:
            keep, entries = _drop(solved, self.k)
            support = wide[keep]
            z = np.clip(entries, self.values.low[support], self.values.high[support])
            value = float((yield from self.values.sparse_at(z[np.newaxis], support))[0])
            solved = yield from self._bfgs(z, value, support, length, spend)
            z = solved.z
        x = np.zeros(self.values.d)
        x[support] = z
        if not solved.value < self.value - 3 * self.noise.sigma:
            if first or self._shows_more(sensed):
                self.explain("quasi-Newton gained nothing: regression on longer steps.")
                self.low_noise = False
                return (yield from self._solve_regression(wide, first=first))
            self.explain("another round of sensing and quasi-Newton gained nothing.")
            return False
        self.radius = difference_radius(self.noise.sigma, solved.curvature)
        self.jitter = self.radius / 60
        self.candidates.append(x)
        if solved.value < self.value or first:
            self.move(x, Location(solved.value, self.noise.sigma))
        self.explain(
            f"quasi-Newton on {wide.size} coordinates, then {support.size}: f = {solved.value:.6g}."
        )
        return True

    def _shows_more(self, sensed: Sensed) -> bool:
        """Tell whether a slope off the support is beyond doubt, and values for it are left.

        Few coordinates must explain the slopes: where units differ, all of them seem to matter.
        """
        found = sensed.recovery
        if found.r2 < 0.5 * found.signal:
            return False
        off = ~np.isin(found.order[: found.size], self.support)
        sure = (found.z[: found.size][off] >= self.policy.standard_errors_sure).any()
        return bool(sure) and self.room >= 4 * n_terms(2 * self.k)

    def _bfgs(
        self, z: Vector, value: float, support: Indices, length: float, spend: int
    ) -> Steps[NoisySolve]:
        solved = yield from minimize_with_differences(
            self.values,
            z,
            value,
            support,
            sigma=self.noise.sigma,
            length=min(4 * length, 8 * self.policy.short_probe),
            patience=min(spend, self.room),
            curvature=self.curvature[support],
        )
        self.curvature[support] = solved.curvature
        return solved

    # high noise: regression

    def _solve_regression(self, wide: Indices, *, first: bool) -> Steps[bool]:
        entries, support, model_value = yield from self._regress_and_prune(wide, first=first)
        if entries is None:
            return True
        x = np.zeros(self.values.d)
        x[support] = entries
        same = np.array_equal(support, self.support)
        self.explain(f"regression on {wide.size} coordinates, {support.size} kept.")
        if not first and not same:
            if wide.size > self.k:
                spend = min(int(2 * self.policy.race_share * self.room), 4 * n_terms(self.k))
                solved = yield from minimize_by_regression(
                    self.values,
                    entries,
                    support,
                    noise=self.noise,
                    radius=self.radius,
                    spend=spend,
                    rng=self.rng,
                )
                x[support] = solved.z
            total = max(16, int(0.5 * self.policy.race_share * self.budget))
            total = min(self.policy.fewest_values, total, max(self.room, 0))
            race = self.new_race()
            winner = yield from race.run([self.x, x], total)
            if not np.array_equal(winner, x):
                self.explain("the old support wins a race against the new one.")
                return False
            self.explain("the new support wins a race against the old one.")
        self.candidates.append(x)
        moved = yield from self.try_out(x, model_value)
        return first or (moved and not same)

    def try_out(self, x: Vector, promised: float) -> Steps[bool]:
        """Take the point of a regression as the incumbent, unless one value there refutes it."""
        seen = yield from self._seen(x, promised)
        if seen > self.value + DOUBT * self.first_sigma:
            self.explain(f"what the regression promised is not there: f = {seen:.6g}.")
            return False
        self.move(x, Location(seen, self.noise.sigma))
        return True

    def _seen(self, x: Vector, promised: float) -> Steps[float]:
        """Return the value that a model promises, or a measured one if that differs too much.

        Of fresh noise, one value says less than a regression does.
        """
        if self.noise.fresh or not self.values.affordable(1):
            return promised
        support = np.flatnonzero(x)
        (value,) = yield from self.values.sparse_at(x[np.newaxis, support], support)
        near = abs(value - promised) <= DOUBT * self.first_sigma
        return promised if near else float(np.nan_to_num(value, nan=np.inf))

    def _regress_and_prune(
        self, wide: Indices, *, first: bool
    ) -> Steps[tuple[Vector | None, Indices, float]]:
        solved = yield from minimize_by_regression(
            self.values,
            self.x[wide],
            wide,
            noise=self.noise,
            radius=self.radius,
            spend=int(self.policy.turn_share * self.room),
            rng=self.rng,
        )
        model, self.radius, self.noise = solved.model, solved.region.radius, solved.noise
        if model is None:
            return None, wide, math.nan
        ratio = model.residual / max(self.noise.sigma, 1e-300)
        if model.freedom > self.policy.fewest_rows and max(ratio, 1 / ratio) < self.policy.grown:
            self.noise = pool(self.noise, model.residual, model.freedom)
        favored = None if first else np.isin(wide, self.support)
        keep = eliminate(model, min(self.k, wide.size), favored)
        zero = ~np.isin(np.arange(wide.size), keep)
        low, high = self.values.low[wide], self.values.high[wide]
        best, _, _ = minimize_model(model, low, high, radii=1.5, zero=zero)
        return best[keep], wide[keep], model(best)

    def new_race(self) -> Race:
        """Return a race whose values err anew each time."""
        return Race(
            values=self.values, rng=self.rng, jitter=0.0 if self.noise.fresh else self.jitter
        )

    def move(self, x: Vector, location: Location) -> None:
        """Take another incumbent."""
        self.x, self.support, self.value = x, np.flatnonzero(x), location.value
        self.report(x, location)


def _drop(solved: NoisySolve, size: int) -> tuple[Indices, Vector]:
    """Eliminate backward by z_i^2 / (2 B_ii), B the inverse Hessian; the others move along."""
    z = solved.z
    inverse = np.eye(z.size) if solved.inverse is None else solved.inverse.copy()
    keep = np.arange(z.size)
    while keep.size > size:
        j = int(np.argmin(z**2 / (2 * np.maximum(np.diag(inverse), 1e-300))))
        column = inverse[:, j] / inverse[j, j]
        rest = np.arange(keep.size) != j
        z = (z - column * z[j])[rest]
        inverse = (inverse - np.outer(column, inverse[j]))[np.ix_(rest, rest)]
        keep = keep[rest]
    return keep, z
