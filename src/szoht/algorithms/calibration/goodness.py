"""What the misfit at the center says: whether it is explained, and what tells supports apart."""

import math

import numpy as np

from szoht.algorithms.calibration.quantiles import chi_square_quantile
from szoht.algorithms.calibration.search import CalibrationSearch

__all__ = [
    "decisive_gain",
    "explained_misfit",
    "is_exact",
    "is_explained",
    "is_far_below_sigma",
    "noise_hides_gains",
    "residual_variance",
]


def is_exact(search: CalibrationSearch) -> bool:
    """Tell whether the misfit is zero up to rounding: nothing can be better."""
    start = float((search.filled(search.start_residuals) ** 2).sum())
    return search.misfit <= search.policy.exact * start


def explained_misfit(search: CalibrationSearch) -> float:
    """Return the most that sigma explains; 0 where it is not given, or the loss is robust."""
    if not search.has_sigma or search.loss != "linear":
        return 0.0
    return chi_square_quantile(max(search.m - search.k, 1), search.policy.explained)


def is_explained(search: CalibrationSearch) -> bool:
    """Tell whether fresh noise, errors of the measurements, or rounding explain the misfit."""
    deviation = math.sqrt(2 / max(search.m, 1)) * search.noise_misfit
    limit = max(search.policy.noise_deviations * deviation, explained_misfit(search))
    return is_exact(search) or search.noiseless_misfit <= limit


def is_far_below_sigma(search: CalibrationSearch) -> bool:
    """Tell whether the misfit is far less than sigma says, so that sigma tells nothing apart."""
    freedom = search.m - int(np.count_nonzero(search.center))
    if not explained_misfit(search) or freedom < 1:
        return False
    return search.misfit < chi_square_quantile(freedom, 0.5 * search.policy.far_from_sigma)


def residual_variance(search: CalibrationSearch) -> float:
    """Return the variance of one residual at the center, by sigma or else by the misfit.

    Zero where the fit is exact: no other support can be better.
    """
    if is_exact(search):
        return 0.0
    found = search.misfit / max(search.m - int(np.count_nonzero(search.center)), 1)
    believed = search.has_sigma and not is_far_below_sigma(search)
    return max(found, 1.0) if believed else found


def decisive_gain(search: CalibrationSearch, count: int = 1) -> float:
    """Return by how much so many new variables must lower the misfit: by more than chance does."""
    return residual_variance(search) * chi_square_quantile(count, search.policy.explained)


def noise_hides_gains(search: CalibrationSearch) -> bool:
    """Tell whether fresh noise changes the misfit of a point by more than a decisive gain.

    The squares of noise count, and its products with the residuals.
    """
    power = search.noise**2
    variance = 2 * search.m * power**2 + 4 * power * search.noiseless_misfit
    return decisive_gain(search) < math.sqrt(variance)
