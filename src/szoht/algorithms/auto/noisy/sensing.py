"""Sensing under noise: probe until cross-validation is sure of the slopes, or money runs out."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.auto.noisy.lengths import (
    check_noise,
    check_shape,
    choose_length,
    try_longer,
)
from szoht.algorithms.auto.noisy.probes import Probes
from szoht.algorithms.auto.noisy.values import LONGEST
from szoht.algorithms.auto.policy import NoisePolicy
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.estimators.sensing.cross_validation import CrossValidatedRecovery, recover_noisy
from szoht.estimators.sensing.noise_test import robust_rms

__all__ = ["Sensed", "sense"]

LOOKS_SPARSE, FULL_SHARE = 4, 0.6
"""After so many first looks that few coordinates did not explain, all slopes are measured, if that
takes at most this share of the values that are left."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensed:
    """What sensing found: a recovery, whether it is sure, and the length of the probes."""

    recovery: CrossValidatedRecovery
    sure: bool
    length: float
    noise: NoiseModel
    cost: int
    slope: float

    def low_noise(self, policy: NoisePolicy) -> bool:
        """Tell whether short differences show the signal clearly; longer ones very clearly."""
        short = 2 * policy.short_probe
        needed = policy.clear if self.length <= short else 1 - (1 - policy.clear) ** 2
        return self.length <= policy.stretch * short and self.recovery.signal >= needed


def sense(
    probes: Probes, *, cap: int, length: float | None = None, first: bool = False
) -> Steps[Sensed]:
    """Probe until the slopes are sure, or ``cap`` values are spent; perhaps more the first time."""
    start, is_new = probes.values.left(), probes.y.size == 0
    if is_new:
        yield from choose_length(probes, length)
    adapting = _Adapting(grow=is_new and probes.values.unbounded, shorten=is_new, stretch=is_new)
    policy = probes.values.policy.noise
    fewest = policy.fewest_rows
    yield from _probe_first(probes)
    while True:
        found, sure = _analyze(probes)
        spent = start - probes.values.left()
        broke = probes.values.affordable(fewest) < fewest
        # a dense gradient: more rows would tell little more than the next round will
        dense = found.signal >= policy.clear and spent >= probes.values.policy.looks_dense * _look(
            probes
        )
        if first and not sure and _is_full_design_due(probes, found):
            probes.forward_only = False
            yield from probes.more(2 * (probes.available - probes.n_directions))
            found, sure = _analyze(probes)
            return _sensed(probes, found, start - probes.values.left(), sure=sure)
        if (sure and spent > 0) or spent >= cap or broke or dense or found.rows < fewest:
            return _sensed(probes, found, spent, sure=sure)
        if is_new and _is_axis_scan_due(probes, found, spent):
            found = yield from _scan_axes(probes)
            spent = start - probes.values.left()
            return _sensed(probes, found, spent, sure=False)
        if not probes.checked:
            yield from check_noise(probes)
        elif not (yield from adapting.adapt(probes, found, spent)):
            yield from probes.more(max(4, min(spent // 2, cap - spent)))


def _probe_first(probes: Probes) -> Steps[None]:
    """Measure the rows of the first analysis: fewer if noise is low and they say everything."""
    policy = probes.values.policy.noise
    fewest, little = policy.fewest_rows, (1 - policy.clear) ** 2
    half = max(4, _first_rows(probes) - probes.y.size) // 2
    for count in (half, half // 2, half - half // 2):
        yield from probes.more(count)
        found, sure = _analyze(probes)
        if sure and 1 - found.signal < little:
            return
    if probes.n_directions < fewest:  # few coordinates, or many failures
        yield from probes.more(2 * (fewest - probes.n_directions))


def _sensed(probes: Probes, found: CrossValidatedRecovery, cost: int, *, sure: bool) -> Sensed:
    return Sensed(
        recovery=found,
        sure=sure,
        length=probes.length,
        noise=probes.noise,
        cost=cost,
        slope=math.sqrt(max(0.0, found.signal)) * robust_rms(probes.y / probes.lengths),
    )


def _is_axis_scan_due(probes: Probes, found: CrossValidatedRecovery, spent: int) -> bool:
    """Tell whether the gradient is dense, seen clearly, and all axes are affordable."""
    d, look, policy = probes.values.d, _look(probes), probes.values.policy.noise
    slope = robust_rms(probes.y / probes.lengths) / math.sqrt(d)
    seen = slope * _axis_length(probes) > 0.5 * policy.signal_to_noise * probes.noise.sigma
    dense = seen and found.signal >= policy.clear and found.r2 < 0.5 * found.signal
    affordable = d <= min(
        2 * probes.values.policy.looks_dense * look,
        policy.turn_share * probes.values.affordable(d * 10),
    )
    return dense and spent > _first_rows(probes) and affordable and probes.checked


def _is_full_design_due(probes: Probes, found: CrossValidatedRecovery) -> bool:
    """Tell whether few coordinates do not explain what is signal, and all rows are affordable.

    Along all rows of an orthogonal design, a slope is seen without any of the others, however
    many there are; along fewer, each adds its share to the error of all.
    """
    rows = probes.n_directions
    if rows < LOOKS_SPARSE * _first_rows(probes) or not probes.checked:
        return False
    dense = 2 * found.signal >= 1 and found.r2 < 0.5 * found.signal
    return dense and 0 < 2 * (probes.available - rows) <= FULL_SHARE * probes.values.left()


def _axis_length(probes: Probes) -> float:
    return min(4 * probes.length, 8 * probes.values.policy.noise.short_probe)


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
        size=int((z > probes.values.policy.noise.standard_errors_sure).sum()),
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
        policy, is_noisy = probes.values.policy.noise, 2 * found.signal < 1
        if probes.forward_only and not is_noisy:
            return False
        if self.shorten and probes.length > policy.short_probe and not probes.forward_only:
            self.shorten = yield from check_shape(probes)
            if self.shorten:
                self.grow = self.stretch = False
                yield from probes.more(max(4, _first_rows(probes) - probes.y.size))
                return True
        if self.stretch and not probes.at_top and is_noisy:
            probes.length = min(policy.stretch * probes.length, probes.top)
            probes.forward_only = False
            return False
        if self.grow and probes.at_top and found.signal < policy.clear:
            self.grow = yield from try_longer(probes, max(24, spent // 3))
            self.grow = self.grow and probes.length < LONGEST
            return True
        return False


def _look(probes: Probes) -> float:
    """Return the order of the number of differences that sparse recovery needs."""
    return probes.k * (1 + math.log(max(1.0, probes.values.d / probes.k)))


def _first_rows(probes: Probes) -> int:
    """Return how many differences the first analysis takes."""
    return math.ceil(probes.values.policy.rows_first * _look(probes))


def _analyze(probes: Probes) -> tuple[CrossValidatedRecovery, bool]:
    """Recover slopes; tell whether they are sure."""
    policy = probes.values.policy.noise
    if probes.n_directions < policy.fewest_rows:
        return _nothing(), False
    rows, y = probes.data()
    found = recover_noisy(rows, y, 2 * probes.k, probes.pair_noise**2, probes.groups)
    strong = int((found.z[: found.size] >= policy.standard_errors_sure).sum())
    clear = found.signal >= policy.clear and found.r2 >= policy.clear * found.signal
    few = probes.n_directions < 2 * _first_rows(probes)
    # next to nothing is missing beyond what noise explains
    complete = 1 - found.r2 <= (1 - policy.clear) / 3 + 2 * (1 - found.signal)
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
