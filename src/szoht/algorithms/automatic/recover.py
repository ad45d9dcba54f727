"""Which coordinates matter: sparse recovery that is checked, and the matched filter behind it."""

from typing import NamedTuple

import numpy as np

from szoht.algorithms.automatic.measure import Measurements
from szoht.types import Indices, Vector

__all__ = ["Evidence", "Recovery", "gather", "recover"]

RESIDUAL = 1e-3
"""Pursuit stops when it explains the measurements that it may use up to this share."""

HELD_OUT = 6
"""One measurement in this many is kept from the pursuit and decides whether to believe it."""

FEWEST_HELD_OUT = 4

MEMORY = 0.7
"""Weight of older evidence: slopes change with the point where they are measured."""


class Recovery(NamedTuple):
    """Coordinates and slopes found by pursuit, and the error on the held-out measurements."""

    support: Indices
    slopes: Vector
    error: float


def recover(measurements: Measurements, most: int) -> Recovery:
    """Find at most ``most`` coordinates that explain the measured slopes.

    Orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993) on five sixths of the
    measurements; the rest tell whether what was found predicts anything. If the gradient is
    sparse, of the order of s log(d / s) measurements suffice, far fewer than its d entries; if it
    is not, the held-out error says so.
    """
    y = measurements.slopes
    used = y.size - max(FEWEST_HELD_OUT, y.size // HELD_OUT)
    residual = np.array(y)
    residual[used:] = 0.0
    support: list[int] = []
    columns = np.empty((y.size, 0))
    slopes = np.empty(0)
    while len(support) < min(most, used - 1):
        correlation = np.abs(measurements.correlate(residual))
        correlation[support] = 0.0
        support.append(int(np.argmax(correlation)))
        columns = np.hstack([columns, measurements.columns(np.array(support[-1:]))])
        slopes = np.asarray(np.linalg.lstsq(columns[:used], y[:used], rcond=None)[0])
        residual[:used] = y[:used] - columns[:used] @ slopes
        if np.linalg.norm(residual) <= RESIDUAL * np.linalg.norm(y[:used]):
            break
    held = y[used:]
    size = float(np.linalg.norm(held))
    error = float(np.linalg.norm(held - columns[used:] @ slopes)) / size if size > 0 else 0.0
    return Recovery(np.array(support, dtype=np.intp), slopes, error)


class Evidence(NamedTuple):
    """Estimated slopes of all coordinates, averaged over rounds by their precision."""

    weighted: Vector
    weight: float

    @property
    def slopes(self) -> Vector:
        """The average."""
        return self.weighted / self.weight


def gather(
    measurements: Measurements, known: Indices, slopes: Vector, before: Evidence | None
) -> Evidence:
    """Add what a matched filter sees to the evidence so far.

    ``(1/m) sum_i y_i u_i`` is an unbiased estimate of the gradient with noise ``|g| / sqrt(m)`` per
    coordinate; what the ``known`` coordinates contribute to the y_i is taken out first.
    """
    y = measurements.slopes
    if known.size:
        y = y - measurements.columns(known) @ slopes
    noise = max(float(np.linalg.norm(y)) / y.size, float(np.finfo(np.float64).tiny) ** 0.25)
    now = Evidence(measurements.correlate(y) / y.size / noise**2, 1 / noise**2)
    if before is None:
        return now
    return Evidence(now.weighted + MEMORY * before.weighted, now.weight + MEMORY * before.weight)
