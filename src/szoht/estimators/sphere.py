"""SZOHT's estimator: random directions on random supports."""

from collections.abc import Sequence
from dataclasses import dataclass

from szoht.core.directions import SampledDirections
from szoht.core.distributions import OrthogonalDistribution, SphereDistribution
from szoht.core.query import Answer, Estimate, Plan, Query
from szoht.core.random import Key
from szoht.core.validation import check_integer
from szoht.estimators.differences import difference_plan, directional_estimate
from szoht.schedules import Scheduled, at, check_scheduled, check_scheduled_count, count_at
from szoht.types import Sample, Vector

__all__ = ["Sphere", "sphere_estimate"]


@dataclass(frozen=True, kw_only=True)
class Sphere:
    """Finite differences along unit vectors on random supports (SZOHT, eq. zoest).

    ``ghat = (d / q) sum_i [f(x + mu u_i) - f(x)] / mu * u_i``, each u_i uniform on the unit sphere
    of its own uniformly random support. The factor is d for every support size, because
    ``E[u u^T] = I / d``.

    Parameters
    ----------
    q : int or Schedule
        Number of directions, >= 1.
    mu : float or Schedule
        Radius of a difference, > 0. A direction has unit length, so one coordinate moves by about
        ``mu / sqrt(support_size)``.
    support_size : int, optional
        Coordinates that one direction moves, in [1, d]; all of them by default.
    central : bool
        Use ``[f(x + mu u) - f(x - mu u)] / (2 mu)``: one difference errs by O(mu^2) instead of
        O(mu), since curvature cancels.
    orthogonal : bool
        Draw groups of orthonormal directions instead of independent ones: less variance, the more
        the closer q comes to d.

    Notes
    -----
    Costs q + 1 queries, or 2 q if ``central``; memory O(q support_size).

    References
    ----------
    de Vazelhes et al., Zeroth-Order Hard-Thresholding, NeurIPS 2022, section 3.1.
    """

    q: Scheduled
    mu: Scheduled
    support_size: int | None = None
    central: bool = False
    orthogonal: bool = False

    requires = frozenset[str]()

    def __post_init__(self) -> None:
        check_scheduled_count("q", self.q)
        check_scheduled("mu", self.mu, low=0, open_low=True)
        if self.support_size is not None:
            check_integer("support_size", self.support_size, low=1, high_name="d")

    def check(self, d: int) -> None:
        """Raise unless support_size is in [1, d]."""
        if self.support_size is not None:
            check_integer("support_size", self.support_size, low=1, high=d, high_name="d")

    def stays_sparse(self, d: int) -> bool:
        """Tell whether a direction moves fewer coordinates than there are."""
        return self.support_size is not None and self.support_size < d

    def init(self, x: Vector) -> None:
        """Nothing is remembered."""

    def plan(self, x: Vector, sample: Sample, memory: None, key: Key) -> Plan:
        """Return the points of one estimate."""
        del memory
        size = self.support_size or x.size
        distribution = (
            OrthogonalDistribution(support_size=size)
            if self.orthogonal
            else SphereDistribution(support_size=size)
        )
        directions = SampledDirections(
            distribution=distribution, key=key, d=x.size, count=count_at(self.q, key.iteration)
        )
        radius = at(self.mu, key.iteration, "mu")
        return difference_plan(x, sample, directions, radius=radius, central=self.central)

    def combine(self, plan: Plan, answers: Sequence[Answer], memory: None) -> tuple[Estimate, None]:
        """Return the estimate."""
        return sphere_estimate(plan.queries[0], answers[0]), memory


def sphere_estimate(query: Query, answer: Answer) -> Estimate:
    """Return the estimate of one query whose directions come from the sphere."""
    # eq. zoest: factor d, since E[u u^T] = I/d on random supports of any size
    return directional_estimate(query, answer, scale=query.base.size, mean=True)
