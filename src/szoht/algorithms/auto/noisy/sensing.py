"""Sensing under noise: probe until cross-validation is sure of the slopes, or money runs out."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.noisy.lengths import (
    FIRST_LENGTH,
    LONGEST_DIFFERENCE,
    MAX_PROBE_LENGTH,
    SHORT,
    STRETCH,
    check_noise,
    check_shape,
    choose_length,
    try_longer,
)
from szoht.algorithms.auto.noisy.probes import Probes
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.estimators.sensing.cross_validation import CrossValidatedRecovery, recover_noisy
from szoht.estimators.sensing.noise_test import robust_rms

__all__ = ["Sensed", "sense"]

LOOK = 1.3
"""Values for the first analysis, in units of k (1 + log(d / k))."""

CLEAR_SIGNAL, CLEAR_R2, CLEAR_Z = 0.9, 0.85, 5.5
"""Sure: at least the first share of the power is signal and the second share of the signal is
predicted on held-out rows; or k slopes stand out by this many standard errors."""

VERY_CLEAR = 0.99
"""The share of signal with which longer differences are still taken for those of low noise."""

MISSING = 0.03
"""After few probes, sure only if no more than this is missing beyond what noise explains."""

NOISY, FAINT_SIGNAL_SHARE = 0.5, 0.8
"""Below these shares of signal probes grow: up to the reach, and without bounds beyond it."""

MIN_ROWS = 8
"""Values that a further round of probes takes at least."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensed:
    """What sensing found: a recovery, whether it is sure, and the length of the probes."""

    recovery: CrossValidatedRecovery
    sure: bool
    length: float
    noise: NoiseModel
    cost: int

    @property
    def low_noise(self) -> bool:
        """Whether short differences show the signal clearly."""
        needed = CLEAR_SIGNAL if self.length <= FIRST_LENGTH else VERY_CLEAR
        return self.length <= STRETCH * FIRST_LENGTH and self.recovery.signal >= needed


CLEAR = 0.95
"""Share of the variance of probes that is not noise, from which on they count as clear."""

AXES_LOOKS, AXES_SHARE = 25.0, 0.35
"""All axes are measured if they are at most so many times k (1 + log(d / k)), and this share of
what is left,"""

ROWS_FIRST, HIDDEN = 2.0, 0.5
"""after so many values, in the same units, if less than this share of the signal is predicted."""

AXIS_SIGNAL = 5.0
"""Changes along an axis must be this many times the noise."""

DENSE_LOOKS = 12.0
"""Values that a round may spend on a dense gradient, in units of k (1 + log(d / k))."""


def sense(probes: Probes, *, cap: int, length: float | None = None) -> Steps[Sensed]:
    """Probe until the slopes are sure, or until ``cap`` values are spent."""
    start, is_new = probes.values.left(), probes.y.size == 0
    if is_new:
        yield from choose_length(probes, length)
    adapting = _Adapting(grow=is_new and probes.values.unbounded, shorten=is_new, stretch=is_new)
    wanted = math.ceil(LOOK * _look(probes))
    yield from probes.more(max(4, wanted - probes.y.size))
    if probes.n_directions < MIN_ROWS:  # few coordinates, or many failures
        yield from probes.more(2 * (MIN_ROWS - probes.n_directions))
    while True:
        found, sure = _analyze(probes)
        spent = start - probes.values.left()
        broke = probes.values.affordable(MIN_ROWS) < MIN_ROWS
        # a dense gradient: more rows would tell little more than the next round will
        dense = found.signal >= CLEAR and spent >= DENSE_LOOKS * _look(probes)
        if (sure and spent > 0) or spent >= cap or broke or dense or found.rows < MIN_ROWS:
            return Sensed(
                recovery=found, sure=sure, length=probes.length, noise=probes.noise, cost=spent
            )
        if is_new and _is_axis_scan_due(probes, found, spent):
            found = yield from _scan_axes(probes)
            spent = start - probes.values.left()
            return Sensed(
                recovery=found, sure=False, length=probes.length, noise=probes.noise, cost=spent
            )
        if not probes.checked:
            yield from check_noise(probes)
        elif not (yield from adapting.adapt(probes, found, spent)):
            yield from probes.more(max(4, min(spent // 2, cap - spent)))


def _is_axis_scan_due(probes: Probes, found: CrossValidatedRecovery, spent: int) -> bool:
    """Tell whether the gradient is dense, seen clearly, and all axes are affordable."""
    d, look = probes.values.d, _look(probes)
    slope = robust_rms(probes.y / probes.lengths) / math.sqrt(d)
    seen = slope * _axis_length(probes) > AXIS_SIGNAL * probes.noise.sigma
    dense = seen and found.signal >= CLEAR and found.r2 < HIDDEN * found.signal
    affordable = d <= min(AXES_LOOKS * look, AXES_SHARE * probes.values.affordable(d * 10))
    return dense and spent >= ROWS_FIRST * look and affordable and probes.checked


def _axis_length(probes: Probes) -> float:
    return min(4 * probes.length, LONGEST_DIFFERENCE)


def _scan_axes(probes: Probes) -> Steps[CrossValidatedRecovery]:
    """Measure one difference along each axis, four times as long as the probes.

    What curvature adds is much the same for all: the median is taken out.
    """
    d, noise = probes.values.d, probes.noise.sigma
    length = _axis_length(probes)
    up = probes.values.clip(probes.x + length * np.eye(d))
    steps = np.diag(up) - probes.x
    down = steps <= 0
    up[down] = probes.values.clip(probes.x - length * np.eye(d))[down]
    steps = np.diag(up) - probes.x
    changes = (yield from probes.values.at(up)) - probes.value
    seen = np.isfinite(changes) & (steps != 0)
    quotients = np.divide(changes, steps, out=np.zeros(d), where=seen)
    slopes = np.where(seen, quotients - np.median(quotients[seen] * np.sign(steps[seen])), 0.0)
    error = noise / length
    z = np.abs(slopes) / max(error, 1e-300)
    order = np.argsort(-z, kind="stable")
    power = float(np.mean(slopes**2))
    return CrossValidatedRecovery(
        order=order,
        slopes=slopes[order],
        size=int((z > CLEAR_Z).sum()),
        z=z[order],
        r2=0.0,
        t=float(z.max(initial=0.0)),
        signal=max(0.0, 1 - error**2 / max(power, 1e-300)),
        rows=d,
        error=error,
    )


@dataclass(kw_only=True)
class _Adapting:
    """Which changes of the length are still open."""

    grow: bool
    shorten: bool
    stretch: bool

    def adapt(self, probes: Probes, found: CrossValidatedRecovery, spent: int) -> Steps[bool]:
        """Change the length if there is reason to; tell whether probes were measured for that."""
        if probes.forward_only and found.signal >= NOISY:
            return False
        if self.shorten and probes.length > SHORT and not probes.forward_only:
            self.shorten = yield from check_shape(probes, found.signal - found.r2)
            if self.shorten:
                self.grow = self.stretch = False
                yield from probes.more(max(4, math.ceil(LOOK * _look(probes)) - probes.y.size))
                return True
        if self.stretch and not probes.at_top and found.signal < NOISY:
            probes.length = min(STRETCH * probes.length, probes.top)
            probes.forward_only = False
            return False
        if self.grow and probes.at_top and found.signal < FAINT_SIGNAL_SHARE:
            self.grow = yield from try_longer(probes, max(24, spent // 3))
            self.grow = self.grow and probes.length < MAX_PROBE_LENGTH
            return True
        return False


def _look(probes: Probes) -> float:
    """Return the order of the number of differences that sparse recovery needs."""
    return probes.k * (1 + math.log(max(1.0, probes.values.d / probes.k)))


def _analyze(probes: Probes) -> tuple[CrossValidatedRecovery, bool]:
    """Recover slopes; tell whether they are sure."""
    if probes.n_directions < MIN_ROWS:
        return _nothing(), False
    rows, y = probes.data()
    found = recover_noisy(rows, y, 2 * probes.k, probes.pair_noise**2, probes.groups)
    strong = int((found.z[: found.size] >= CLEAR_Z).sum())
    clear = found.signal >= CLEAR_SIGNAL and found.r2 >= CLEAR_R2 * found.signal
    few = probes.n_directions < 2 * LOOK * _look(probes)
    complete = 1 - found.r2 <= MISSING + 2 * (1 - found.signal)
    return found, (clear and (complete or not few)) or strong >= probes.k


def _nothing() -> CrossValidatedRecovery:
    """Return the recovery from too few rows, as where f is undefined all around."""
    empty = np.empty(0)
    return CrossValidatedRecovery(
        order=np.empty(0, dtype=np.intp),
        slopes=empty,
        size=0,
        z=empty,
        r2=0.0,
        t=0.0,
        signal=0.0,
        rows=0,
        error=0.0,
    )
