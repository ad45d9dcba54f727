"""Every column of the Jacobian at one center, by a difference each: what a claim rests on."""

import math

import numpy as np

from szoht.algorithms.calibration.posterior import JacobianPosterior
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.generator import Steps
from szoht.types import Indices, Vector

__all__ = ["measure_columns", "unmeasured"]

LEAST_PRIOR = 1e-6
"""Variance of a column before it is measured, relative to the largest; one of zeros has it, too."""


def unmeasured(search: CalibrationSearch) -> Indices:
    """Return the variables that can change and whose columns were not measured at the center.

    A column that was measured no farther from there than differences are long counts.
    """
    moved = {} if search.posterior is None else search.posterior.moved
    near = [variable for variable, far in moved.items() if far <= search.length]
    return np.setdiff1d(np.flatnonzero(search.domain.free), near)


def measure_columns(search: CalibrationSearch, variables: Indices) -> Steps[None]:
    """Measure columns in one plan, and learn those that may be needed.

    Where the simulation of a column fails, it stays unmeasured.
    """
    steps = search.domain.within(search.center, _lengths(search))[variables]
    rows = yield from search.simulate_along(variables, steps)
    changes = np.array(rows) - search.center_residuals
    slopes = np.nan_to_num(changes / steps[:, np.newaxis])
    if search.posterior is None:
        scale = float((slopes**2).sum(axis=1).max()) or 1.0
        search.posterior = JacobianPosterior.empty(slopes.shape[1], scale)
    _make_room(search, variables, slopes)
    kept = set(search.known.columns.tolist())
    for variable, step, residuals in zip(variables.tolist(), steps, rows, strict=True):
        if variable in kept:
            search.learn_column(_along(variable, step, search.domain.d), residuals)
        elif np.isfinite(residuals).any():
            search.posterior = search.known.measured([variable])


def _along(variable: int, step: float, d: int) -> Vector:
    vector = np.zeros(d)
    vector[variable] = step
    return vector


def _lengths(search: CalibrationSearch) -> Vector:
    """Return how long the difference of each variable is: as probes, longer under fresh noise."""
    lengths = np.full(search.domain.d, search.length)
    if search.noise > 0:
        lengths = np.maximum(lengths, search.policy.longest_few)
        known = search.posterior
        if known is not None:
            size = np.sqrt((known.mean**2).sum(axis=0) + known.scale * known.covariance.diagonal())
            needed = search.policy.response_to_noise * math.sqrt(search.noise_misfit)
            shorter = np.minimum(needed / np.maximum(size, 1e-300), search.policy.longest_few)
            lengths[known.columns] = np.maximum(search.length, shorter)
    return lengths


def _make_room(search: CalibrationSearch, variables: Indices, slopes: Vector) -> None:
    """Add columns to the posterior: all of them, or of many those that gain most by entering."""
    known, policy = search.known, search.policy
    new = ~np.isin(variables, known.columns)
    if not new.any():
        return
    fresh, slopes = variables[new], slopes[new]
    if search.domain.d > policy.all_columns:
        best = np.argsort(-_gains(search, slopes), kind="stable")[: policy.kept_columns]
        fresh, slopes = fresh[best], slopes[best]
    sizes = (slopes**2).sum(axis=1) / known.scale
    prior = np.maximum(sizes, LEAST_PRIOR * max(float(sizes.max()), 1e-300))
    search.posterior = known.widened(fresh, prior)


def _gains(search: CalibrationSearch, slopes: Vector) -> Vector:
    """Return by how much the misfit falls with each column beside those of the support."""
    known = search.known
    on = np.isin(known.columns, np.flatnonzero(search.center))
    basis, _ = np.linalg.qr(known.mean[:, on])
    apart = slopes - (slopes @ basis) @ basis.T
    size = np.maximum((apart**2).sum(axis=1), 1e-300)
    return np.asarray((apart @ search.filled(search.center_residuals)) ** 2 / size)
