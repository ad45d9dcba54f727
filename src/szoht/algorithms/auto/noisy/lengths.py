"""How long probes are under noise: the signal must stand out, and must be linear.

A longer probe has more signal; but where f saturates or explodes far out, its power predicts
nothing, and where the noise grows with f, it has more noise as well.
"""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.auto.noisy.probes import Probes
from szoht.algorithms.auto.records import Steps
from szoht.estimators.sensing.noise_test import pool, robust_rms, robust_scale
from szoht.types import Vector

__all__ = [
    "FIRST_LENGTH",
    "LONGEST_DIFFERENCE",
    "MAX_PROBE_LENGTH",
    "SHORT",
    "check_noise",
    "check_shape",
    "choose_length",
    "try_longer",
]

WEAK_SIGNAL_TO_NOISE, STRONG_SIGNAL_TO_NOISE = 100.0, 10.0
"""Signal-to-noise ratio wanted of a difference over less than `SHORT` (weak coordinates must be
seen, and length costs nothing there), and over more; half of it is enough."""

SHORT, FIRST_LENGTH, MAX_PROBE_LENGTH = 0.05, 0.1, 4.0
"""Lengths, in reaches: of probes that are short; of the first one when no slope was seen on the
test line; of the longest without bounds."""

SHORTEST = 1e-6

LONGEST_DIFFERENCE = 0.4
"""Of the first differences along axes, which are four times as long as probes."""

FEW_PAIRS = 4
"""Pairs that judge a length."""

STRETCH_SHORT, STRETCH = 30.0, 2.5
"""A length grows at most by the first factor while it is short, by the second later."""

HARMLESS = 0.15
"""Curvature, as a share of the signal, with which forward differences are good enough."""

EXPLODES = 2.5
"""A longer probe has this many times the power of a linear function: f explodes out there."""

MIN_SIGNAL_TO_NOISE, COMPARED, RICH = 2.0, 20, 600
"""A signal below this many times the noise at the longest length: this many pairs at each of three
lengths are compared, if this many values are left."""

REPEATED = 16
"""Probes that are repeated when the first analysis is not sure, to check sigma and the shape."""

STRETCH_FORWARD, STRETCH_PAIR = 0.02, 0.1
"""Repeated probes are longer by up to these shares where the error is fixed: values err anew."""

GREW, GREW_MUCH = 1.5, 1.8
"""Sigma grew: noise was taken for signal. It grew much: noise grows with the distance."""

BENT = 0.5
"""A length is halved if the part of differences that is not linear has this share of their power"""

CLEARLY, SUSPECTED, UNEXPLAINED = 4.0, 2.0, 0.7
"""and this many times that of the noise; fewer if more than the last share of the signal is not
predicted."""


def choose_length(probes: Probes, length: float | None) -> Steps[None]:
    """Lengthen probes until the signal stands out from the noise, or the reach ends."""
    noise = probes.pair_noise
    if length is None:
        seen = probes.noise.slope
        length = min(WEAK_SIGNAL_TO_NOISE * noise / seen, SHORT) if seen > 0 else FIRST_LENGTH
    length = min(max(length, SHORTEST), probes.top)
    signal, curvature, before = 0.0, math.inf, None
    for _ in range(6):
        y, middles = yield from probes.pairs(length, FEW_PAIRS)
        good = np.isfinite(y)
        if not good.any():
            length /= 4  # undefined that far out
            continue
        signal, curvature = _signal(y[good], noise), robust_scale(middles[good])
        if before is not None and signal > 4 * max(before[1], noise) * length / before[0]:
            probes.drop_longer(before[0])  # f explodes between the two
            length = math.sqrt(before[0] * length)
            yield from probes.pairs(length, FEW_PAIRS)
            break
        if _enough(signal, noise, length) or length >= probes.top:
            break
        before = length, signal
        length = min(probes.top, _longer(signal, noise, length))
    probes.length = length
    if (
        signal < MIN_SIGNAL_TO_NOISE * noise
        and length >= probes.top
        and probes.values.left() > RICH
    ):
        yield from _compare(probes)
    probes.forward_only = (
        signal >= 0.5 * STRONG_SIGNAL_TO_NOISE * noise and curvature <= HARMLESS * signal
    )


def _signal(y: Vector, noise: float) -> float:
    power = 2 * float(np.median(y**2)) - noise**2
    return math.sqrt(max(power, 0.05 * float(np.mean(y**2)), 1e-300))


def _enough(signal: float, noise: float, length: float) -> bool:
    return (
        signal >= 0.5 * (WEAK_SIGNAL_TO_NOISE if length < SHORT else STRONG_SIGNAL_TO_NOISE) * noise
    )


def _longer(signal: float, noise: float, length: float) -> float:
    wanted, most = (
        (WEAK_SIGNAL_TO_NOISE, STRETCH_SHORT)
        if length < SHORT
        else (STRONG_SIGNAL_TO_NOISE, STRETCH)
    )
    longer = length * min(most, max(2.0, 1.2 * wanted * noise / signal))
    coarse = signal >= 0.5 * STRONG_SIGNAL_TO_NOISE * noise
    return SHORT if length < SHORT < longer and coarse else longer


def _compare(probes: Probes) -> Steps[None]:
    """Compare three lengths, in case f is flat far out: a shorter one must be clearly better."""
    lengths = (probes.top, probes.top / 2, probes.top / 4)
    powers = []
    for length in lengths:
        yield from probes.pairs(length, COMPARED)
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
    if not 2 * known <= power <= 4 * EXPLODES * (known + 2 * error):
        probes.drop_longer(shorter)
        return False
    probes.length = probes.top = 2 * shorter
    return True


def check_noise(probes: Probes) -> Steps[None]:
    """Repeat some probes, pool the error seen with sigma, and adapt the length if it grew."""
    probes.checked = True
    count = min(REPEATED, probes.y.size, probes.values.affordable(2 * REPEATED) // 2)
    if count == 0:
        return
    chosen = np.arange(probes.y.size - count, probes.y.size)
    forward = bool(probes.is_forward[chosen].all())
    chosen = chosen[probes.is_forward[chosen] == forward]
    stretch = np.ones(chosen.size)
    if not probes.noise.fresh:
        longer = STRETCH_FORWARD if forward else STRETCH_PAIR
        stretch += longer * probes.rng.uniform(0.5, 1, chosen.size)
    before, known = probes.y[chosen], probes.noise.sigma
    again = yield from probes.repeat_rows(chosen, stretch, float(probes.lengths[chosen[-1]]))
    good = np.isfinite(again)
    if not good.any():
        return
    differences = (again - stretch * before)[good] / (math.sqrt(2) if forward else 1)
    probes.noise = pool(probes.noise, robust_rms(differences), float(good.sum()))
    grew = probes.noise.sigma / max(known, 1e-300)
    if probes.noise.fresh and not forward and grew > GREW_MUCH:
        yield from _calm(probes, known)
    elif grew > GREW and not probes.at_top:
        yield from choose_length(probes, 2 * probes.length)


def _calm(probes: Probes, known: float) -> Steps[None]:
    """Shorten probes while that improves the ratio of signal to noise; ``known``: at the start."""
    ratio = _ratio(probes.y, probes.pair_noise)
    count = REPEATED // 2
    while probes.noise.sigma > GREW * known and probes.values.affordable(4 * count) >= 4 * count:
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


def check_shape(probes: Probes, unexplained: float) -> Steps[bool]:
    """Repeat some pairs over half the length; take that if half differences are not halved.

    What changes with the length is not linear: it has power, but predicts nothing.
    ``unexplained`` is the share of the signal that is not predicted: a reason to suspect this.
    """
    pairs = np.flatnonzero((probes.lengths == probes.length) & ~probes.is_forward)[-REPEATED:]
    if pairs.size < REPEATED or probes.values.affordable(2 * pairs.size) < 2 * pairs.size:
        return False
    half, expected, noise = 0.5 * probes.length, 0.5 * probes.y[pairs], probes.pair_noise**2
    again = yield from probes.repeat_rows(pairs, np.full(pairs.size, 0.5), half)
    if not np.isfinite(again).all():
        return False
    bent = robust_rms(again - expected) ** 2 - 1.25 * noise
    linear = robust_rms(expected) ** 2 - 0.25 * noise
    limit = CLEARLY if unexplained < UNEXPLAINED else SUSPECTED
    if bent <= BENT * max(linear, 0.0) or bent <= limit * noise:
        return False
    probes.length = probes.top = half
    probes.drop_longer(half)
    return True
