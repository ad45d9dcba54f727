"""Gaussian smoothing, the estimator of RSPGF, ZSCG and Truncated-ZSGD."""

from collections.abc import Sequence
from dataclasses import dataclass

from szoht.core.directions import SampledDirections
from szoht.core.distributions import GaussianDistribution
from szoht.core.query import Answer, Estimate, Plan
from szoht.core.random import Key
from szoht.estimators.differences import difference_plan, directional_estimate
from szoht.schedules import Scheduled, at, check_scheduled, check_scheduled_count, count_at
from szoht.types import Sample, Vector

__all__ = ["Gaussian"]


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Finite differences along standard normal vectors.

    ``ghat = (1 / q) sum_i [f(x + mu u_i) - f(x)] / mu * u_i`` with u_i ~ N(0, I). There is no
    factor d, because ``E[u u^T] = I``.

    Parameters
    ----------
    q : int or Schedule
        Number of directions, >= 1.
    mu : float or Schedule
        Radius, > 0. A direction is about sqrt(d) long, so the step in space is ``mu sqrt(d)``:
        divide the radius of `Sphere` by sqrt(d) to compare the two.
    central : bool
        Use ``[f(x + mu u) - f(x - mu u)] / (2 mu)``.

    Notes
    -----
    Costs q + 1 queries, or 2 q if ``central``; memory O(q d), at most 128 MB.

    References
    ----------
    Nesterov and Spokoiny, Random gradient-free minimization of convex functions, 2017.
    """

    q: Scheduled
    mu: Scheduled
    central: bool = False

    requires = frozenset[str]()

    def __post_init__(self) -> None:
        check_scheduled_count("q", self.q)
        check_scheduled("mu", self.mu, low=0, open_low=True)

    def check(self, d: int) -> None:
        """Fits every dimension."""

    def init(self, x: Vector) -> None:
        """Nothing is remembered."""

    def plan(self, x: Vector, sample: Sample, memory: None, key: Key) -> Plan:
        """Return the points of one estimate."""
        del memory
        count = count_at(self.q, key.iteration)
        directions = SampledDirections(
            distribution=GaussianDistribution(), key=key, d=x.size, count=count
        )
        radius = at(self.mu, key.iteration, "mu")
        return difference_plan(x, sample, directions, radius=radius, central=self.central)

    def combine(self, plan: Plan, answers: Sequence[Answer], memory: None) -> tuple[Estimate, None]:
        """Return the estimate."""
        return directional_estimate(plan.queries[0], answers[0], scale=1.0, mean=True), memory
