"""The value at a point from many noisy ones: location, standard error, and who leads a race."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from szoht.core.repeats import same_value
from szoht.estimators.sensing.noise_test import robust_scale
from szoht.types import Vector

__all__ = ["Location", "agreed", "huber_location", "survivors"]

CORNER = 1.5
"""Of Huber's function, in robust standard deviations: 96 % efficient on normal values."""

MIN_VALUES = 5
"""Fewer values are averaged: they do not show their spread."""


class Location(NamedTuple):
    """A center of values and its standard error."""

    value: float
    error: float


def huber_location(values: Vector) -> Location:
    """Return Huber's location (1964) and its standard error; the mean below five values.

    >>> location = huber_location(np.array([1.0, 1.1, 0.9, 1.05, 0.95, 50.0]))
    >>> round(location.value, 1)
    1.0
    """
    v = values[np.isfinite(values)]
    n = v.size
    if n == 0:
        return Location(math.inf, math.inf)
    center, scale = float(np.median(v)), robust_scale(v)
    if n < MIN_VALUES or scale == 0:
        error = float(np.std(v, ddof=1)) / math.sqrt(n) if n > 1 else math.inf
        return Location(float(np.mean(v)) if n < MIN_VALUES else center, error)
    for _ in range(30):
        weights = np.minimum(1.0, CORNER * scale / np.maximum(np.abs(v - center), 1e-300))
        moved = float(weights @ v / weights.sum())
        if abs(moved - center) < 1e-9 * scale:
            break
        center = moved
    r = (v - center) / scale
    psi = np.clip(r, -CORNER, CORNER)
    inside = max(float((np.abs(r) < CORNER).mean()), 0.2)
    error = scale * math.sqrt(float(psi @ psi) / (n - 1)) / (inside * math.sqrt(n))
    return Location(center, error)


def survivors(locations: list[Location], standard_errors: float) -> list[int]:
    """Return the numbers of those not behind the lowest by so many errors of the difference."""
    best = min(locations)
    return [
        i
        for i, one in enumerate(locations)
        if not one.value - best.value > standard_errors * math.hypot(one.error, best.error)
    ]


def agreed(values: Vector) -> float | None:
    """Return a value that two of ``values`` agree on but for rounding, if there is one.

    Two that are NaN agree that f is undefined.

    >>> agreed(np.array([3.0, 9.0, 3.0]))
    3.0
    """
    ordered = np.sort(values).tolist()
    pairs = pairwise(ordered)
    return next((one for one, other in pairs if same_value(one, other)), None)
