"""CMA-ES on a face: learns the shape of a valley from the points that were better.

Reference: Hansen, The CMA evolution strategy: a tutorial, arXiv:1604.00772; numbers in parentheses
are its equations.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from szoht.algorithms.auto.records import Steps
from szoht.algorithms.auto.restricted.face import Face
from szoht.types import Vector

__all__ = ["SampleDistribution", "adapt_covariance", "first_distribution"]

SMALLEST_STEP, LARGEST_STEP = 1e-9, 1e9
"""Between these the step length, in units of the first, goes on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleDistribution:
    """A normal distribution in units, N(mean, step^2 covariance), and its evolution paths."""

    mean: Vector
    step: float
    covariance: Vector
    step_path: Vector
    covariance_path: Vector
    size: int
    first_step: float
    generation: int = 0
    flat: bool = False

    @property
    def has_converged(self) -> bool:
        """Whether nothing more can come of it."""
        ratio = self.step * math.sqrt(float(np.diag(self.covariance).max())) / self.first_step
        return self.flat or not SMALLEST_STEP < ratio < LARGEST_STEP


def first_distribution(mean: Vector, step: float, size: int | None = None) -> SampleDistribution:
    """Return an isotropic distribution; ``size`` points per generation, 4 + 3 log n by default."""
    n = mean.size
    return SampleDistribution(
        mean=mean,
        step=step,
        covariance=np.eye(n),
        step_path=np.zeros(n),
        covariance_path=np.zeros(n),
        size=size or 4 + int(3 * math.log(n)) + (n == 1),
        first_step=step,
    )


def adapt_covariance(
    face: Face, now: SampleDistribution, unit: Vector, generator: np.random.Generator
) -> Steps[SampleDistribution]:
    """Run generations, a plan each, until the allowance is spent or the distribution collapses."""
    while face.open and not now.has_converged:
        scales, axes = np.linalg.eigh(now.covariance)
        root = axes * np.sqrt(np.maximum(scales, 1e-300))
        steps = generator.standard_normal((now.size, now.mean.size)) @ root.T
        points = face.clip((now.mean + now.step * steps) * unit)
        found = yield from face.all_at(list(points))
        order = np.argsort([local.value for local in found], kind="stable")
        taken = np.array([found[i].y for i in order]) / unit
        spread = found[order[-1]].value - found[order[0]].value
        now = _updated(now, (taken - now.mean) / now.step, root)
        now = replace(now, flat=bool(spread == 0))
    return now


def _updated(now: SampleDistribution, steps: Vector, root: Vector) -> SampleDistribution:
    """Return the distribution after a generation, whose steps are sorted by value."""
    n, half = now.mean.size, now.size // 2
    weights = math.log((now.size + 1) / 2) - np.log(np.arange(1, half + 1))
    weights /= weights.sum()
    mass = 1 / float(weights @ weights)
    rate = (mass + 2) / (n + mass + 5)  # (55)
    damping = 1 + 2 * max(0.0, math.sqrt((mass - 1) / (n + 1)) - 1) + rate
    path_rate = (4 + mass / n) / (n + 4 + 2 * mass / n)  # (56)
    rank_one = 2 / ((n + 1.3) ** 2 + mass)  # (57)
    rank_many = min(1 - rank_one, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))  # (58)
    expected = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
    move = weights @ steps[:half]  # (41)
    white = np.linalg.lstsq(root, move, rcond=None)[0]
    step_path = (1 - rate) * now.step_path + math.sqrt(rate * (2 - rate) * mass) * white  # (43)
    length = float(np.linalg.norm(step_path))
    known = math.sqrt(1 - (1 - rate) ** (2 * (now.generation + 1)))
    growing = length < (1.4 + 2 / (n + 1)) * expected * known
    path = (1 - path_rate) * now.covariance_path  # (45)
    if growing:
        path = path + math.sqrt(path_rate * (2 - path_rate) * mass) * move
    many = (weights[:, np.newaxis] * steps[:half]).T @ steps[:half]
    lost = 0.0 if growing else rank_one * path_rate * (2 - path_rate)
    covariance = (1 - rank_one - rank_many + lost) * now.covariance  # (47)
    covariance = covariance + rank_one * np.outer(path, path) + rank_many * many
    factor = math.exp(min(1.0, rate / damping * (length / expected - 1)))  # (44)
    return replace(
        now,
        mean=now.mean + now.step * move,
        step=now.step * factor,
        covariance=covariance,
        step_path=step_path,
        covariance_path=path,
        generation=now.generation + 1,
    )
