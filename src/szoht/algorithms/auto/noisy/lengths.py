"""How long probes are under noise: the signal must stand out, and must be linear.

A longer probe has more signal; but where f saturates or explodes far out, its power predicts
nothing, and where the noise grows with f, it has more noise as well.
"""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.noisy.probes import Probes
from szoht.algorithms.auto.policy import NoisePolicy
from szoht.algorithms.auto.records import Steps
from szoht.estimators.sensing.noise_test import pool, robust_rms, robust_scale
from szoht.types import Vector

__all__ = ["check_noise", "check_shape", "choose_length", "try_longer"]


def choose_length(probes: Probes, length: float | None) -> Steps[None]:
    """Lengthen probes until the signal stands out from the noise, or the reach ends."""
    noise, policy = probes.pair_noise, probes.values.policy.noise
    if length is None:
        seen, short = probes.noise.slope, policy.short_probe
        wanted = policy.signal_to_noise_short * noise
        length = min(wanted / seen, short) if seen > 0 else 2 * short
    length = min(max(length, probes.values.policy.axis_step), probes.top)
    signal, curvature, before = 0.0, math.inf, None
    for _ in range(6):
        y, middles = yield from probes.pairs(length, policy.pairs)
        good = np.isfinite(y)
        if not good.any():
            length /= 4  # undefined that far out
            continue
        signal, curvature = _signal(y[good], noise), robust_scale(middles[good])
        if before is not None and signal > 4 * max(before[1], noise) * length / before[0]:
            probes.drop_longer(before[0])  # f explodes between the two
            length = math.sqrt(before[0] * length)
            yield from probes.pairs(length, policy.pairs)
            break
        if signal >= 0.5 * _wanted(policy, length) * noise or length >= probes.top:
            break
        before = length, signal
        length = min(probes.top, _longer(policy, signal, noise, length))
    probes.length = length
    count = policy.repeated
    rich = 6 * count < policy.turn_share * probes.values.left()
    if signal < policy.standard_errors * noise and length >= probes.top and rich:
        yield from _compare(probes, count)
    clear = signal >= 0.5 * policy.signal_to_noise * noise
    # forward differences are good enough where curvature is harmless
    probes.forward_only = clear and curvature <= (1 - policy.clear) * signal


def _signal(y: Vector, noise: float) -> float:
    power = 2 * float(np.median(y**2)) - noise**2
    return math.sqrt(max(power, 0.05 * float(np.mean(y**2)), 1e-300))


def _wanted(policy: NoisePolicy, length: float) -> float:
    """Return the ratio of signal to noise that a probe should have; half of it is enough."""
    short = length < policy.short_probe
    return policy.signal_to_noise_short if short else policy.signal_to_noise


def _longer(policy: NoisePolicy, signal: float, noise: float, length: float) -> float:
    short = policy.short_probe
    most = policy.signal_to_noise if length < short else policy.stretch
    longer = length * min(most, max(2.0, 1.2 * _wanted(policy, length) * noise / signal))
    coarse = signal >= 0.5 * policy.signal_to_noise * noise
    return short if length < short < longer and coarse else longer


def _compare(probes: Probes, count: int) -> Steps[None]:
    """Compare three lengths, in case f is flat far out: a shorter one must be clearly better."""
    lengths = (probes.top, probes.top / 2, probes.top / 4)
    powers = []
    for length in lengths:
        yield from probes.pairs(length, count)
        powers.append(probes.power(length))
    best = 0
    for i in (1, 2):
        if powers[i][0] - 2 * math.hypot(powers[i][1], powers[best][1]) > powers[best][0]:
            best = i
    probes.length = probes.top = lengths[best]
    probes.drop_longer(probes.length)


def try_longer(probes: Probes, count: int) -> Steps[bool]:
    """Measure over twice the length; keep it if the power grows as that of a linear function.

    Four times the power is expected; where f saturates it is less, where it explodes more.
    """
    shorter = probes.length
    yield from probes.pairs(2 * shorter, count // 2)
    power, (known, error) = probes.power(2 * shorter)[0], probes.power(shorter)
    if not 2 * known <= power <= 8 * (known + 2 * error):
        probes.drop_longer(shorter)
        return False
    probes.length = probes.top = 2 * shorter
    return True


def check_noise(probes: Probes) -> Steps[None]:
    """Repeat some probes, pool the error seen with sigma, and adapt the length if it grew."""
    probes.checked = True
    policy = probes.values.policy.noise
    affordable = probes.values.affordable(2 * policy.repeated) // 2
    count = min(policy.repeated, probes.y.size, affordable)
    if count == 0:
        return
    chosen = np.arange(probes.y.size - count, probes.y.size)
    forward = bool(probes.is_forward[chosen].all())
    chosen = chosen[probes.is_forward[chosen] == forward]
    stretch = np.ones(chosen.size)
    if not probes.noise.fresh:
        # values err anew over other lengths; pairs do not see the curvature in between
        longer = policy.repeat_stretch * (1 if forward else 5)
        stretch += longer * probes.rng.uniform(0.5, 1, chosen.size)
    before, known = probes.y[chosen], probes.noise.sigma
    again = yield from probes.repeat_rows(chosen, stretch, float(probes.lengths[chosen[-1]]))
    good = np.isfinite(again)
    if not good.any():
        return
    differences = (again - stretch * before)[good] / (math.sqrt(2) if forward else 1)
    probes.noise = pool(probes.noise, robust_rms(differences), float(good.sum()))
    grew = probes.noise.sigma / max(known, 1e-300)
    if probes.noise.fresh and not forward and grew > policy.grown:
        yield from _calm(probes, known)  # noise grows with the distance
    elif grew > policy.grown and not probes.at_top:  # noise was taken for signal
        yield from choose_length(probes, 2 * probes.length)


def _calm(probes: Probes, known: float) -> Steps[None]:
    """Shorten probes while that improves the ratio of signal to noise; ``known``: at the start."""
    ratio, policy = _ratio(probes.y, probes.pair_noise), probes.values.policy.noise
    count = policy.repeated // 2
    while (
        probes.noise.sigma > policy.grown * known
        and probes.values.affordable(4 * count) >= 4 * count
    ):
        length, n = probes.length / 3, probes.y.size
        y, _ = yield from probes.pairs(length, count)
        if not np.isfinite(y).all():
            return
        again = yield from probes.repeat_rows(np.arange(n, n + y.size), np.ones(y.size), length)
        if not np.isfinite(again).all():
            return
        error = max(robust_rms(again - y), known) / math.sqrt(2)
        shorter = _ratio(np.append(y, again), error)
        if shorter < ratio:
            probes.keep(probes.lengths >= probes.length)
            return
        ratio, probes.length, probes.top = shorter, length, length
        probes.noise = replace(probes.noise, sigma=error * math.sqrt(2))
        probes.drop_longer(length)


def _ratio(y: Vector, error: float) -> float:
    return math.sqrt(max(robust_rms(y) ** 2 - error**2, 0.0)) / max(error, 1e-300)


def check_shape(probes: Probes) -> Steps[bool]:
    """Repeat some pairs over half the length; take that if half differences are not halved.

    What changes with the length is not linear: it has power, but predicts nothing.
    """
    policy = probes.values.policy.noise
    pairs = np.flatnonzero((probes.lengths == probes.length) & ~probes.is_forward)
    pairs = pairs[-policy.repeated :]
    if pairs.size < policy.repeated or probes.values.affordable(2 * pairs.size) < 2 * pairs.size:
        return False
    half, expected, noise = 0.5 * probes.length, 0.5 * probes.y[pairs], probes.pair_noise**2
    again = yield from probes.repeat_rows(pairs, np.full(pairs.size, 0.5), half)
    if not np.isfinite(again).all():
        return False
    bent = robust_rms(again - expected) ** 2 - 1.25 * noise
    linear = robust_rms(expected) ** 2 - 0.25 * noise
    if bent <= 0.5 * max(linear, 0.0) or bent <= policy.standard_errors * noise:
        return False
    probes.length = probes.top = half
    probes.drop_longer(half)
    return True
