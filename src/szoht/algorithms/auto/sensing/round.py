"""One sensing round: what it has measured, and what rounds hand on to each other."""

import enum
import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.context import SearchContext
from szoht.algorithms.auto.known import KnownSlopes, check_known, near
from szoht.algorithms.auto.records import (
    ROUNDING,
    Confidence,
    EvaluatedPoint,
    NoiseModel,
    Slopes,
    Steps,
)
from szoht.estimators.sensing import (
    Measurements,
    Recovery,
    RowSlice,
)
from szoht.types import Indices, Vector

__all__ = [
    "CONFIRMING_ROWS",
    "SOLVED_PER_ROW",
    "Gradient",
    "MatchedFilter",
    "SensingMemory",
    "SensingRound",
    "compared",
    "flat_slopes",
    "recovered",
    "weighed",
]

CONFIRMING_ROWS = 2
"""Rows of signs that must confirm what Prony's method found: one may agree by chance."""


SOLVED_PER_ROW = 0.8
"""Slopes that are worked out of each row: fewer than there are equations, which are then well
posed."""


class Gradient(enum.Enum):
    """What earlier rounds have shown the gradient to be."""

    SPARSE = "few coordinates explain it, or nothing is known"
    DENSE = "not sparse, and all axes are affordable"
    FILTERED = "not sparse, and all axes are too many"


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchedFilter:
    """Estimated slopes of all coordinates, averaged over rounds by their precision."""

    weighted: Vector
    weight: float

    @property
    def slopes(self) -> Vector:
        """The average."""
        return np.asarray(self.weighted / self.weight)


@dataclass(frozen=True, kw_only=True, eq=False)
class SensingMemory:
    """What sensing rounds hand on to each other: ``scale`` is the most that slopes promised."""

    gradient: Gradient = Gradient.SPARSE
    matched: MatchedFilter | None = None
    scale: float = 0.0
    even: bool = False


class SensingRound:
    """One sensing round: its base point, rows and measurements."""

    def __init__(
        self,
        context: SearchContext,
        point: EvaluatedPoint,
        noise: NoiseModel,
        memory: SensingMemory,
        softness: float,
    ) -> None:
        self.context, self.point, self.memory = context, point, memory
        self.softness = softness
        self.structure, self.policy = context.structure, context.policy
        self.noise = self.structure.along_rows(noise)
        self.free = self.structure.free
        self.support = self.structure.active(point.z)
        # rows go this far both ways from a base inside the bounds
        self.longest = self.structure.longest_row
        self.step = min(self.noise.row_step, self.longest)
        self.base: EvaluatedPoint | None = None
        self.start = context.spent
        self.signs = self.structure.rows(context.key(), self.free)
        self.signs_used = 0
        self.measured = Measurements()
        self.known: KnownSlopes | None = None
        self.recalled = 0
        self.joined_error = 0.0
        self.look = self.structure.look
        k = self.structure.degrees_of_freedom
        self.unstructured = k * (1 + math.log(max(self.free.size / k, 1)))

    def recall(self) -> Steps[None]:
        """Look for known evaluations around the point; when first used, one is measured again."""
        context, point = self.context, self.point
        self.known = near(context, point, self.noise, self.step)
        if self.known is None:
            return
        checked = context.known_checked or (
            yield from check_known(context, point, self.known, self.noise)
        )
        if not checked:
            self.known = near(context, point, self.noise, self.step)
        if self.known is not None:
            rows, axes = self.known.rows.size, self.known.axes.size
            self.recalled = rows + axes
            context.explain(f"slopes along {rows} rows and {axes} axes are known.")

    @property
    def unknown_axes(self) -> int:
        """How many axes must be measured to know all slopes; all unless most are known."""
        n = int(self.free.size)
        left = n if self.known is None else n - self.known.axes.size
        return left if left <= n // 2 else n

    @property
    def known_rows(self) -> Measurements:
        """The known rows, none if there are none."""
        return Measurements() if self.known is None else self.known.rows

    def join_known(self) -> None:
        """Put the known rows before those that were measured."""
        self.measured = self.measured.after(self.known_rows)
        if self.known is not None and self.known.rows.size:
            self.joined_error = self.known.error
            self.known = replace(self.known, rows=Measurements())

    def restrict(self, free: Indices) -> None:
        """Leave all other coordinates alone in this round."""
        self.free = free
        self.signs = self.structure.rows(self.context.key(), free)

    @property
    def cost(self) -> int:
        """What the round has cost so far, in queries."""
        return self.context.spent - self.start

    @property
    def worth(self) -> int:
        """What the round would have cost if nothing had been known."""
        return self.cost + self.recalled

    @property
    def rounding(self) -> float:
        """What rounding adds to one value."""
        return ROUNDING * max(abs(self.point.value), float(np.finfo(float).tiny))

    @property
    def slope_noise(self) -> float:
        """Standard deviation of a measured slope: rounding, and curvature that is not common."""
        own = 3 * self.rounding / self.step + 0.1 * abs(self.noise.curvature) * self.step
        return max(own, self.joined_error)

    def base_point(self) -> Steps[EvaluatedPoint]:
        """Return the point from which rows stay inside the bounds, measured once."""
        if self.base is None:
            z = self.structure.base(self.point.z, self.step)
            moved = z is not self.point.z and not np.array_equal(z, self.point.z)
            self.base = (
                EvaluatedPoint(z, (yield from self.context.value(z))) if moved else self.point
            )
        return self.base

    def slopes(self, rows: RowSlice) -> Steps[Vector]:
        """Measure slopes along rows."""
        base = yield from self.base_point()
        changes = yield from self.context.differences(base, rows, self.step)
        return changes / self.step

    def more_signs(self, count: int) -> Steps[None]:
        """Add rows of signs to the measurements, as many as fill whole plans."""
        count = self.context.speculation.whole(count)
        while count > 0:
            if self.signs_used >= self.signs.available:
                self.signs = self.structure.rows(self.context.key(), self.free)
                self.signs_used = 0
            some = min(count, self.signs.available - self.signs_used)
            rows = RowSlice(rows=self.signs, start=self.signs_used, count=some)
            self.measured = self.measured.more(rows, (yield from self.slopes(rows)))
            self.signs_used += some
            count -= some

    def lengthen(self) -> Steps[bool]:
        """Measure again over longer differences; tell whether that showed a slope."""
        self.step = min(max(self.policy.flat_step, 10 * self.step), self.longest)
        self.base = None
        count = self.measured.size
        self.measured, self.signs_used = Measurements(), 0
        yield from self.more_signs(count)
        return not self.vanishes

    @property
    def vanishes(self) -> bool:
        """Whether all slopes so far are no larger than rounding."""
        largest = float(np.abs(self.measured.slopes).max(initial=0.0))
        return largest * self.step <= 30 * self.rounding


def recovered(sensing: SensingRound, recovery: Recovery) -> Slopes:
    """Return slopes that sparse recovery has found."""
    values, candidates = sensing.structure.slopes(sensing.point.z, recovery)
    return Slopes(values, candidates, Confidence.RECOVERED, sensing.worth)


def compared(sensing: SensingRound, slopes: Slopes) -> tuple[Slopes, SensingMemory]:
    """Compare recovered slopes with the largest that were seen."""
    memory = replace(sensing.memory, gradient=Gradient.SPARSE)
    size = float(np.linalg.norm(slopes.values[slopes.candidates]))
    return weighed(sensing, slopes, memory, size)


def weighed(
    sensing: SensingRound, slopes: Slopes, memory: SensingMemory, slope: float
) -> tuple[Slopes, SensingMemory]:
    """Call slopes flat that promise next to nothing of what slopes have promised before."""
    promised = slope * max(1.0, float(np.abs(sensing.point.z).max()))
    gained = abs(sensing.context.first_value - sensing.point.value)
    memory = replace(memory, scale=max(memory.scale, promised, gained))
    worthless = 0.5 * sensing.softness * slope**2 <= 0.1 * sensing.policy.gain_counted * gained
    tiny = promised <= 1e-7 * memory.scale or slope * sensing.step <= 30 * sensing.rounding
    if worthless or tiny:
        slopes = replace(slopes, confidence=Confidence.FLAT)
        sensing.context.explain(f"{sensing.cost} queries: all slopes vanish.")
    return slopes, memory


def flat_slopes(sensing: SensingRound) -> tuple[Slopes, SensingMemory]:
    """Return that there are no slopes."""
    nothing = np.zeros(sensing.point.z.size)
    sensing.context.explain(f"{sensing.cost} queries: slopes vanish, or f is even here.")
    none = np.empty(0, dtype=np.intp)
    return Slopes(nothing, none, Confidence.FLAT, sensing.cost), sensing.memory
