"""A forward-backward step whose length is found by trying a few."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.core.algorithm import Measured
from szoht.core.operator import Operator
from szoht.core.query import Estimate
from szoht.core.validation import check_integer, check_real
from szoht.types import Vector

__all__ = ["LineSearch"]


PATIENCE = 5
"""Searches in vain after which the whole ladder is tried again."""


class Length(NamedTuple):
    """The length that worked last, NaN if none did, and the searches in vain since then."""

    step: float
    failures: int


@dataclass(frozen=True, kw_only=True)
class LineSearch:
    """``prox(x - eta ghat, eta)`` with the best eta of a short ladder; no constant L is needed.

    Each iteration measures the candidates for ``eta`` in {previous / ratio, previous,
    previous * ratio} and moves to the best of them, or stays if none improves on f(x) and tries
    shorter ones next time. The first iteration tries ``2 * reach + 1`` lengths around
    ``max(1, |x|_inf) / |ghat|_inf``, so neither the scale of f nor that of x has to be known; so
    does the one after ``PATIENCE`` searches in vain.

    Parameters
    ----------
    operator : Operator
        The set or penalty; a penalty's own value is part of the comparison.
    ratio : float
        Between neighbouring lengths, > 1.
    reach : int
        Half the length of the first ladder, >= 1.

    Notes
    -----
    Costs 3 queries per iteration on top of the estimate, ``2 * reach + 1`` in the first, none when
    the estimate vanishes. All candidates are measured on the iteration's own sample.
    """

    operator: Operator
    ratio: float = 2.0
    reach: int = 8

    def __post_init__(self) -> None:
        check_real("ratio", self.ratio, low=1, open_low=True)
        check_integer("reach", self.reach, low=1)

    def stays_sparse(self, d: int) -> bool:
        """Nothing but sums of sparse vectors is formed."""
        del d
        return True

    def init(self, x: Vector) -> Length:
        """No length is known yet."""
        del x
        return Length(math.nan, 0)

    def trials(self, x: Vector, estimate: Estimate, memory: Length) -> tuple[Vector, ...]:
        """Return the candidates, in order of increasing length."""
        lengths = self._lengths(x, estimate, memory)
        return tuple(self._candidate(x, estimate, step) for step in lengths)

    def choose(
        self, x: Vector, estimate: Estimate, values: Vector, memory: Length
    ) -> tuple[Measured, Length]:
        """Return the best candidate, or ``x`` itself with a shorter length to try next."""
        lengths = self._lengths(x, estimate, memory)
        totals, now = values, estimate.value
        penalty = getattr(self.operator, "value", None)
        if penalty is not None:
            totals = values + [penalty(trial) for trial in self.trials(x, estimate, memory)]
            now += penalty(x)
        i = int(np.argmin(np.where(np.isnan(totals), np.inf, totals)))
        if not totals[i] < now:
            failures = memory.failures + 1
            shorter = math.nan if failures >= PATIENCE else lengths[0]
            stays = Measured(x, estimate.value, estimate.measured)
            return stays, Length(shorter, failures % PATIENCE)
        moved = Measured(self._candidate(x, estimate, lengths[i]), float(values[i]))
        return moved, Length(lengths[i], 0)

    def _candidate(self, x: Vector, estimate: Estimate, step: float) -> Vector:
        return self.operator.prox(x - step * estimate.gradient, step)

    def _lengths(self, x: Vector, estimate: Estimate, memory: Length) -> list[float]:
        if math.isnan(memory.step):
            steepest = float(np.abs(estimate.gradient).max())
            centre = max(1.0, float(np.abs(x).max())) / steepest
            return [centre * self.ratio**j for j in range(-self.reach, self.reach + 1)]
        return [memory.step / self.ratio, memory.step, memory.step * self.ratio]
