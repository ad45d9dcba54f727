"""A Gaussian model of slopes: what a few values say about the effect of every coordinate."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["SlopeModel", "SlopePrior"]

NEAREST = 0.2
"""The noise at the lowest value, as a share of the noise one standard deviation above it."""

TOLERANCE = 1e-4
"""How exactly the posterior is computed, relative to what was measured."""

CUT = 3.0
"""Correlations beyond this many lengths are left out."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SlopePrior:
    """Slopes of d coordinates before anything is measured: normal, with unit variance.

    ``K = smooth C + (1 - smooth) I``, where C correlates neighbours on a grid over ``length`` and
    the channels of a place by ``shared``. Without a grid K = I.

    Parameters
    ----------
    d : int
        The dimension.
    grid : array of shape (channels, height, width), optional
        The coordinate at each place.
    length, smooth, shared : float
        In units of the grid, >= 0; in [0, 1]; in [0, 1].
    """

    d: int
    grid: Indices | None
    length: float
    smooth: float
    shared: float

    def draw(self, generator: np.random.Generator) -> Vector:
        """Draw slopes."""
        rough = generator.standard_normal(self.d)
        if self.grid is None:
            return rough
        slopes = np.empty(self.d)
        own = self._filter(generator.standard_normal(self.grid.shape))
        common = self._filter(generator.standard_normal((1, *self.grid.shape[1:])))
        slopes[self.grid] = np.sqrt(self.shared) * common + np.sqrt(1 - self.shared) * own
        mixed: Vector = np.sqrt(self.smooth) * slopes + np.sqrt(1 - self.smooth) * rough
        return mixed

    def times(self, v: Vector) -> Vector:
        """Return K v."""
        if self.grid is None:
            return v.copy()
        there = v[self.grid]
        blurred = self._filter(self._filter(there))
        # the filter is linear, so the channels' sum can be taken after it
        common = blurred.sum(axis=0, keepdims=True)
        product = np.empty(self.d)
        product[self.grid] = self.shared * common + (1 - self.shared) * blurred
        mixed: Vector = self.smooth * product + (1 - self.smooth) * v
        return mixed

    def _filter(self, values: Vector) -> Vector:
        """Apply a symmetric square root of C within each channel."""
        from scipy.ndimage import correlate1d  # noqa: PLC0415  (as long to import as all of us)

        for axis in (1, 2):
            if values.shape[axis] > 1:
                values = correlate1d(values, self._kernel, axis=axis, mode="constant")
        return values

    @cached_property
    def _kernel(self) -> Vector:
        if self.length == 0:
            return np.ones(1)
        reach = int(np.ceil(CUT * self.length))
        bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / self.length) ** 2)
        unit: Vector = bell / np.linalg.norm(bell)  # so that variances are 1 away from the edge
        return unit


@dataclass(kw_only=True)
class SlopeModel:
    """The posterior of slopes g given values ``y_i = s <g, x_i> + noise`` at sparse points x_i.

    ``s`` scales the prior so that it explains the mean square of the y_i. The noise stands for
    what is not linear; it is smaller at points whose values are near the lowest, so that the model
    is about where the search is. Beyond ``window`` points, the one with the highest value is
    forgotten, the newest few excepted.
    """

    prior: SlopePrior
    noise: float
    window: int
    rows: list[tuple[Indices, Vector]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    gram: Vector = field(default_factory=lambda: np.empty((0, 0)))

    def add(self, x: Vector, value: float) -> None:
        """Take in the value at a point, relative to the value at zero."""
        support = np.flatnonzero(x)
        self.rows.append((support, x[support]))
        self.values.append(value)
        product = self.prior.times(x)
        column = np.array([product[where] @ row for where, row in self.rows])
        n = len(self.rows)
        gram = np.empty((n, n))
        gram[:-1, :-1] = self.gram
        gram[-1], gram[:, -1] = column, column
        self.gram = gram
        if n > self.window:
            self._forget(int(np.argmax(self.values[: n - self.window // 5])))

    def draw(self, generator: np.random.Generator) -> Vector:
        """Draw slopes from the posterior, up to a positive factor.

        By Matheron's rule: slopes and noise are drawn from the prior, then corrected for how far
        the values that they would give are from those that were measured.
        """
        slopes = self.prior.draw(generator)
        y = np.array(self.values)
        power = float(np.mean(np.diag(self.gram))) if self.rows else 0.0
        size = float(np.sqrt(np.mean(y**2) / power)) if power > 0 else 0.0
        if size == 0:
            return slopes
        spread = float(y.std()) or 1.0
        variance = self.noise * power * (NEAREST + (y - y.min()) / spread)
        imagined = np.array([slopes[where] @ row for where, row in self.rows])
        imagined += np.sqrt(variance) * generator.standard_normal(y.size)
        weights = _solve(self.gram, variance, y / size - imagined)
        pull = np.zeros(self.prior.d)
        for weight, (where, row) in zip(weights, self.rows, strict=True):
            pull[where] += weight * row
        return slopes + self.prior.times(pull)

    def _forget(self, i: int) -> None:
        del self.rows[i], self.values[i]
        self.gram = np.delete(np.delete(self.gram, i, axis=0), i, axis=1)


def _solve(gram: Vector, variance: Vector, right: Vector) -> Vector:
    """Solve (gram + diag(variance)) w = right by conjugate gradients, scaled by the diagonal.

    The noise keeps the system well conditioned, so a few products suffice. A factorisation of so
    small a matrix is spread over threads by some libraries, which costs more than it saves.
    """
    scale = 1 / np.sqrt(np.diag(gram) + variance)
    solution = np.zeros_like(right)
    residual = scale * right
    direction, square = residual.copy(), float(residual @ residual)
    goal = TOLERANCE**2 * square
    for _ in range(right.size):
        if square <= goal:
            break
        moved = scale * direction
        product = scale * (gram @ moved + variance * moved)
        length = square / float(direction @ product)
        solution += length * direction
        residual -= length * product
        before, square = square, float(residual @ residual)
        direction = residual + square / before * direction
    return scale * solution
