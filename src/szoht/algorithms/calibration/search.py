"""The state of a calibration, through which every stage simulates, learns and explains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from szoht.algorithms.calibration.policy import CalibrationPolicy
from szoht.algorithms.calibration.posterior import JacobianPosterior
from szoht.algorithms.calibration.probing import Domain
from szoht.algorithms.calibration.records import FailuresInRowError, SavedCenter, Visit
from szoht.algorithms.calibration.residuals import Loss, Residuals, cost, lost_residuals
from szoht.algorithms.calibration.supports import MisfitModel, Support, SupportCandidate
from szoht.algorithms.calibration.weighting import Weighting, weights_at
from szoht.algorithms.generator import SolverContext, Steps
from szoht.core.directions import ArrayDirections
from szoht.core.query import Answer, Plan
from szoht.core.random import Purpose
from szoht.types import Indices, Mask, Vector

__all__ = ["CalibrationSearch"]


@dataclass(kw_only=True)
class CalibrationSearch:
    """What is known: center and residuals there, noise, posterior of the Jacobian, weights.

    Points are in units of `Domain`. ``length`` is that of probes, ``noise`` the standard deviation
    of fresh noise in one residual, ``smooth_length`` over how many neighbors columns are alike,
    ``damping`` the weight of the quartic term. An output that the start has and another point does
    not counts there as ``lost``, so that nothing is gained by losing it; ``unsteady`` outputs were
    missing close to the start already, ``seen`` ones were there at some point. ``answer`` is the
    best point of the run; so many other supports were ``followed`` without a gain.
    """

    outer: SolverContext
    domain: Domain
    residuals: Residuals
    loss: Loss
    f_scale: float
    k: int
    policy: CalibrationPolicy
    has_sigma: bool = False
    budget: int | None = None
    spent: int = 0
    failures: int = 0
    failed_in_row: int = 0
    failed_plans: int = 0
    followed: int = 0
    center: Vector = field(default_factory=lambda: np.empty(0))
    center_residuals: Vector = field(default_factory=lambda: np.empty(0))
    center_variance: float = 0.0
    start: Vector = field(default_factory=lambda: np.empty(0))
    start_residuals: Vector = field(default_factory=lambda: np.empty(0))
    lost: Vector = field(default_factory=lambda: np.empty(0))
    unsteady: Mask = field(default_factory=lambda: np.empty(0, dtype=bool))
    seen: Mask = field(default_factory=lambda: np.empty(0, dtype=bool))
    weights: Vector = field(default_factory=lambda: np.empty(0))
    weighting: Weighting = Weighting.EQUAL
    noise: float = 0.0
    length: float = 0.0
    share: float = 1.0
    smooth_length: float = 0.0
    damping: float = 0.0
    posterior: JacobianPosterior | None = None
    visits: list[Visit] = field(default_factory=list)
    answer: Visit | None = None

    @property
    def left(self) -> float:
        """Simulations that can be paid for; infinite if the budget is unknown or was extended."""
        if self.budget is None or self.spent >= self.budget:
            return math.inf
        return self.budget - self.spent

    @property
    def m(self) -> int:
        """How many outputs count."""
        return int(np.isfinite(self.start_residuals).sum())

    @property
    def is_dense(self) -> bool:
        """Whether all variables may be changed, or more than outputs: no support is to be found."""
        return self.k >= min(int(self.domain.free.sum()), self.m + 1)

    @property
    def misfit(self) -> float:
        """The weighted sum of squares at the center."""
        return self.misfit_of(self.center_residuals)

    @property
    def noiseless_misfit(self) -> float:
        """An estimate of the misfit at the center without fresh noise."""
        return max(self.misfit - self.m * self.center_variance, 0.0)

    @property
    def noise_misfit(self) -> float:
        """The misfit that fresh noise alone explains."""
        return self.m * self.noise**2

    @property
    def known(self) -> JacobianPosterior:
        """The posterior, once there is one."""
        assert self.posterior is not None, "probes come before moves"  # noqa: S101
        return self.posterior

    def is_better(self, misfit: float) -> bool:
        """Tell whether a simulated misfit is less than that of the center, apart from noise."""
        return misfit - self.noise_misfit < self.misfit - self.m * self.center_variance

    def misfit_of(self, residuals: Vector) -> float:
        """Return the weighted sum of squares; infinite for a point that failed."""
        if not np.isfinite(residuals).any():
            return math.inf
        return float((self.weights * self.filled(residuals) ** 2).sum())

    def cost_of(self, residuals: Vector) -> float:
        """Return the cost of the loss, which is what is minimized; NaN for a failed point."""
        if not np.isfinite(residuals).any():
            return math.nan
        return cost(self.filled(residuals), self.loss, self.f_scale)

    def filled(self, residuals: Vector) -> Vector:
        """Return residuals with those that are missing as ``lost``."""
        return np.where(np.isfinite(residuals), residuals, self.lost)

    def loses_outputs(self, residuals: Vector) -> bool:
        """Tell whether a point has lost outputs of the center that do not come and go anyway."""
        lost = np.isfinite(self.center_residuals) & ~np.isfinite(residuals)
        return bool((lost & ~self.unsteady).any())

    def generator(self) -> np.random.Generator:
        """Return a generator that was not used before."""
        return self.outer.key().generator(Purpose.DIRECTIONS)

    def explain(self, line: str) -> None:
        """Say what is done and why, for the user to read."""
        self.outer.explain(f"{self.spent} simulations: {line}")

    def affordable(self, count: int) -> int:
        """Return how many of ``count`` points can be paid for, at least one."""
        return int(max(1, min(count, self.left)))

    def simulate(self, points: Sequence[Vector]) -> Steps[list[Vector]]:
        """Return the residuals at points, all NaN where a simulation failed."""
        queries = tuple(self.outer.query(self.domain.to_z(point)) for point in points)
        found = self._received((yield Plan(queries=queries)))
        if self.residuals.components and self.posterior is not None:
            found = [self._signed(point, row) for point, row in zip(points, found, strict=True)]
        if not self.start_residuals.size:
            self.begin_at(points[0], found[0])
        for point, row in zip(points, found, strict=True):
            self._note(point, row)
        return found

    def simulate_along(self, variables: Indices, steps: Vector) -> Steps[list[Vector]]:
        """Return the residuals one step of one variable away from the center, for each of some.

        One query whatever their number, without a dense point for each; none may be the answer.
        """
        directions = ArrayDirections(
            d=self.domain.d,
            indices=variables[:, np.newaxis],
            values=(steps * self.domain.unit[variables])[:, np.newaxis],
        )
        base = self.outer.query(self.domain.to_z(self.center))
        query = replace(base, directions=directions, with_base=False)
        return self._received((yield Plan(queries=(query,))))

    def _received(self, answers: Sequence[Answer]) -> list[Vector]:
        """Return the residuals of all points of a plan, and count them."""
        rows = [
            row
            for answer in answers
            for row in (answer.values[:, np.newaxis] if answer.outputs is None else answer.outputs)
        ]
        self.spent += len(rows)
        width = max(row.size for row in rows)
        found = [
            self.residuals.of(row if row.size == width else np.full(width, np.nan)) for row in rows
        ]
        if not self.seen.size:
            self.seen = np.zeros(width, dtype=bool)
        for row in found:
            self.seen = self.seen | np.isfinite(row)
        self._count_failures([not np.isfinite(row).any() for row in found])
        return found

    def _count_failures(self, failed: list[bool]) -> None:
        """Count failures; end the search after many in a row.

        One plan is not enough: its points may be too long probes, and shorter ones bearable.
        """
        self.failures += sum(failed)
        if not all(failed):
            self.failed_in_row = self.failed_plans = 0
            return
        self.failed_in_row += len(failed)
        self.failed_plans += 1
        policy = self.policy
        if self.failed_in_row >= policy.most_failed and self.failed_plans >= policy.failed_plans:
            self.explain(f"the last {self.failed_in_row} simulations failed: the search ends.")
            raise FailuresInRowError

    def _signed(self, point: Vector, residuals: Vector) -> Vector:
        """Return square roots with the signs that are expected: a component has none."""
        expected = self.center_residuals + self.known.response(point - self.center)
        return np.copysign(residuals, np.where(np.isfinite(expected), expected, 1.0))

    def begin_at(self, point: Vector, residuals: Vector) -> None:
        """Make the start the center."""
        self.start_residuals = self.center_residuals = residuals
        self.start = self.center = point
        self.center_variance = 0.5 * self.noise**2  # simulated twice
        self.weights = np.ones(residuals.size)
        self.unsteady = np.zeros(residuals.size, dtype=bool)
        least = self.policy.lost_deviations if self.has_sigma else 0.0
        self.lost = lost_residuals(residuals, least)

    def _note(self, point: Vector, residuals: Vector) -> None:
        """Remember a point that may be the answer."""
        if np.count_nonzero(point) <= self.k and np.isfinite(residuals).any():
            self.visits.append(Visit(point, residuals))
            self.outer.note(self.domain.to_z(point), self.cost_of(residuals))
            if self.outer.best is self.outer.measured:
                self.answer = self.visits[-1]

    def move_to(self, point: Vector, residuals: Vector) -> None:
        """Learn from a simulation, make its point the center, and the iterate of the run."""
        self.shift_to(point, residuals)
        self.outer.move(self.domain.to_z(point), self.cost_of(residuals))
        self.reweight()

    def shift_to(self, point: Vector, residuals: Vector) -> None:
        """Learn from a simulation, and make its point the center.

        The Jacobian there is less well known. Under fresh noise, the residuals are the mean of
        what was simulated and what was expected, weighted by their variances.
        """
        estimate, variance = residuals, self.noise**2
        if self.noise > 0:
            estimate, variance = self._averaged(point, residuals)
        self.learn_from_move(point, residuals)
        length = float(np.linalg.norm(point - self.center))
        self.posterior = self.known.drifted(length, self.policy)
        self.center, self.center_residuals = point.copy(), estimate
        self.center_variance = variance

    def _averaged(self, point: Vector, residuals: Vector) -> tuple[Vector, float]:
        step, known = point - self.center, self.known
        error = known.scale * known.move_error(step, self.length, self.policy)
        expected = self.center_residuals + known.response(step)
        spread = self.center_variance + (known.variance(step) + error) / max(self.m, 1)
        share = self.noise**2 / (self.noise**2 + spread)  # of what was expected
        mean = residuals + share * np.nan_to_num(expected - residuals)
        return mean, (1 - share) * self.noise**2

    def return_to_start(self) -> None:
        """Make the start the center again."""
        self.center, self.center_residuals = self.start, self.start_residuals
        self.center_variance = 0.5 * self.noise**2
        self.posterior = replace(self.known, moved={})
        self.reweight()

    def save(self) -> SavedCenter:
        """Return what `restore` needs to come back to the center."""
        return SavedCenter(self.center, self.center_residuals, self.center_variance, self.known)

    def restore(self, saved: SavedCenter) -> None:
        """Come back to a center, with what was known there."""
        self.center, self.center_residuals, self.center_variance, self.posterior = saved
        self.reweight()

    def learn_from_move(self, point: Vector, residuals: Vector) -> None:
        """Update the posterior by a simulation away from the center."""
        step = point - self.center
        error = self.known.move_error(step, self.length, self.policy)
        self.posterior = self.known.updated(step, residuals - self.center_residuals, error)

    def learn_from_probe(self, step: Vector, residuals: Vector) -> None:
        """Update the posterior by a probe at the center."""
        error = self.known.probe_error(step, self.noise_misfit, self.policy)
        self.posterior = self.known.updated(step, residuals - self.center_residuals, error)

    def learn_column(self, step: Vector, residuals: Vector) -> None:
        """Take the difference along one variable for its column; one that failed tells nothing."""
        change = residuals - self.center_residuals
        if np.isfinite(change).any():
            error = self.known.difference_error(step, self.noise_misfit)
            known = self.known.updated(step, change, error)
            self.posterior = known.measured(np.flatnonzero(step).tolist())

    def model(self, *, damping: float | None = None, optimistic: bool = False) -> MisfitModel:
        """Return the misfit that is expected around the center.

        Optimistic: the mean of the Jacobian is taken for the truth. Outputs that the center does
        not have are expected to stay lost.
        """
        known, columns = self.known, self.known.columns
        mean = np.where(np.isfinite(self.center_residuals)[:, np.newaxis], known.mean, 0.0)
        root = np.sqrt(self.weights)
        spread = known.covariance * (known.scale * float(self.weights.mean()))
        return MisfitModel(
            residuals=root * self.filled(self.center_residuals),
            jacobian=root[:, np.newaxis] * mean,
            uncertainty=np.zeros_like(spread) if optimistic else spread,
            damping=self.damping if damping is None else damping,
            center=self.center[columns],
            low=self.domain.low[columns],
            high=self.domain.high[columns],
            grid=self.domain.grid[columns],
            policy=self.policy,
        )

    def point_of(self, candidate: SupportCandidate) -> Vector:
        """Return a candidate as a point of all variables."""
        point = np.zeros(self.domain.d)
        point[self.known.columns] = candidate.values
        return point

    def support_of(self, candidate: SupportCandidate) -> Support:
        """Return the variables of a candidate, whatever the columns are."""
        return tuple(self.known.columns[list(candidate.support)].tolist())

    def halfway(self, point: Vector) -> Vector:
        """Return a point on the same support, half as far from the center."""
        half = self.center + self.domain.toward_zero(0.5 * (point - self.center))
        return np.where(point != 0, half, 0.0)

    def next_weighting(self) -> bool:
        """Go on to the next stage of a robust loss, from the best point by its cost, if any."""
        if self.loss == "linear" or self.weighting == Weighting.BY_LOSS:
            return False
        self.weighting = Weighting(self.weighting + 1)
        best = min(self.visits, key=lambda visit: self.cost_of(visit.residuals))
        if np.array_equal(best.point, self.center):
            self.reweight()
        else:
            self.move_to(best.point, best.residuals)
        return True

    def reweight(self) -> None:
        """Weight residuals by the loss at the center, as far as the stage goes."""
        residuals = self.filled(self.center_residuals)
        self.weights = weights_at(
            self.weighting, residuals, self.loss, self.f_scale, outlier=self.policy.outlier
        )
