"""Differences along the coordinate axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from szoht.core.directions import ArrayDirections
from szoht.core.query import Answer, Estimate, Plan
from szoht.core.random import Key, Purpose, draw_supports
from szoht.core.validation import check_integer
from szoht.estimators.differences import difference_plan, directional_estimate
from szoht.schedules import Scheduled, at, check_scheduled
from szoht.types import Sample, Vector

__all__ = ["Coordinate"]


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """Differences along all coordinate axes, or along a random subset of them.

    ``ghat_j = (d / count) [f(x + mu e_j) - f(x)] / mu`` for the sampled coordinates j, else 0.
    With all coordinates this is the classical finite-difference gradient.

    Parameters
    ----------
    mu : float or Schedule
        Radius, > 0.
    count : int, optional
        How many coordinates are probed, in [1, d], sampled anew in each iteration; all by default.
    central : bool
        Use ``[f(x + mu e_j) - f(x - mu e_j)] / (2 mu)``.

    Notes
    -----
    Costs count + 1 queries, or 2 count if ``central``.
    """

    mu: Scheduled
    count: int | None = None
    central: bool = False

    requires = frozenset[str]()

    def __post_init__(self) -> None:
        check_scheduled("mu", self.mu, low=0, open_low=True)
        if self.count is not None:
            check_integer("count", self.count, low=1, high_name="d")

    def check(self, d: int) -> None:
        """Raise unless count is in [1, d]."""
        if self.count is not None:
            check_integer("count", self.count, low=1, high=d, high_name="d")

    def init(self, x: Vector) -> None:
        """Nothing is remembered."""

    def plan(self, x: Vector, sample: Sample, memory: None, key: Key) -> Plan:
        """Return the points of one estimate."""
        del memory
        generator = key.generator(Purpose.DIRECTIONS)
        chosen = draw_supports(generator, d=x.size, size=self.count or x.size, count=1)[0]
        directions = ArrayDirections.axes(chosen, x.size)
        radius = at(self.mu, key.iteration, "mu")
        return difference_plan(x, sample, directions, radius=radius, central=self.central)

    def combine(self, plan: Plan, answers: Sequence[Answer], memory: None) -> tuple[Estimate, None]:
        """Return the estimate; a coordinate whose evaluation failed gets slope 0."""
        (query,) = plan.queries
        scale = query.base.size / query.n_directions
        return directional_estimate(query, answers[0], scale=scale, mean=False), memory
