"""Where a search stands: one immutable record that moves read and rounds replace."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.records import Confidence, Curvature, EvaluatedPoint, NoiseModel, Slopes
from szoht.algorithms.auto.restricted.goal import Solution
from szoht.algorithms.auto.sensing.round import SensingMemory
from szoht.types import Indices, Vector

__all__ = ["NEGLIGIBLE_VALUE_SHARE", "SearchState"]

NEGLIGIBLE_VALUE_SHARE = 1e-12
"""A gain below this share of everything that there was to gain is rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchState:
    """The incumbent, what is known about f around it, and what counts as a gain.

    ``gain_share`` is the share of f that a round must gain, ``least`` an absolute gain besides it.
    """

    point: EvaluatedPoint
    noise: NoiseModel
    slopes: Slopes | None = None
    curvature: Curvature | None = None
    memory: SensingMemory = field(default_factory=SensingMemory)
    stalled: int = 0
    gain_share: float = 0.0
    least: float = 0.0

    @property
    def flat(self) -> bool:
        """Whether the last sensing round saw no slope."""
        return self.slopes is not None and self.slopes.confidence is Confidence.FLAT

    @property
    def exact(self) -> bool:
        """Whether all slopes are known."""
        return self.slopes is not None and self.slopes.confidence is Confidence.EXACT

    @property
    def trusted(self) -> bool:
        """Whether slopes are as good as they will get."""
        if self.slopes is None:
            return False
        return self.slopes.confidence is not Confidence.FILTERED or self.stalled > 1

    def gains(self, after: EvaluatedPoint) -> bool:
        """Tell whether a point is better by more than noise and rounding can explain."""
        scale = self.memory.scale
        share = self.gain_share * min(abs(self.point.value), scale)
        least = max(share, NEGLIGIBLE_VALUE_SHARE * scale, self.least)
        return self.point.value - after.value > least

    def settled(self, solution: Solution) -> "SearchState":
        """Return the state at the better of the incumbent and a solution."""
        if not solution.point.value < self.point.value:
            return self
        return replace(self, point=solution.point, curvature=solution.curvature)

    def transfer_curvature(self, support: Indices) -> Curvature | None:
        """Return what is known of the curvature, for another support."""
        if self.curvature is None or not self.curvature.support.size:
            return None
        return self.curvature.transfer(support)

    def known_slopes(self, context: SearchContext, support: Indices) -> Vector | None:
        """Return the slopes on ``support`` if all of them were measured or recovered there."""
        slopes = self.slopes
        if slopes is None or self.flat:
            return None
        if slopes.confidence is Confidence.RECOVERED:
            current = context.structure.active(self.point.z)
            known = np.isin(current, slopes.candidates).all()
            return np.asarray(slopes.values[support]) if known else None
        return np.asarray(slopes.values[support])

    def steepest(self, context: SearchContext, count: int) -> Indices:
        """Return the coordinates of the ``count`` steepest atoms outside the support."""
        if self.slopes is None:
            return np.empty(0, dtype=np.intp)
        structure = context.structure
        return structure.head(self.slopes.values, count, structure.active(self.point.z))

    @property
    def softness(self) -> float:
        """The largest entry of the inverse Hessian; infinite if nothing is known of it."""
        if self.curvature is None or not self.curvature.support.size:
            return math.inf
        return float(np.diag(self.curvature.inverse).max())

    @property
    def undefined(self) -> bool:
        """Whether the incumbent has no value."""
        return math.isnan(self.point.value)
