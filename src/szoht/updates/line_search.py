"""A forward-backward step with a line search."""

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


MAX_FAILED_SEARCHES = 5
"""Searches without a decrease after which all lengths are tried again."""


class StepMemory(NamedTuple):
    """The last step size that decreased f, NaN if none did, and how many searches failed since."""

    step: float
    failures: int


@dataclass(frozen=True, kw_only=True)
class LineSearch:
    """``prox(x - eta ghat, eta)`` with the best eta of a few; no constant L is needed.

    Each iteration measures the candidates for ``eta`` in {previous / ratio, previous,
    previous * ratio} and moves to the best of them, or stays if none improves on f(x) and tries
    shorter ones next time. The first iteration tries ``2 * reach + 1`` lengths around
    ``max(1, |x|_inf) / |ghat|_inf``, so neither the scale of f nor that of x has to be known; so
    does the one after ``MAX_FAILED_SEARCHES`` failed searches.

    Parameters
    ----------
    operator : Operator
        The set or penalty; a penalty's own value is part of the comparison.
    ratio : float
        Between neighboring lengths, > 1.
    reach : int
        Half the number of lengths in the first iteration, >= 1.

    Notes
    -----
    Costs 3 queries per iteration on top of the estimate, ``2 * reach + 1`` in the first, none when
    the estimate vanishes. All candidates are measured on the iteration's own sample. They are
    asked together and none is derived from another, since the estimate is noisy; the search of the
    default solver follows parabolas along a direction that it knows, one value at a time.
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

    def init(self, x: Vector) -> StepMemory:
        """No length is known yet."""
        del x
        return StepMemory(math.nan, 0)

    def trials(self, x: Vector, estimate: Estimate, memory: StepMemory) -> tuple[Vector, ...]:
        """Return the candidates, in order of increasing length."""
        lengths = self._lengths(x, estimate, memory)
        return tuple(self._candidate(x, estimate, step) for step in lengths)

    def choose(
        self, x: Vector, estimate: Estimate, values: Vector, memory: StepMemory
    ) -> tuple[Measured, StepMemory]:
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
            shorter = math.nan if failures >= MAX_FAILED_SEARCHES else lengths[0]
            stays = Measured(x, estimate.value, estimate.measured)
            return stays, StepMemory(shorter, failures % MAX_FAILED_SEARCHES)
        moved = Measured(self._candidate(x, estimate, lengths[i]), float(values[i]))
        return moved, StepMemory(lengths[i], 0)

    def _candidate(self, x: Vector, estimate: Estimate, step: float) -> Vector:
        return self.operator.prox(x - step * estimate.gradient, step)

    def _lengths(self, x: Vector, estimate: Estimate, memory: StepMemory) -> list[float]:
        if math.isnan(memory.step):
            steepest = float(np.abs(estimate.gradient).max())
            center = max(1.0, float(np.abs(x).max())) / steepest
            return [center * self.ratio**j for j in range(-self.reach, self.reach + 1)]
        return [memory.step / self.ratio, memory.step, memory.step * self.ratio]
