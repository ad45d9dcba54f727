"""Which coordinates matter: sparse recovery that is checked, and the matched filter behind it."""

import math
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


BELIEVED = 0.1
"""Held-out error below which a recovered gradient is believed, beyond what noise explains."""


class Recovery(NamedTuple):
    """Coordinates and slopes found by pursuit, and the error on the held-out measurements."""

    support: Indices
    slopes: Vector
    error: float
    believed: bool


def recover(measurements: Measurements, most: int, noise: float = 0.0) -> Recovery:
    """Find at most ``most`` coordinates that explain the measured slopes.

    Orthogonal matching pursuit (Pati, Rezaiifar, Krishnaprasad 1993) on five sixths of the
    measurements; the rest tell whether what was found predicts anything. If the gradient is
    sparse, of the order of s log(d / s) measurements suffice, far fewer than its d entries; if it
    is not, the held-out error says so. ``noise`` is the standard deviation of a measurement. What
    all of them have in common is fitted along: curvature, or a kink such as that of ||x||_1.
    """
    y = measurements.slopes
    used = max(1, y.size - max(FEWEST_HELD_OUT, y.size // HELD_OUT))
    residual = y - y[:used].mean()
    residual[used:] = 0.0
    enough = max(RESIDUAL * float(np.linalg.norm(residual)), noise * math.sqrt(used))
    support: list[int] = []
    basis = np.zeros((1 + min(most, max(used - 2, 0)), y.size))
    basis[0, :used] = 1 / math.sqrt(used)  # what all measurements have in common
    for found in range(1, len(basis)):
        correlation = np.abs(measurements.correlate(residual))
        correlation[support] = 0.0
        support.append(int(np.argmax(correlation)))
        column = np.zeros(y.size)
        column[:used] = measurements.columns(np.array(support[-1:]))[:used, 0]
        for _ in range(2):  # Gram-Schmidt, twice for the sake of rounding
            column -= (basis[:found] @ column) @ basis[:found]
        basis[found] = column / max(float(np.linalg.norm(column)), 1e-300)
        residual -= (basis[found] @ residual) * basis[found]
        if np.linalg.norm(residual) <= enough:
            break
    columns = measurements.columns(np.array(support, dtype=np.intp))
    with_common = np.column_stack([np.ones(used), columns[:used]])
    fitted = np.asarray(np.linalg.lstsq(with_common, y[:used], rcond=None)[0])
    slopes, held = fitted[1:], y[used:] - fitted[0]
    size = float(np.linalg.norm(held))
    miss = float(np.linalg.norm(held - columns[used:] @ slopes))
    # a sum of n squares of noise has mean n and standard deviation sqrt(2 n), in units of noise^2
    explained = noise**2 * (held.size + 2 * math.sqrt(2 * held.size))
    believed = miss**2 < (BELIEVED * size) ** 2 + explained
    error = miss / size if size > 0 else 0.0
    return Recovery(np.array(support, dtype=np.intp), slopes, error, believed or size == 0)


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
    coordinate; what the ``known`` coordinates contribute to the y_i is taken out first, and their
    slopes stand as they are.
    """
    y = measurements.slopes
    if known.size:
        y = y - measurements.columns(known) @ slopes
    y = y - y.mean()
    noise = max(float(np.linalg.norm(y)) / y.size, float(np.finfo(np.float64).tiny) ** 0.25)
    seen = measurements.correlate(y) / y.size
    seen[known] += slopes
    now = Evidence(seen / noise**2, 1 / noise**2)
    if before is None:
        return now
    return Evidence(now.weighted + MEMORY * before.weighted, now.weight + MEMORY * before.weight)
