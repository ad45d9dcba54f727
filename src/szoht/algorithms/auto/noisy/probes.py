"""Sign probes around one point, of any lengths, as data for one sparse recovery."""

import math
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.auto.noisy.values import Values
from szoht.algorithms.auto.records import NoiseModel, Steps
from szoht.core.random import Key
from szoht.estimators.sensing import HadamardRows
from szoht.estimators.sensing.cross_validation import winsorize
from szoht.estimators.sensing.noise_test import robust_rms, robust_scale
from szoht.types import Indices, Mask, Vector

__all__ = ["Probes"]

FEWEST_COLUMNS = 64
"""Fewer columns of an orthogonal design look alike along few of its rows; signs are random then."""


@dataclass(kw_only=True, eq=False)
class Probes:
    """Differences along signs around ``x``: rows are displacements, so that lengths mix.

    An antithetic pair gives (f(x + h u) - f(x - h u)) / 2, without even terms; a forward difference
    costs half as much and is good enough where curvature is harmless (``forward_only``). ``length``
    is that of the next probes, ``top`` the longest allowed. Rows along the same signs share a
    number in ``groups``; ``repeated`` are the numbers of rows that are being repeated.
    """

    values: Values
    x: Vector
    value: float
    noise: NoiseModel
    k: int
    rng: np.random.Generator
    top: float = 1.0
    length: float = 1.0
    forward_only: bool = False
    checked: bool = False
    rows: Vector = field(init=False)
    y: Vector = field(init=False)
    lengths: Vector = field(init=False)
    is_forward: Mask = field(init=False)
    groups: Indices = field(init=False)
    repeated: Indices | None = None
    _design: HadamardRows | None = None
    _taken: int = 0

    def __post_init__(self) -> None:
        self.rows = np.empty((0, self.values.d), np.float32)
        self.y = self.lengths = np.empty(0)
        self.is_forward = np.empty(0, dtype=bool)
        self.groups = np.empty(0, dtype=np.intp)
        if self.values.d >= FEWEST_COLUMNS:
            self._design = self._new_design()

    @property
    def pair_noise(self) -> float:
        """Standard deviation of half the difference of two values."""
        return self.noise.sigma / math.sqrt(2)

    @property
    def at_top(self) -> bool:
        """Whether probes cannot be longer."""
        return self.length >= 0.99 * self.top

    @property
    def n_directions(self) -> int:
        """How many different vectors of signs were probed."""
        return int(np.unique(self.groups).size)

    def more(self, count: int) -> Steps[None]:
        """Spend ``count`` values on probes of the chosen length."""
        if self.forward_only:
            signs = self._signs(self.values.affordable(count))
            yield from self.forward(signs * self.length, self.length)
        else:
            yield from self.pairs(self.length, max(1, count // 2))

    def pairs(self, length: float, count: int) -> Steps[tuple[Vector, Vector]]:
        """Measure antithetic pairs; return half differences and means, NaN where one failed."""
        signs = self._signs(self.values.affordable(2 * count) // 2)
        return (yield from self.pairs_at(signs * length, length))

    def pairs_at(self, steps: Vector, length: float) -> Steps[tuple[Vector, Vector]]:
        """Measure pairs at given steps."""
        up, down = self.values.clip(self.x + steps), self.values.clip(self.x - steps)
        found = yield from self.values.at(np.concatenate([up, down]))
        above, below = np.split(found, 2)
        y = (above - below) / 2
        self._add((up - down) / 2, y, length, forward=False)
        return y, (above + below) / 2

    def forward(self, steps: Vector, length: float) -> Steps[Vector]:
        """Measure forward differences at given steps."""
        up = self.values.clip(self.x + steps)
        y = (yield from self.values.at(up)) - self.value
        self._add(up - self.x, y, length, forward=True)
        return y

    def repeat_rows(self, chosen: Indices, stretch: Vector, length: float) -> Steps[Vector]:
        """Measure some rows again, stretched; return the new differences."""
        steps = stretch[:, np.newaxis] * self.rows[chosen].astype(np.float64)
        self.repeated = self.groups[chosen]
        if self.is_forward[chosen].all():
            y = yield from self.forward(steps, length)
        else:
            y, _ = yield from self.pairs_at(steps, length)
        self.repeated = None
        return y

    def power(self, length: float) -> tuple[float, float]:
        """Return the signal power of pairs of a length, and its standard error."""
        y = self.y[(self.lengths == length) & ~self.is_forward]
        if y.size == 0:
            return 0.0, 0.0
        square = robust_rms(y) ** 2
        return max(square - self.pair_noise**2, 0.05 * square), 1.5 * square / math.sqrt(y.size)

    def keep(self, kept: Mask) -> None:
        """Forget all probes but some."""
        self.rows, self.y, self.lengths = self.rows[kept], self.y[kept], self.lengths[kept]
        self.is_forward, self.groups = self.is_forward[kept], self.groups[kept]

    def drop_longer(self, length: float) -> None:
        """Forget probes that are longer."""
        self.keep(self.lengths <= 1.01 * length)

    def data(self) -> tuple[Vector, Vector]:
        """Return rows and differences that all err with the variance of a pair.

        Forward differences of one length share the error of f(x) and the trace of the Hessian: both
        sides are centered.
        """
        rows, y = self.rows.copy(), self.y.copy()
        for length in np.unique(self.lengths[self.is_forward]):
            group = np.flatnonzero(self.is_forward & (self.lengths == length))
            inside = group
            if group.size > self.values.policy.noise.fewest_rows:
                limit = self.values.policy.noise.standard_errors * robust_scale(y[group])
                far = np.abs(y[group] - np.median(y[group])) > limit
                inside = group[~far] if not far.all() else group
            y[group] = (y[group] - y[inside].mean()) / math.sqrt(2)
            rows[group] = (rows[group] - rows[inside].mean(axis=0)) / np.float32(math.sqrt(2))
        long = self.lengths >= 0.5 * self.lengths.max(initial=0.0)
        y[long] = winsorize(y[long]) if long.any() else y[long]
        return rows, y

    @property
    def available(self) -> int:
        """The number of vectors of signs that are orthogonal to each other; 0 if none are."""
        return 0 if self._design is None else self._design.available

    def _signs(self, count: int) -> Vector:
        """Return the next rows of an orthogonal design, and then of another one."""
        if self._design is None:
            return self.rng.choice(np.array([-1.0, 1.0]), (max(1, count), self.values.d))
        rows: list[Vector] = []
        while count > 0 or not rows:
            if self._taken == self._design.available:
                self._design, self._taken = self._new_design(), 0
            stop = min(self._taken + max(1, count), self._design.available)
            rows.append(self._design.block(self._taken, stop))
            count, self._taken = count - (stop - self._taken), stop
        return np.concatenate(rows)

    def _new_design(self) -> HadamardRows:
        key = Key(seed=int(self.rng.integers(2**63)), iteration=0)
        return HadamardRows(key=key, d=self.values.d)

    def _add(self, rows: Vector, y: Vector, length: float, *, forward: bool) -> None:
        good = np.isfinite(y)
        groups = self.repeated
        if groups is None:
            groups = int(self.groups.max(initial=-1)) + 1 + np.arange(y.size)
        self.rows = np.concatenate([self.rows, rows[good].astype(np.float32)])
        self.y = np.append(self.y, y[good])
        self.groups = np.append(self.groups, groups[good])
        self.lengths = np.append(self.lengths, np.full(int(good.sum()), length))
        self.is_forward = np.append(self.is_forward, np.full(int(good.sum()), forward))
