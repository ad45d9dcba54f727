"""Probes of few variables at the center: of those that the best candidates would move."""

import math
from collections.abc import Callable, Iterable

import numpy as np

from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.supports import SupportCandidate
from szoht.algorithms.generator import Steps
from szoht.types import Vector

__all__ = ["as_step", "probe_again", "probe_variables"]


def probe_again(search: CalibrationSearch, others: list[SupportCandidate]) -> Steps[None]:
    """Probe along what is unknown about the variables that the best candidates would move.

    How a probe changes the covariance does not depend on its outcome, so all go into one plan.
    """
    known, columns = search.known, search.known.columns
    weight = np.zeros(columns.size)
    center = search.center[columns]
    for other in others:
        trust = math.sqrt(min(1.0, search.misfit / max(other.misfit, 1e-300)))
        weight += (other.values - center) ** 2 * trust
    weight[center != 0] += 1e-4 + 0.1 * weight.max(initial=0.0)
    if not weight.any():
        weight[:] = 1.0
    weight = np.sqrt(weight / weight.max())
    steps: list[Vector] = []
    for _ in range(search.affordable(min(search.k, search.m))):
        _, vectors = np.linalg.eigh(known.covariance * np.outer(weight, weight))
        direction = vectors[:, -1] * weight
        step = as_step(search, direction)
        if not step.any():
            break
        steps.append(step)
        error = known.probe_error(step, search.noise_misfit, search.policy)
        known = known.updated(step, known.response(step), error)
    yield from _probe_along(search, steps, search.learn_from_probe)


def as_step(search: CalibrationSearch, direction: Vector) -> Vector:
    """Return a direction as a step within bounds, as long as probes or as noise demands."""
    policy, known = search.policy, search.known
    step = np.zeros(search.domain.d)
    step[known.columns] = direction / max(float(np.abs(direction).max(initial=0.0)), 1e-300)
    length = search.length
    if search.noise > 0:
        # of few variables, outputs respond less than to a probe of all of them
        response = math.sqrt(float((known.response(step) ** 2).sum()) + known.variance(step))
        needed = policy.response_to_noise * math.sqrt(search.noise_misfit) / max(response, 1e-300)
        length = max(length, min(needed, policy.longest_few))
    return search.domain.within(search.center, length * step)


def probe_variables(search: CalibrationSearch, variables: Iterable[int]) -> Steps[None]:
    """Measure columns of the Jacobian, one simulation each."""
    columns = search.known.columns
    steps = [as_step(search, np.asarray(columns == i, dtype=np.float64)) for i in variables]
    yield from _probe_along(search, [step for step in steps if step.any()], search.learn_column)


def _probe_along(
    search: CalibrationSearch, steps: list[Vector], learn: Callable[[Vector, Vector], None]
) -> Steps[None]:
    if not steps:
        return
    rows = yield from search.simulate([search.center + step for step in steps])
    for step, residuals in zip(steps, rows, strict=True):
        learn(step, residuals)
