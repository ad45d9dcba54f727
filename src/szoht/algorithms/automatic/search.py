"""What a search knows, and the solves that all of its parts share."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from szoht.algorithms.automatic.measure import Gauge, Point, Talk
from szoht.algorithms.automatic.recover import Evidence
from szoht.algorithms.automatic.restricted import Solved, exchanged, minimise_on
from szoht.algorithms.generator import SolverContext
from szoht.operators import Sparse, SparseBox
from szoht.operators.base import largest
from szoht.types import Indices, Vector

__all__ = ["GAIN", "Candidates", "Search"]

STEPS = 20

GAIN, TRIFLE = 1e-5, 1e-12
"""A round was in vain that gains less than the first share of f, or of all that there was to gain
if that is less (f may hold a constant), or than the second share of the latter (f may be zero)."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)


class Candidates(NamedTuple):
    """Coordinates worth trying, and the slopes at the iterate on all that will be solved for."""

    support: Indices
    slopes: Vector | None = None


@dataclass(kw_only=True)
class Search:
    """What a search knows besides its context.

    ``slopes`` are those of the last look; ``trusted`` says that they are as good as they will
    get, ``exact`` that they were measured along all axes, ``flat`` that all of them vanish, so
    that no small change, sparse or not, can lower f. Sparse recovery has failed where
    measuring all axes is affordable (``dense``), or where it is not (``filtering``). ``looking``
    counts the queries of that look, ``scale`` is the most that slopes have promised or that was
    gained. See `worth` for ``gain`` and ``least``.
    """

    context: SolverContext
    operator: Sparse | SparseBox
    gauge: Gauge
    start: Point
    gain: float = GAIN
    least: float = 0.0
    in_vain: int = 0
    looking: int = 0
    scale: float = 0.0
    flat: bool = False
    evidence: Evidence | None = None
    slopes: Vector | None = None
    dense: bool = False
    filtering: bool = False
    trusted: bool = False
    exact: bool = False
    inverse: Vector | None = None

    @property
    def k(self) -> int:
        """How many coordinates may be non-zero."""
        return self.operator.k

    @property
    def sure(self) -> bool:
        """Whether another look from the same point would show nothing new."""
        return self.flat or (self.exact and (not self.gauge.rough or self.in_vain > 1))

    def begin(self, gain: float | None = None) -> None:
        """Start to count rounds in vain; ``gain`` is the share of f that counts as gained."""
        self.in_vain = 0
        self.gain = GAIN if gain is None else gain

    def weigh(self, point: Point, slope: float, step: float) -> None:
        """Judge whether f is flat at ``point``, given the size of its slopes there.

        Compared with what was gained, and with what slopes have promised, never with f itself:
        a constant that is added to f changes nothing. Rounding is no slope either.
        """
        promised = slope * max(1.0, float(np.abs(point.x).max()))
        self.scale = max(self.scale, promised, abs(self.start.value - point.value))
        rounding = ROUNDING * abs(point.value) / step
        self.flat = promised <= GAIN * self.scale or slope <= rounding

    def worth(self, before: Point, after: Point) -> bool:
        """Tell whether a step gained more than noise and rounding can explain."""
        share = self.gain * min(abs(before.value), self.scale)
        least = max(share, TRIFLE * self.scale, 2 * self.gauge.noise, self.least)
        return before.value - after.value > least

    def carried(self, before: Indices, after: Indices) -> Vector | None:
        """Return what is known of the inverse Hessian on ``before``, carried over to ``after``."""
        if self.inverse is None or self.inverse.shape[0] != before.size or not before.size:
            return None
        return exchanged(self.inverse, before, after)

    def settle(self, point: Point, solved: Solved) -> Point:
        """Return the better of a point and the end of a solve, keeping what the solve learnt."""
        if not solved.point.value < point.value:
            return point
        self.inverse = solved.inverse
        return solved.point

    def known_slopes(self, support: Indices) -> Vector | None:
        """Return the slopes of the last look on ``support``, if there was one."""
        return None if self.slopes is None else self.slopes[support]

    def steepest(self, slopes: Vector, without: Indices, count: int) -> Indices:
        """Return the ``count`` coordinates of largest slope, some of them not counted."""
        outside = np.abs(slopes)
        outside[without] = 0.0
        return largest(outside, count)

    def solve(
        self,
        start: Point,
        support: Indices,
        *,
        accuracy: float,
        slopes: Vector | None = None,
        inverse: Vector | None = None,
        goal: float = -math.inf,
        steps: int = STEPS,
        patient: bool = False,
    ) -> Talk[Solved]:
        """Minimise over ``support``; see `minimise_on`."""
        feasible = support.size <= self.k
        return (
            yield from minimise_on(
                self.context,
                start,
                support,
                gauge=self.gauge,
                steps=steps,
                accuracy=accuracy,
                bounds=self._bounds(support),
                slopes=slopes,
                inverse=inverse,
                goal=goal,
                feasible=feasible,
                patient=patient,
            )
        )

    def _bounds(self, support: Indices) -> tuple[Vector, Vector]:
        if isinstance(self.operator, Sparse):
            return np.full(support.size, -np.inf), np.full(support.size, np.inf)
        return _at(self.operator.low, support), _at(self.operator.high, support)


def _at(bound: float | Vector, support: Indices) -> Vector:
    return np.full(support.size, bound) if np.ndim(bound) == 0 else np.asarray(bound)[support]
