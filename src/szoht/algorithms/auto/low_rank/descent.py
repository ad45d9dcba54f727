"""Descent on the manifold of matrices of rank r: few slopes, quasi-Newton steps, and back to it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.low_rank.tangent import OuterProducts, TangentSpace, truncated
from szoht.algorithms.auto.records import EvaluatedPoint, NoiseModel, Steps
from szoht.algorithms.auto.restricted.goal import ARMIJO
from szoht.algorithms.auto.restricted.line_search import (
    MAX_STEP_GROWTH,
    MAX_TRIALS,
    MAX_UNITS,
    parabola,
)
from szoht.types import Vector

__all__ = ["Manifold"]

PAIRS_KEPT = 20
"""Pairs of steps and changes of the gradient that are remembered."""

NEGLIGIBLE_VALUE = 1e-7
"""Singular values smaller than this share of the largest are taken for zero."""

CHECKS, GRADIENT_EXPLAINED = 2, 0.05
"""Slopes along random signs that must be explained, and up to which share of the gradient."""

ENERGY_GROWTH = 1.2
"""Columns and rows are found from each other as long as that shows so many times as much of it."""

TIGHT_LINE = 0.05
"""Line searches end this close to the minimum of a parabola: slopes cost much more than trials."""

STALLED_GAIN = 1e-9
"""A step that gains less than this share of f has come to an end of short differences."""


@dataclass(frozen=True, eq=False)
class Manifold:
    """The matrices of rank r and one shape, and f on them."""

    context: SearchContext
    noise: NoiseModel
    r: int
    shape: tuple[int, int]

    def matrix(self, point: EvaluatedPoint) -> Vector:
        """Return a point as a matrix."""
        return point.z.reshape(self.shape)

    def first_length(self, point: EvaluatedPoint) -> float:
        """Return how far an entry may move before anything is known of the curvature."""
        return max(1.0, float(np.abs(point.z).max()))

    def rank(self, point: EvaluatedPoint) -> int:
        """Return how many singular values are not negligible."""
        values = np.linalg.svd(self.matrix(point), compute_uv=False)
        return int(np.count_nonzero(values > NEGLIGIBLE_VALUE * values[0]))

    def slopes(
        self, point: EvaluatedPoint, probes: OuterProducts, *, central: bool = False
    ) -> Steps[Vector]:
        """Measure slopes along products of rank one; failed ones are zero."""
        step = self.noise.axis_step
        if central:
            step *= self.context.policy.central_factor
        changes = yield from self.context.differences(point, probes, step)
        if central:
            changes = 0.5 * (changes - (yield from self.context.differences(point, probes, -step)))
        return np.nan_to_num(changes / step, posinf=0.0, neginf=0.0)

    def sense(self, point: EvaluatedPoint) -> Steps[Vector]:
        """Return the gradient, or the largest part of rank r of it, from r (p + q) slopes or more.

        G V for random V shows the columns of G, and slopes along those the rest: exact if G has
        rank r, which two random signs tell. If not, columns and rows are found from each other
        again while that shows more of G: the power scheme of Halko, Martinsson and Tropp (2011),
        Finding structure with randomness.
        """
        start, generator = self.context.spent, self.context.generator()
        right = np.linalg.qr(generator.standard_normal((self.shape[1], self.r)))[0]
        left = _basis((yield from self.times(point, right)))
        image = yield from self.times(point, left, transposed=True)
        gradient = left @ image.T
        if not (yield from self._explains(point, gradient)):
            shown, transposed, basis = 0.0, True, left
            while (energy := float((image**2).sum())) > ENERGY_GROWTH * shown:
                shown, transposed, basis = energy, not transposed, _basis(image)
                image = yield from self.times(point, basis, transposed=transposed)
            gradient = basis @ image.T if transposed else image @ basis.T
        cost = self.context.spent - start
        self.context.explain(f"{cost} queries: the largest part of rank {self.r} of the gradient.")
        return np.asarray(gradient)

    def times(
        self, point: EvaluatedPoint, factors: Vector, *, transposed: bool = False
    ) -> Steps[Vector]:
        """Measure the product of the gradient, or of its transpose, with few columns."""
        n, r = self.shape[1 if transposed else 0], factors.shape[1]
        axes, others = np.tile(np.eye(n), (r, 1)), np.repeat(factors.T, n, 0)
        left, right = (others, axes) if transposed else (axes, others)
        slopes = yield from self.slopes(point, OuterProducts(left=left, right=right))
        return slopes.reshape(r, n).T

    def _explains(self, point: EvaluatedPoint, gradient: Vector) -> Steps[bool]:
        """Tell whether a gradient explains slopes along products of random signs."""
        generator, (p, q) = self.context.generator(), self.shape
        left, right = (generator.choice(np.array([-1.0, 1.0]), (CHECKS, n)) for n in (p, q))
        slopes = yield from self.slopes(point, OuterProducts(left=left, right=right))
        expected = np.einsum("ni,ij,nj->n", left, gradient, right)
        enough = GRADIENT_EXPLAINED * float(np.linalg.norm(gradient))
        return bool(np.abs(slopes - expected).max() <= enough)

    def descend_along(self, point: EvaluatedPoint, gradient: Vector) -> Steps[EvaluatedPoint]:
        """Move against a gradient of rank r, from a point of lower rank."""
        here, size = self.matrix(point), float(np.abs(gradient).max())
        if not size > 0:
            return point
        unit = self.first_length(point) / size

        def at(length: float) -> Vector:
            left, values, right = truncated(here - length * unit * gradient, self.r)
            return np.asarray((left * values) @ right.T)

        slope = -unit * float((gradient**2).sum())
        return (yield from self.search_line(point, at, slope))[0]

    def search_line(
        self, point: EvaluatedPoint, at: Callable[[float], Vector], slope: float
    ) -> Steps[tuple[EvaluatedPoint, float]]:
        """Follow parabolas through f, its slope and the last trial; return the best, and where."""
        length, best, where = 1.0, point, 0.0
        for _ in range(MAX_TRIALS):
            trial = yield from self.context.point(at(length).ravel())
            good = trial.value < point.value + ARMIJO * length * slope
            if trial.value < best.value:
                best, where = trial, length
            elif good or best.value < point.value:
                break
            better = parabola(point.value, slope, length, trial.value)
            better = min(max(better, length / MAX_STEP_GROWTH), MAX_STEP_GROWTH * length)
            if good and abs(better / length - 1) < TIGHT_LINE:
                break
            length = better
        return best, where

    def minimize(
        self,
        point: EvaluatedPoint,
        *,
        steps: int = 60,
        accuracy: float = 1e-7,
    ) -> Steps[EvaluatedPoint]:
        """Run quasi-Newton in tangent spaces, the pairs it remembers transported by projection.

        For the geometry see Vandereycken (2013), Low-rank matrix completion by Riemannian
        optimization.
        """
        before: tuple[EvaluatedPoint, Vector] | None = None
        pairs: list[tuple[Vector, Vector]] = []
        central, first = False, math.nan
        for _ in range(steps):
            space = TangentSpace(self.matrix(point), self.r)
            slopes = yield from self.slopes(point, space.probes(), central=central)
            gradient = space.gradient(slopes)
            if before is not None:
                there, gradient_there = before
                step = space.project(space.matrix - self.matrix(there))
                pairs.append((step, gradient - space.project(gradient_there)))
            size = float(np.linalg.norm(gradient))
            first = size if math.isnan(first) else first
            if size <= accuracy * first:
                break
            pairs = [(space.project(s), space.project(y)) for s, y in pairs[-PAIRS_KEPT:]]
            direction = -_quasi_newton(gradient, pairs)
            if not pairs:
                direction *= self.first_length(point) / float(np.abs(direction).max())
            slope = float((direction * gradient).sum())

            def at(length: float, space: TangentSpace = space, step: Vector = direction) -> Vector:
                return space.retract(length * step)

            moved, _ = yield from self.search_line(point, at, slope)
            stalled = not point.value - moved.value > STALLED_GAIN * abs(point.value)
            before, point = (point, gradient), moved
            if (stalled and central) or np.abs(point.z).max() > MAX_UNITS:
                break
            if stalled:
                central, before = True, None
        return point


def _basis(columns: Vector) -> Vector:
    """Return an orthonormal basis of what columns span, but for rounding."""
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > NEGLIGIBLE_VALUE * values[0]])


def _quasi_newton(gradient: Vector, pairs: list[tuple[Vector, Vector]]) -> Vector:
    """Return the inverse Hessian times the gradient (Nocedal and Wright, algorithm 7.4)."""
    sound = []
    for step, change in pairs:
        product = float((step * change).sum())
        if product > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            sound.append((step, change, product))
    result, weights = gradient.copy(), []
    for step, change, product in reversed(sound):
        weight = float((step * result).sum()) / product
        weights.append(weight)
        result -= weight * change
    if sound:
        _, change, product = sound[-1]
        result *= product / float((change**2).sum())
    for (step, change, product), weight in zip(sound, reversed(weights), strict=True):
        result += (weight - float((change * result).sum()) / product) * step
    return result
