"""A quadratic model of f within limits: its minimum, and which side of a gap is best."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from szoht.types import Indices, Mask, Vector

__all__ = ["Interval", "best_branch", "bounded_step"]

Interval: TypeAlias = tuple[float, float]

FEW_CHOICES = 64
"""So many choices of intervals are compared one by one."""

CHANGES = 10
"""How often a choice of intervals is changed in the best one of them otherwise."""

FEASIBLE = 1e-9
"""A step that misses its sum by more than this has none."""


def bounded_step(
    slopes: Vector, hessian: Vector, low: Vector, high: Vector, *, total: float | None = None
) -> Vector:
    """Minimize ``slopes @ p + p @ hessian @ p / 2`` over ``low <= p <= high``, with a given sum.

    An active set method (Nocedal and Wright, Numerical Optimization, 16.3): go to the minimum over
    the entries that are free, or until one of them meets its limit, which holds it from there on;
    at a minimum, release the one that gains most. ``total`` is the sum of the step, None if it is
    free; where no step has that sum, one whose sum is nearest.
    """
    n = slopes.size
    step = _first(low, high, total)
    held: Mask = (step <= low) | (step >= high)
    curved = float(np.trace(hessian)) / n or 1.0
    hessian = hessian + 1e-13 * curved * np.eye(n)
    enough = 1e-10 * float(np.abs(slopes + hessian @ step).max(initial=0.0))
    for _ in range(10 * n + 10):
        free = np.flatnonzero(~held)
        rising = slopes + hessian @ step
        move, level = _towards_minimum(rising, hessian, free, curved, total is not None)
        if not np.isfinite(move).all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(move > 0, high[free], low[free])
            room = np.where(move == 0, np.inf, (bound - step[free]) / move)
        length = min(1.0, float(room.min(initial=np.inf)))
        step[free] += length * move
        if length < 1:  # the first that meets its limit is held there
            met = int(np.argmin(room))
            step[free[met]], held[free[met]] = bound[met], True
            continue
        rising = slopes + hessian @ step
        up, down = held & (step < high), held & (step > low)
        if total is not None and not free.size:
            released = _pair(rising, up, down, enough)
        else:
            released = _released(rising + level, up, down, enough)
        if not released:
            break
        held[released] = False
    return np.asarray(np.clip(step, low, high))


def _released(rising: Vector, up: Mask, down: Mask, enough: float) -> list[int]:
    """Return the entry whose release gains most, none if nothing gains enough."""
    pull = np.maximum(np.where(up, -rising, 0.0), np.where(down, rising, 0.0))
    best = int(np.argmax(pull))
    return [best] if pull[best] > enough else []


def _pair(rising: Vector, up: Mask, down: Mask, enough: float) -> list[int]:
    """Return the two entries between which an exchange gains most."""
    one = int(np.argmin(np.where(up, rising, np.inf)))
    other = int(np.argmax(np.where(down, rising, -np.inf)))
    gain = np.where(down, rising, -np.inf)[other] - np.where(up, rising, np.inf)[one]
    return [one, other] if gain > enough else []


def _first(low: Vector, high: Vector, total: float | None) -> Vector:
    """Return the step nearest to zero in size, then moved to have the right sum."""
    step: Vector = np.clip(0.0, low, high)
    if total is None:
        return step
    missing = total - float(step.sum())
    room = high - step if missing > 0 else step - low
    space = float(room.sum())
    if missing == 0 or not space > 0:
        return step
    return np.asarray(np.clip(step + room * (missing / max(space, abs(missing))), low, high))


def _towards_minimum(
    rising: Vector, hessian: Vector, free: Indices, curved: float, given_sum: bool
) -> tuple[Vector, float]:
    """Return the move of the free entries to their minimum, and minus the level of slopes there."""
    m = free.size
    if not m:
        return np.empty(0), 0.0
    own = hessian[np.ix_(free, free)]
    if not given_sum:
        return np.asarray(np.linalg.solve(own, -rising[free]), dtype=np.float64), 0.0
    # the last equation has the size of the others, whatever that of f is
    system = np.full((m + 1, m + 1), curved)
    system[:m, :m], system[m, m] = own, 0.0
    right = np.append(-rising[free], 0.0)
    solution = np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    return solution[:m], float(solution[m]) * curved


def best_branch(
    slopes: Vector,
    hessian: Vector,
    values: Vector,
    sides: Sequence[Sequence[Interval]],
    *,
    given_sum: bool,
) -> Vector | None:
    """Choose one of several intervals for each value, as the model says; return the values there.

    All choices are compared if they are few; else a search begins with the first of each, and
    changes one at a time. None if no choice that was tried has a point with the same sum.
    """

    def solved(choice: tuple[Interval, ...]) -> tuple[float, float, Vector]:
        low, high = np.array(choice).T - values
        step = bounded_step(slopes, hessian, low, high, total=0.0 if given_sum else None)
        missing = abs(float(step.sum())) if given_sum else 0.0
        gain = float(slopes @ step + 0.5 * step @ hessian @ step)
        return (missing if missing > FEASIBLE else 0.0), gain, values + step

    chosen = tuple(side[0] for side in sides)
    best = solved(chosen)
    few = math.prod(len(side) for side in sides) <= FEW_CHOICES
    for _ in range(1 if few else CHANGES):
        before = best[:2]
        for choice in product(*sides) if few else _neighbors(chosen, sides):
            trial = solved(choice)
            if trial[:2] < best[:2]:
                best, chosen = trial, choice
        if not best[:2] < before:
            break
    return best[2] if best[0] == 0 else None


def _neighbors(
    chosen: tuple[Interval, ...], sides: Sequence[Sequence[Interval]]
) -> Iterator[tuple[Interval, ...]]:
    """Yield the choices in which one value is in another interval."""
    for i, side in enumerate(sides):
        for other in side:
            if other != chosen[i]:
                yield (*chosen[:i], other, *chosen[i + 1 :])
