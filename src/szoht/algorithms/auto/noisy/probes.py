"""Sensing under noise: sign probes of a length that noise asks for, analyzed by cross-validation."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.auto.noise_test import pool, robust_rms, robust_scale
from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.estimators.sensing.cross_validation import Recovery, recover_noisy, winsorize
from szoht.types import Indices, Mask, Vector

__all__ = ["Probes", "Sensed", "sense"]

FINE, COARSE = 100.0, 10.0
"""Signal-to-noise ratio wanted of a difference over less than `SHORT` (weak coordinates must be
seen, and length costs nothing there), and over more."""

SHORT = 0.05

FIRST_LENGTH = 0.1
"""Of a probe when no slope was seen on the test line."""

LONGEST = 4.0
"""Without bounds."""

HARMLESS = 0.15
"""Curvature, as a share of the signal, with which forward differences are good enough."""

EXPLODES = 2.5
"""A longer probe has this many times the power of a linear function: f explodes out there."""

BENT = 0.5
"""A length is halved if the part of differences that is not linear has this share of their power."""

LOOK = 1.3
"""Values for the first analysis, in units of k (1 + log(d / k))."""

CLEAR_SIGNAL, CLEAR_R2, CLEAR_Z = 0.9, 0.85, 5.5
"""Sure: at least the first share of the power is signal and the second share of the signal is
predicted on held-out rows; or k slopes stand out by this many standard errors."""

REPEATED = 16
"""Probes that are repeated when the first analysis is not sure, to check sigma."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensed:
    """What sensing found: a recovery, whether it is sure, and the length of the probes."""

    recovery: Recovery
    sure: bool
    length: float
    noise: NoiseModel
    cost: int

    @property
    def low_noise(self) -> bool:
        """Whether short differences show the signal clearly."""
        return self.length <= FIRST_LENGTH and self.recovery.signal >= CLEAR_SIGNAL


@dataclass(kw_only=True, eq=False)
class Probes:
    """Sign probes around one point: rows are displacements, so that all lengths mix."""

    values: Values
    x: Vector
    value: float
    noise: NoiseModel
    k: int
    rng: np.random.Generator
    top: float = 1.0
    length: float = FIRST_LENGTH
    forward_only: bool = False
    checked: bool = False
    rows: Vector = field(init=False)
    y: Vector = field(init=False)
    lengths: Vector = field(init=False)
    is_forward: Mask = field(init=False)
    middles: Vector = field(init=False)
    groups: Indices = field(init=False)
    repeated: Indices | None = None

    def __post_init__(self) -> None:
        self.rows = np.empty((0, self.values.d), np.float32)
        self.y = self.lengths = self.middles = np.empty(0)
        self.is_forward = np.empty(0, dtype=bool)
        self.groups = np.empty(0, dtype=np.intp)

    @property
    def pair_noise(self) -> float:
        """Standard deviation of half the difference of two values."""
        return self.noise.sigma / math.sqrt(2)

    def signs(self, count: int) -> Vector:
        """Draw vectors of random signs."""
        return self.rng.choice(np.array([-1.0, 1.0]), (count, self.values.d))

    def pairs(self, length: float, count: int) -> Steps[tuple[Vector, Vector]]:
        """Measure antithetic pairs; return half differences and means."""
        signs = self.signs(max(1, self.values.affordable(2 * count) // 2))
        return (yield from self._pairs(signs * length, length))

    def _pairs(self, steps: Vector, length: float) -> Steps[tuple[Vector, Vector]]:
        up, down = self.values.clip(self.x + steps), self.values.clip(self.x - steps)
        found = yield from self.values.at(np.concatenate([up, down]))
        above, below = np.split(found, 2)
        y, middles = (above - below) / 2, (above + below) / 2
        self._add((up - down) / 2, y, middles, length, forward=False)
        return y, middles

    def _forward(self, steps: Vector, length: float) -> Steps[Vector]:
        up = self.values.clip(self.x + steps)
        y = (yield from self.values.at(up)) - self.value
        self._add(up - self.x, y, np.full(y.size, np.nan), length, forward=True)
        return y

    def _add(
        self, rows: Vector, y: Vector, middles: Vector, length: float, *, forward: bool
    ) -> None:
        good = np.isfinite(y)
        next_group = int(self.groups.max(initial=-1)) + 1
        groups = next_group + np.arange(y.size) if self.repeated is None else self.repeated
        self.groups = np.append(self.groups, groups[good])
        rows, y, middles = rows[good], y[good], middles[good]
        self.rows = np.concatenate([self.rows, rows.astype(np.float32)])
        self.y = np.append(self.y, y)
        self.middles = np.append(self.middles, middles)
        self.lengths = np.append(self.lengths, np.full(y.size, length))
        self.is_forward = np.append(self.is_forward, np.full(y.size, forward))

    def more(self, count: int) -> Steps[None]:
        """Spend ``count`` values on probes of the chosen length."""
        if self.forward_only:
            signs = self.signs(max(1, self.values.affordable(count)))
            yield from self._forward(signs * self.length, self.length)
        else:
            yield from self.pairs(self.length, max(1, count // 2))

    def power(self, length: float) -> tuple[float, float]:
        """Return the signal power of pairs of a length, and its standard error."""
        y = self.y[(self.lengths == length) & ~self.is_forward]
        square = robust_rms(y) ** 2
        power = max(square - self.pair_noise**2, 0.05 * square)
        return power, 1.5 * square / math.sqrt(max(y.size, 1))

    def choose_length(self, length: float | None) -> Steps[None]:
        """Lengthen probes until the signal stands out from the noise, or the reach ends.

        A length beyond which the power rises much faster than that of a linear function explodes:
        the longer probe has more power and predicts less.
        """
        noise = self.pair_noise
        if length is None:
            seen = self.noise.slope
            length = min(FINE * noise / seen, SHORT) if seen > 0 else FIRST_LENGTH
        length = min(max(length, 1e-6), self.top)
        signal, before = 0.0, None
        for _ in range(6):
            y, middles = yield from self.pairs(length, 4)
            if not np.isfinite(y).any():
                length /= 4  # undefined that far out
                continue
            y, middles = y[np.isfinite(y)], middles[np.isfinite(y)]
            square = float(np.median(y**2))
            signal = math.sqrt(max(2 * square - noise**2, 0.05 * float(np.mean(y**2)), 1e-300))
            linear = 0.0 if before is None else max(before[1], noise) * length / before[0]
            if before is not None and signal > 4 * linear:
                self.drop_longer(before[0])
                length = math.sqrt(before[0] * length)
                yield from self.pairs(length, 4)
                break
            wanted = FINE if length < SHORT else COARSE
            if signal >= 0.5 * wanted * noise or length >= self.top:
                break
            before = (length, signal)
            most = 30.0 if length < SHORT else 2.5
            longer = length * min(most, max(2.0, 1.2 * wanted * noise / signal))
            if length < SHORT < longer and signal >= 0.5 * COARSE * noise:
                longer = SHORT
            length = min(self.top, longer)
        self.length = length
        if signal < 2 * noise and length >= self.top and self.values.left() > 600:
            yield from self._shorter()
        curvature = robust_scale(middles) if middles.size else math.inf
        self.forward_only = signal >= 0.5 * COARSE * noise and curvature <= HARMLESS * signal

    def _shorter(self) -> Steps[None]:
        """Compare three lengths, in case f is flat far out, or explodes."""
        lengths = (self.top, self.top / 2, self.top / 4)
        powers = []
        for length in lengths:
            yield from self.pairs(length, 20)
            powers.append(self.power(length))
        best = 0
        for i in (1, 2):
            surely = powers[i][0] - 2 * math.hypot(powers[i][1], powers[best][1])
            if surely > powers[best][0]:
                best = i
        self.length = self.top = lengths[best]
        self.drop_longer(self.length)

    def drop_longer(self, length: float) -> None:
        """Forget probes that are longer."""
        self._keep(self.lengths <= 1.01 * length)

    def _keep(self, keep: Mask) -> None:
        self.rows, self.y, self.lengths = self.rows[keep], self.y[keep], self.lengths[keep]
        self.is_forward, self.middles = self.is_forward[keep], self.middles[keep]
        self.groups = self.groups[keep]

    def try_longer(self, count: int) -> Steps[bool]:
        """Measure over twice the length; keep it if the power grows as that of a linear function.

        Four times the power is expected; where f saturates it is less, where it explodes more.
        """
        shorter = self.length
        yield from self.pairs(2 * shorter, count // 2)
        power, (known, error) = self.power(2 * shorter)[0], self.power(shorter)
        if not 2 * known <= power <= 4 * EXPLODES * (known + 2 * error):
            self.drop_longer(shorter)
            return False
        self.length = self.top = 2 * shorter
        return True

    def repeat(self) -> Steps[bool]:
        """Repeat some probes and pool the error seen with sigma; tell whether it grew much.

        Where the error is fixed, the length is changed a little, so that values err anew.
        """
        self.checked = True
        count = min(REPEATED, self.y.size, self.values.affordable(2 * REPEATED) // 2)
        if count == 0:
            return False
        chosen = np.arange(self.y.size - count, self.y.size)
        forward = bool(self.is_forward[chosen].all())
        chosen = chosen[self.is_forward[chosen] == forward]
        stretch = np.ones(chosen.size)
        if not self.noise.fresh:
            stretch += (0.02 if forward else 0.1) * self.rng.uniform(0.5, 1, chosen.size)
        before = self.y[chosen]
        steps = stretch[:, np.newaxis] * self.rows[chosen].astype(np.float64)
        length = float(self.lengths[chosen[-1]])
        n = self.y.size
        self.repeated = self.groups[chosen]
        if forward:
            yield from self._forward(steps, length)
        else:
            yield from self._pairs(steps, length)
        self.repeated = None
        if self.y.size - n != chosen.size:
            return False
        differences = (self.y[n:] - stretch * before) / (math.sqrt(2) if forward else 1)
        seen = robust_rms(differences)
        known = self.noise.sigma
        self.noise = pool(self.noise, seen, float(chosen.size))
        return self.noise.sigma > 1.5 * known

    def calm(self, known: float) -> Steps[None]:
        """Shorten probes while that improves the ratio of signal to noise.

        Called where probes err much more than values at the start, by ``known``: the noise grows
        with the distance, or with f.
        """
        ratio = self._ratio(self.y, self.pair_noise)
        while self.noise.sigma > 1.5 * known and self.values.affordable(64) >= 64:
            length = self.length / 3
            y, _ = yield from self.pairs(length, REPEATED // 2)
            rows = self.rows[self.y.size - y.size :].astype(np.float64)
            self.repeated = self.groups[self.y.size - y.size :]
            again, _ = yield from self._pairs(rows, length)
            self.repeated = None
            if again.size != y.size or not np.isfinite(again - y).all():
                return
            error = max(robust_rms(again - y), known) / math.sqrt(2)
            shorter = self._ratio(np.append(y, again), error)
            if shorter < ratio:
                self.drop_shorter(self.length)
                return
            ratio, self.length, self.top = shorter, length, length
            self.noise = replace(self.noise, sigma=error * math.sqrt(2))
            self.drop_longer(length)

    @staticmethod
    def _ratio(y: Vector, error: float) -> float:
        return math.sqrt(max(robust_rms(y) ** 2 - error**2, 0.0)) / max(error, 1e-300)

    def drop_shorter(self, length: float) -> None:
        """Forget probes that are shorter."""
        self._keep(self.lengths >= 0.99 * length)

    def shorten(self, unexplained: float) -> Steps[bool]:
        """Repeat some pairs over half the length; keep that if half differences are not halved.

        What changes with the length is not linear: it has power, but predicts nothing.
        ``unexplained`` is the share of the signal that is not predicted: a reason to suspect this.
        """
        pairs = np.flatnonzero((self.lengths == self.length) & ~self.is_forward)[-REPEATED:]
        if pairs.size < REPEATED or self.values.affordable(2 * pairs.size) < 2 * pairs.size:
            return False
        n = self.y.size
        half = 0.5 * self.length
        self.repeated = self.groups[pairs]
        yield from self._pairs(0.5 * self.rows[pairs].astype(np.float64), half)
        self.repeated = None
        if self.y.size - n != pairs.size:
            return False
        expected = 0.5 * self.y[pairs]
        bent = robust_rms(self.y[n:] - expected) ** 2 - 1.25 * self.pair_noise**2
        limit = 4.0 if unexplained < 0.7 else 2.0
        linear = robust_rms(expected) ** 2 - 0.25 * self.pair_noise**2
        if bent <= BENT * max(linear, 0.0) or bent <= limit * self.pair_noise**2:
            return False
        self.length = self.top = half
        self.drop_longer(half)
        return True

    def data(self) -> tuple[Vector, Vector]:
        """Return rows and differences that all err with the variance of a pair.

        Forward differences of one length share the error of f(x) and the trace of the Hessian: both
        sides are centered.
        """
        rows, y = self.rows.copy(), self.y.copy()
        for length in np.unique(self.lengths[self.is_forward]):
            group = np.flatnonzero(self.is_forward & (self.lengths == length))
            inside = group
            if group.size > 8:
                far = np.abs(y[group] - np.median(y[group])) > 4 * robust_scale(y[group])
                inside = group[~far] if not far.all() else group
            y[group] = (y[group] - y[inside].mean()) / math.sqrt(2)
            rows[group] = (rows[group] - rows[inside].mean(axis=0)) / np.float32(math.sqrt(2))
        long = self.lengths >= 0.5 * self.lengths.max()
        y[long] = winsorize(y[long])
        return rows, y

    def analyze(self) -> tuple[Recovery, bool]:
        """Recover slopes; tell whether they are sure."""
        rows, y = self.data()
        found = recover_noisy(rows, y, 2 * self.k, self.pair_noise**2, self.groups)
        strong = int((found.z[: found.size] >= CLEAR_Z).sum())
        clear = found.signal >= CLEAR_SIGNAL and found.r2 >= CLEAR_R2 * found.signal
        few = np.unique(self.groups).size < 2 * LOOK * look(self.values.d, self.k)
        complete = 1 - found.r2 <= 0.03 + 2 * (1 - found.signal)
        return found, (clear and (complete or not few)) or strong >= self.k


def look(d: int, k: int) -> float:
    """Return the order of the number of differences that sparse recovery needs."""
    return k * (1 + math.log(max(1.0, d / k)))


def sense(
    probes: Probes,
    *,
    cap: int,
    length: float | None = None,
    explain: Callable[[str], None] | None = None,
) -> Steps[Sensed]:
    """Probe until the slopes are sure, or until ``cap`` values are spent."""
    del explain
    start = probes.values.left()
    resumed = probes.y.size > 0
    if not resumed:
        yield from probes.choose_length(length)
    may_grow = not resumed and probes.values.unbounded
    may_shorten = not resumed
    wanted = math.ceil(LOOK * look(probes.values.d, probes.k))
    yield from probes.more(max(4, wanted - probes.y.size))
    while True:
        found, sure = probes.analyze()
        spent = start - probes.values.left()
        if (sure and spent > 0) or spent >= cap or probes.values.affordable(8) < 8:
            return Sensed(
                recovery=found, sure=sure, length=probes.length, noise=probes.noise, cost=spent
            )
        if not probes.checked:
            known = probes.noise.sigma
            grew = yield from probes.repeat()
            if probes.noise.fresh and probes.noise.sigma > 1.8 * known and not probes.forward_only:
                yield from probes.calm(known)
            elif grew and probes.length < 0.99 * probes.top:
                yield from probes.choose_length(2 * probes.length)  # noise was taken for signal
            continue
        if may_shorten and probes.length > SHORT and not probes.forward_only:
            may_shorten = yield from probes.shorten(found.signal - found.r2)
            if may_shorten:
                may_grow = False
                yield from probes.more(max(4, wanted - probes.y.size))
                continue
        at_top = probes.length >= 0.99 * probes.top
        if not resumed and not at_top and found.signal < 0.5:
            probes.length = min(2.5 * probes.length, probes.top)  # noise dominates
            probes.forward_only = False
            at_top = False
        if may_grow and at_top and not probes.forward_only and found.signal < 0.8:
            may_grow = yield from probes.try_longer(max(24, spent // 3))
            may_grow = may_grow and probes.length < LONGEST
            continue
        yield from probes.more(max(4, min(spent // 2, cap - spent)))
