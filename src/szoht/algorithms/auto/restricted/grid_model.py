"""A quadratic model of f on few variables, some of which move on a grid, and its minimizers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.types import Indices, Vector

__all__ = ["GridModel", "Pair", "Try", "add_interactions", "axis_parabola", "fit_axes"]

SWEEPS, EXCHANGES = 30, 3
"""Rounds of coordinate descent on a model, and exchanges of one variable for another."""


def axis_parabola(offsets: Vector, changes: Vector) -> tuple[float, float]:
    """Return slope and second derivative of the parabola through 0 and one or two points.

    >>> axis_parabola(np.array([-1.0, 2.0]), np.array([3.0, 0.0]))
    (-2.0, 2.0)
    """
    a, b = float(offsets[0]), float(offsets[-1])
    p, q = float(changes[0]), float(changes[-1])
    if a == b:
        return p / a, 0.0
    curvature = 2 * (p / a - q / b) / (a - b)
    return p / a - 0.5 * curvature * a, curvature


class Try(NamedTuple):
    """A step along one axis."""

    axis: int
    offset: float


class Pair(NamedTuple):
    """Steps along two axes at once."""

    first: Try
    second: Try


def fit_axes(
    tries: Sequence[Try], changes: Vector, size: int, known: Vector | None = None
) -> tuple[Vector, Vector]:
    """Return slopes and second derivatives along axes from the changes of f over single steps.

    Where there was one step only, the second derivative is the ``known`` one, if it is finite.
    """
    found: dict[int, list[tuple[float, float]]] = {}
    for one, change in zip(tries, changes.tolist(), strict=True):
        if math.isfinite(change):
            found.setdefault(one.axis, []).append((one.offset, change))
    slope, curvature = np.zeros(size), np.zeros(size)
    for i, pairs in found.items():
        offsets, values = map(np.array, zip(*pairs, strict=True))
        slope[i], curvature[i] = axis_parabola(offsets, values)
        if len(pairs) == 1 and known is not None and math.isfinite(known[i]):
            curvature[i] = known[i]
            slope[i] -= 0.5 * curvature[i] * offsets[0]
    return slope, curvature


def add_interactions(
    slope: Vector, curvature: Vector, pairs: Sequence[Pair], changes: Vector
) -> Vector:
    """Return the Hessian: what two steps at once change beyond what they change alone."""
    hessian = np.diag(curvature)
    for (one, other), change in zip(pairs, changes.tolist(), strict=True):
        if math.isfinite(change):
            for i, t in (one, other):
                change -= slope[i] * t + 0.5 * curvature[i] * t * t  # noqa: PLW2901
            mixed = change / (one.offset * other.offset)
            hessian[one.axis, other.axis] = hessian[other.axis, one.axis] = mixed
    return hessian


@dataclass(frozen=True, kw_only=True, eq=False)
class GridModel:
    """f(here + t) - f(here) = slope t + t hessian t / 2 on some coordinates.

    ``here`` are their places now, zero for those that are not in the support; ``low`` and ``high``
    bound here + t, and ``grid`` is the step of those that move in steps, else 0.
    """

    here: Vector
    slope: Vector
    hessian: Vector
    low: Vector
    high: Vector
    grid: Vector

    def change(self, t: Vector) -> float:
        """Return what the model expects of a step."""
        return float(self.slope @ t + 0.5 * t @ self.hessian @ t)

    def best_subset(self, k: int) -> Vector:
        """Return the step to the best point with at most k non-zeros, by forward selection.

        Then one at a time is exchanged where that helps.
        """
        t = -self.here
        chosen: list[int] = []
        for _ in range(min(k, t.size)):
            trials = [
                (self.change(trial), i, trial)
                for i in range(t.size)
                if i not in chosen
                for trial in [self.descend(t, [*chosen, i])]
            ]
            expected, i, trial = min(trials, key=lambda one: one[:2])
            if expected < self.change(t):
                t = trial
            chosen.append(i)
        return self._exchange(t, chosen)

    def descend(self, t: Vector, free: list[int] | Indices) -> Vector:
        """Return the step after coordinate descent on the coordinates ``free``."""
        t = t.copy()
        for _ in range(SWEEPS):
            before = t.copy()
            for i in free:
                t[i] = self._best_on_axis(t, int(i))
            if np.abs(t - before).max(initial=0.0) <= 1e-9 * np.abs(t).max(initial=0.0):
                break
        return t

    def _exchange(self, t: Vector, chosen: list[int]) -> Vector:
        for _ in range(EXCHANGES):
            trials = [
                (self.change(trial), kept, trial)
                for out in chosen
                for new in range(t.size)
                if new not in chosen
                for kept in [[*(i for i in chosen if i != out), new]]
                for trial in [self.descend(self._without(t, out), kept)]
            ]
            if not trials:
                break
            expected, kept, trial = min(trials, key=lambda one: one[0])
            if not expected < self.change(t):
                break
            t, chosen = trial, kept
        return t

    def _without(self, t: Vector, out: int) -> Vector:
        t = t.copy()
        t[out] = -self.here[out]
        return t

    def _best_on_axis(self, t: Vector, i: int) -> float:
        """Return the best place of coordinate i, all others kept."""
        slope = self.slope[i] + self.hessian[i] @ t - self.hessian[i, i] * t[i]
        curvature = self.hessian[i, i]
        low, high = self.low[i] - self.here[i], self.high[i] - self.here[i]
        places = [low, high]
        if curvature > 0:
            places.append(min(max(-slope / curvature, low), high))
        if self.grid[i] > 0:
            places = [q for p in places for q in self._neighbors(i, p)]
        values = [slope * p + 0.5 * curvature * p * p for p in places]
        return float(places[int(np.argmin(values))])

    def _neighbors(self, i: int, place: float) -> list[float]:
        """Return the steps to the two places of the grid around here + place, inside the bounds."""
        step, here = self.grid[i], self.here[i]
        first, last = np.ceil(self.low[i] / step - 1e-9), np.floor(self.high[i] / step + 1e-9)
        number = (here + place) / step
        return [
            float(min(max(rounded, first), last) * step - here)
            for rounded in (np.floor(number), np.ceil(number))
        ]
