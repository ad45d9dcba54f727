"""Over which length differences are taken: as short as noise allows, as long as f is linear.

The test is a generator that yields lengths along a line through the start and receives values; its
result depends on these alone.
"""

import math
from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from szoht.core.repeats import same_value
from szoht.estimators.sensing.noise_test import (
    LINE_STEPS,
    LONGER_STEPS,
    REPEATS,
    SLOPE_ERROR,
    NoiseModel,
    from_line,
    from_repeats,
    mostly_equal,
    with_longer_table,
)
from szoht.types import Vector

__all__ = ["MAX_LENGTH", "LengthChoice", "LengthTest", "choose_length"]

CURVATURE_LENGTHS: Vector = np.array([5e-4, 5e-3, 5e-2, 5e-1])
"""Where second differences are taken, forward, once values are known to err."""

MAX_LENGTH = 1.0
"""The longest difference; also the longest step along the line."""

CLEAR_CURVATURE, VISIBLE_CURVATURE = 100.0, 6.0
"""A second difference of so many standard deviations tells the curvature; fewer do over the
longest length."""


class LengthChoice(NamedTuple):
    """The noise found, and the length of differences; None if the default is good enough."""

    noise: NoiseModel
    length: float | None = None


LengthTest: TypeAlias = Generator[Vector, Vector, LengthChoice]


def choose_length(default: float, *, linear: bool) -> LengthTest:
    """Ask for values at lengths along a line, 0 being the start; 7 where f is exact, else 17 to 18.

    A difference over h errs by about sigma / h and, if it is one-sided, by h c / 2, c being the
    second derivative: least together at h = 8^(1/4) sqrt(sigma / c) (More and Wild, Estimating
    derivatives of noisy simulations, ACM TOMS 38, 2012). Where curvature cancels (``linear``), h is
    five times as long.
    """
    values = yield np.concatenate([np.zeros(2), LINE_STEPS])
    start, again, line = float(values[0]), float(values[1]), values[2:]
    if not np.isfinite(values).all():
        return LengthChoice(NoiseModel())  # undefined next to the start: nothing is known
    if not same_value(again, start):
        more = yield np.zeros(REPEATS)
        repeats = np.concatenate([values[:2], more[np.isfinite(more)]])
        if mostly_equal(repeats) is not None:
            return LengthChoice(NoiseModel(outliers=True))
        noise, start = from_repeats(repeats), float(np.median(repeats))
    else:
        noise = from_line(start, line)
        if noise.exact or noise.stepwise:
            return LengthChoice(noise)
        far = int(np.argmax(np.abs(line - np.median(line))))
        more = yield np.concatenate([LINE_STEPS[[far]], LONGER_STEPS])
        if not same_value(more[0], line[far]):
            return LengthChoice(replace(noise, outliers=True))
        table = np.array([start, line[3], *more[1:]])
        noise = with_longer_table(noise, table) if np.isfinite(table).all() else noise
    slope = abs(line[-1] - start) / LINE_STEPS[-1]
    if 1.5 * noise.sigma <= SLOPE_ERROR * slope * default:
        return LengthChoice(noise)
    values = yield np.concatenate([CURVATURE_LENGTHS, 2 * CURVATURE_LENGTHS])
    length = _length(noise.sigma, start, values.reshape(2, -1))
    return LengthChoice(noise, min(max((5 if linear else 1) * length, default), MAX_LENGTH))


def _length(sigma: float, start: float, values: Vector) -> float:
    """Return the best length of a one-sided difference, given values at h and 2 h."""
    second = np.abs(values[1] - 2 * values[0] + start)
    known = np.isfinite(second)
    clear = np.flatnonzero(known & (second >= CLEAR_CURVATURE * sigma))
    if clear.size:
        i = int(clear[0])
    elif known[-1] and second[-1] >= VISIBLE_CURVATURE * sigma:
        i = second.size - 1
    else:  # as far as f is defined
        return float(2 * CURVATURE_LENGTHS[known].max(initial=CURVATURE_LENGTHS[0] / 10))
    curvature = second[i] / CURVATURE_LENGTHS[i] ** 2
    return float(8**0.25 * math.sqrt(sigma / curvature))
