"""Excursions: another support is followed for a few moves before it is judged.

The first point on another support is often worse than the center, because linearization does not
reach that far; after a few Gauss-Newton moves on it, it may be better.
"""

import math

import numpy as np

from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.supports import SupportCandidate
from szoht.algorithms.generator import Steps

__all__ = ["follow"]


def follow(search: CalibrationSearch, candidate: SupportCandidate) -> Steps[bool]:
    """Move to a candidate and on from there; go back unless that leads to a better point."""
    policy, before = search.policy, search.save()
    goal, damping = search.misfit, search.damping
    point = search.point_of(candidate)
    for _ in range(policy.excursion_moves):
        (residuals,) = yield from search.simulate([point])
        misfit = search.misfit_of(residuals)
        if not math.isfinite(misfit):
            break
        if misfit < goal:
            search.explain(f"another support: misfit {misfit:.4g} from {goal:.4g}.")
            search.move_to(point, residuals)
            return True
        search.shift_to(point, residuals)
        search.damping = policy.damping_start
        own = search.model(damping=policy.damping_floor).on_current_support()
        if own is None or own.misfit > max(policy.promise * misfit, goal):
            break
        point = search.point_of(own)
        if np.array_equal(point, search.center):
            break
    search.restore(before)
    search.damping = damping
    search.followed += 1
    search.explain("another support was followed without a gain.")
    return False
