"""A Gaussian model of slopes: what a few values say about the effect of every coordinate."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["SlopeModel", "SlopePrior"]

MIN_NOISE_SHARE = 0.2
"""The noise at the lowest value, as a share of the noise one standard deviation above it."""

CG_RELATIVE_TOLERANCE = 1e-4
"""The residual at which conjugate gradients stop, relative to the right-hand side."""

KERNEL_RADIUS_LENGTHS = 3.0
"""Correlations beyond this many lengths are neglected."""


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
        """Sample slopes."""
        independent = generator.standard_normal(self.d)
        if self.grid is None:
            return independent
        slopes = np.empty(self.d)
        own = self._filter(generator.standard_normal(self.grid.shape))
        common = self._filter(generator.standard_normal((1, *self.grid.shape[1:])))
        slopes[self.grid] = np.sqrt(self.shared) * common + np.sqrt(1 - self.shared) * own
        mixed: Vector = np.sqrt(self.smooth) * slopes + np.sqrt(1 - self.smooth) * independent
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
        from scipy.ndimage import correlate1d  # noqa: PLC0415  (slow to import)

        for axis in (1, 2):
            if values.shape[axis] > 1:
                values = correlate1d(values, self._kernel, axis=axis, mode="constant")
        return values

    @cached_property
    def _kernel(self) -> Vector:
        if self.length == 0:
            return np.ones(1)
        reach = int(np.ceil(KERNEL_RADIUS_LENGTHS * self.length))
        gaussian = np.exp(-0.5 * (np.arange(-reach, reach + 1) / self.length) ** 2)
        unit: Vector = gaussian / np.linalg.norm(
            gaussian
        )  # so that variances are 1 away from the edge
        return unit


@dataclass(kw_only=True)
class SlopeModel:
    """The posterior of slopes g given values ``y_i = s <g, x_i> + noise`` at sparse points x_i.

    ``s`` scales the prior so that it explains the mean square of the y_i. The noise stands for
    what is not linear; it is smaller at points whose values are near the lowest, so that the model
    is accurate near the incumbent. Beyond ``window`` points, the one with the highest value is
    dropped, the newest few excepted.
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
            self._drop(int(np.argmax(self.values[: n - self.window // 5])))

    def draw(self, generator: np.random.Generator) -> Vector:
        """Sample slopes from the posterior, up to a positive factor.

        By Matheron's rule: slopes and noise are sampled from the prior, then corrected by the
        difference between the measured values and those that they would give.
        """
        slopes = self.prior.draw(generator)
        y = np.array(self.values)
        mean_square = float(np.mean(np.diag(self.gram))) if self.rows else 0.0
        size = float(np.sqrt(np.mean(y**2) / mean_square)) if mean_square > 0 else 0.0
        if size == 0:
            return slopes
        spread = float(y.std()) or 1.0
        variance = self.noise * mean_square * (MIN_NOISE_SHARE + (y - y.min()) / spread)
        simulated = np.array([slopes[where] @ row for where, row in self.rows])
        simulated += np.sqrt(variance) * generator.standard_normal(y.size)
        weights = _solve(self.gram, variance, y / size - simulated)
        correction = np.zeros(self.prior.d)
        for weight, (where, row) in zip(weights, self.rows, strict=True):
            correction[where] += weight * row
        return slopes + self.prior.times(correction)

    def _drop(self, i: int) -> None:
        del self.rows[i], self.values[i]
        self.gram = np.delete(np.delete(self.gram, i, axis=0), i, axis=1)


def _solve(gram: Vector, variance: Vector, right: Vector) -> Vector:
    """Solve (gram + diag(variance)) w = right by conjugate gradients, scaled by the diagonal.

    The noise keeps the system well conditioned, so a few products suffice. A factorization of so
    small a matrix is spread over threads by some libraries, which costs more than it saves.
    """
    scale = 1 / np.sqrt(np.diag(gram) + variance)
    solution = np.zeros_like(right)
    residual = scale * right
    direction, square = residual.copy(), float(residual @ residual)
    stop_at = CG_RELATIVE_TOLERANCE**2 * square
    for _ in range(right.size):
        if square <= stop_at:
            break
        moved = scale * direction
        product = scale * (gram @ moved + variance * moved)
        length = square / float(direction @ product)
        solution += length * direction
        residual -= length * product
        before, square = square, float(residual @ residual)
        direction = residual + square / before * direction
    return scale * solution
