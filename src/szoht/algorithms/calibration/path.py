"""How many variables to change: the best answer for each k, and which of them to believe."""

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from szoht.algorithms.calibration.quantiles import chi_square_quantile
from szoht.algorithms.calibration.records import SavedCenter, Visit
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.generator import Steps
from szoht.core.algorithm import PathPoint

__all__ = ["CRITERIA", "Criterion", "keep_support", "walk_path"]

Criterion: TypeAlias = Literal["bic", "chi2"]
CRITERIA: tuple[str, ...] = get_args(Criterion)


def walk_path(search: CalibrationSearch, criterion: Criterion) -> Steps[None]:
    """Find the best points with fewer and fewer changes, and make the one to believe the answer.

    "bic" is the one with the least Bayesian information criterion, "chi2" the one with the fewest
    changes whose misfit the errors of the measurements explain.
    """
    centers = {search.k: search.save()}
    for k in range(search.k - 1, 0, -1):
        yield from _solve_for(search, k)
        centers[k] = search.save()
    best = {
        k: min(_visits(search, k), key=lambda visit: search.cost_of(visit.residuals))
        for k in range(max(centers) + 1)
    }
    misfits = {k: search.misfit_of(visit.residuals) for k, visit in best.items()}
    chosen = _choose(search, misfits, criterion)
    search.outer.path = [
        PathPoint(k, search.domain.to_z(visit.point), search.cost_of(visit.residuals))
        for k, visit in best.items()
    ]
    search.outer.knee = search.k = chosen  # other supports are to be as small
    _settle(search, best[chosen], centers.get(chosen, centers[1]))
    search.explain(f"{chosen} changes are to be believed, of up to {max(centers)}.")


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


def _visits(search: CalibrationSearch, k: int) -> list[Visit]:
    return [visit for visit in search.visits if np.count_nonzero(visit.point) <= k]


def _choose(search: CalibrationSearch, misfits: dict[int, float], criterion: Criterion) -> int:
    """Return how many changes are to be believed."""
    m = max(search.m, 1)
    if criterion == "chi2":
        for k, misfit in misfits.items():
            quantile = chi_square_quantile(max(m - k, 1), search.policy.explained)
            if misfit <= quantile:
                return k
        return max(misfits)

    def information(k: int) -> float:
        """Twice the negative logarithm of the likelihood, and a price for each variable."""
        misfit = misfits[k]
        if not search.has_sigma:
            least = search.policy.exact * misfits[0]
            misfit = m * math.log(max(misfit, least, 1e-300) / m)
        return misfit + k * math.log(m)

    return min(misfits, key=information)


def _settle(search: CalibrationSearch, visit: Visit, center: SavedCenter) -> None:
    """Make a point the answer, whatever its cost; measure the Jacobian around its center."""
    search.restore(center)
    search.answer = visit
    search.outer.settle(search.domain.to_z(visit.point), search.cost_of(visit.residuals), 0.0)


def keep_support(search: CalibrationSearch) -> None:
    """Make the best point on the support of the answer the answer."""
    if search.answer is None:
        return
    support = np.flatnonzero(search.answer.point)
    same = [v for v in search.visits if np.array_equal(np.flatnonzero(v.point), support)]
    best = min(same, key=lambda visit: search.cost_of(visit.residuals))
    _settle(search, best, search.save())
