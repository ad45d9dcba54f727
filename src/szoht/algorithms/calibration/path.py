"""How many variables to change: the best answer for each k, and which of them to believe."""

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.algorithms.calibration.comparison import demanded_entry, settle, verify
from szoht.algorithms.calibration.moves import refine
from szoht.algorithms.calibration.quantiles import chi_square_quantile
from szoht.algorithms.calibration.records import SavedCenter, Visit
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.generator import Steps
from szoht.core.algorithm import PathPoint

__all__ = ["CRITERIA", "Criterion", "publish", "walk_path"]

Criterion: TypeAlias = Literal["bic", "chi2"]
CRITERIA: tuple[str, ...] = get_args(Criterion)

DISBELIEVED = 2
"""The path ends after so many changes in a row that are not to be believed."""


def walk_path(search: CalibrationSearch, criterion: Criterion) -> Steps[None]:
    """Find the best points with more and more changes, and make the one to believe the answer.

    "bic" is the one with the least Bayesian information criterion, "chi2" the one with the fewest
    changes whose misfit the errors of the measurements explain, and to which no column that was
    measured there is to be added. They are compared after each has been brought to the minimum of
    its support, and that support been compared with others.
    """
    most, tried, least = search.k, 0, 0
    centers = {0: search.save()}
    while tried < most and not _is_enough(search, tried, criterion):
        tried += 1
        yield from _climb(search, tried, centers)
    chosen = None
    while chosen != (chosen := _choose(search, tried, criterion, least)):
        search.k = chosen  # other supports are to be as small
        _go_to(search, _best(search, chosen), centers)
        publish(search, tried)
        search.explain(f"{chosen} changes are to be believed, of up to {tried}.")
        yield from verify(search)
        if criterion == "chi2" and chosen < most and demanded_entry(search) is not None:
            least = chosen + 1
        if chosen > 0:
            centers[chosen] = search.save()
        if tried < least:
            tried = least
            yield from _climb(search, tried, centers)
    publish(search, tried)


def _climb(search: CalibrationSearch, k: int, centers: dict[int, SavedCenter]) -> Steps[None]:
    """Find the best point with k changes: by way of one less, and straight from the start."""
    search.k = k
    tried = []
    for origin in sorted({0, k - 1}):
        search.restore(centers[origin])
        yield from _solve_for(search, k)
        tried.append(search.save())
    search.restore(min(tried, key=lambda center: search.misfit_of(center.residuals)))
    yield from refine(search)
    yield from settle(search)
    centers[k] = search.save()


def _solve_for(search: CalibrationSearch, k: int) -> Steps[None]:
    """Go to the best support of k variables, and on by Gauss-Newton."""
    search.damping = search.policy.damping_floor
    found = search.model().search(k, 1)
    for _ in range(search.policy.path_moves):
        if not found:
            return
        point, before = search.point_of(found[0]), search.misfit
        (residuals,) = yield from search.simulate([point])
        if not np.isfinite(residuals).any():
            return
        first = np.count_nonzero(search.center) > k
        better = search.misfit_of(residuals) < before
        if first or better:
            search.shift_to(point, residuals)
        if not first and search.misfit > (1 - search.policy.path_gain) * before:
            return
        own = search.model().on_current_support()
        found = [] if own is None else [own]


def _best(search: CalibrationSearch, k: int) -> Visit:
    visits = (visit for visit in search.visits if np.count_nonzero(visit.point) <= k)
    return min(visits, key=lambda visit: search.cost_of(visit.residuals))


def _misfit(search: CalibrationSearch, k: int) -> float:
    return search.misfit_of(_best(search, k).residuals)


def _choose(search: CalibrationSearch, most: int, criterion: Criterion, least: int = 0) -> int:
    """Return how many changes are to be believed, of ``least`` to ``most``."""
    if criterion == "bic":
        return min(range(least, most + 1), key=lambda k: _information(search, k))
    return next((k for k in range(least, most) if _is_explained(search, k)), most)


def _is_enough(search: CalibrationSearch, k: int, criterion: Criterion) -> bool:
    """Tell whether the misfit is explained, or the last two changes are not to be believed."""
    if criterion == "chi2":
        return _is_explained(search, k)
    return _choose(search, k, criterion) <= k - DISBELIEVED


def _is_explained(search: CalibrationSearch, k: int) -> bool:
    explained = chi_square_quantile(max(search.m - k, 1), search.policy.explained)
    return _misfit(search, k) - search.noise_misfit <= explained


def _information(search: CalibrationSearch, k: int) -> float:
    """Return the extended Bayesian information criterion (J. Chen and Z. Chen, 2008).

    Twice the negative logarithm of the likelihood, a price for each variable, and one for having
    chosen k of d: without it, the best of many columns that do not matter is believed too often.
    """
    m, misfit = max(search.m, 1), _misfit(search, k)
    if not search.has_sigma:
        least = search.policy.exact * search.misfit_of(search.start_residuals)
        misfit = m * math.log(max(misfit, least, 1e-300) / m)
    ways = math.comb(int(search.domain.free.sum()), k)
    return misfit + k * math.log(m) + 2 * math.log(ways)


def _go_to(search: CalibrationSearch, visit: Visit, centers: dict[int, SavedCenter]) -> None:
    """Make a point the center and the answer, whatever its cost."""
    if search.k == 0:
        search.return_to_start()
    else:
        search.restore(centers[search.k])
        if not np.array_equal(visit.point, search.center):
            search.move_to(visit.point, visit.residuals)
    search.answer = visit
    search.outer.settle(search.domain.to_z(visit.point), search.cost_of(visit.residuals), 0.0)


def publish(search: CalibrationSearch, most: int) -> None:
    """Tell the best point with at most k changes, for each; that of the answer is the answer."""
    search.outer.knee = search.k
    search.outer.path = [_path_point(search, k) for k in range(most + 1)]


def _path_point(search: CalibrationSearch, k: int) -> PathPoint:
    visit, answer = _best(search, k), search.outer.best
    if answer is not None and k == search.k:
        return PathPoint(k, answer.x, answer.value)
    return PathPoint(k, search.domain.to_z(visit.point), search.cost_of(visit.residuals))
