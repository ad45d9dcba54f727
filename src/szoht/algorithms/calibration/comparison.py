"""Before the end, other supports are compared with that of the answer.

A misfit within chi-square says that nothing gross is missing. Of many outputs it is too wide to
choose between supports: those are compared by the *difference* of their misfits. If the support is
right, adding a variable lowers the misfit by chi-square of one degree of freedom (the score test,
C. R. Rao 1948), and a support that exchanges one variable is not better than the union of both. So
columns that may lower the misfit by more, and those that may replace another, are measured, one
simulation each; then the exchanges that they promise are tried.
"""

import math

import numpy as np

from szoht.algorithms.calibration.excursions import follow
from szoht.algorithms.calibration.moves import measure_answer, refine
from szoht.algorithms.calibration.quantiles import chi_square_quantile
from szoht.algorithms.calibration.records import Visit
from szoht.algorithms.calibration.reprobing import probe_variables
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.supports import Support, SupportCandidate
from szoht.algorithms.generator import Steps
from szoht.types import Indices

__all__ = ["compare_supports"]


def compare_supports(search: CalibrationSearch) -> Steps[None]:
    """Exchange variables while that lowers the misfit."""
    tried: set[Support] = set()
    while _can_tell(search) and (yield from _exchange(search, tried)):
        yield from refine(search)
        yield from measure_answer(search)
        if search.answer is not None:
            search.answer = Visit(search.center, search.center_residuals)


def _can_tell(search: CalibrationSearch) -> bool:
    """Tell whether there are other supports, and neither an exact fit nor too much fresh noise."""
    noise = math.sqrt(2 / max(search.m, 1)) * search.noise_misfit
    decisive = search.residual_variance * chi_square_quantile(1, search.policy.explained)
    answer = search.center if search.answer is None else search.answer.point
    at_answer = np.array_equal(np.flatnonzero(answer), np.flatnonzero(search.center))
    return at_answer and not search.is_dense and decisive > noise


def _exchange(search: CalibrationSearch, tried: set[Support]) -> Steps[bool]:
    """Measure the columns in question, and follow what they promise until one is better."""
    yield from _measure_columns(search)
    untried = [other for other in _promising(search) if search.support_of(other) not in tried]
    for candidate in untried[: search.policy.exchanges]:
        tried.add(search.support_of(candidate))
        if (yield from follow(search, candidate)):
            return True
    search.explain(f"no other support that was tried is better than misfit {search.misfit:.4g}.")
    return False


def _decisive(search: CalibrationSearch, other: SupportCandidate) -> float:
    """Return by how much the misfit must fall: what noise does in the variables exchanged."""
    new = np.setdiff1d(search.support_of(other), np.flatnonzero(search.center)).size
    return search.residual_variance * chi_square_quantile(max(new, 1), search.policy.explained)


def _measure_columns(search: CalibrationSearch) -> Steps[None]:
    """Measure until the best other supports, and what the data demand, are known."""
    policy, measured = search.policy, set(np.flatnonzero(search.center).tolist())
    most = len(measured) + policy.compared
    while len(measured) < most:
        wanted = [i for other in _others(search, 1) for i in search.support_of(other)]
        wanted += _demanded(search).tolist()
        new = [i for i in dict.fromkeys(wanted) if i not in measured]
        batch = new[: min(policy.batch, most - len(measured))]
        if not batch:
            return
        yield from probe_variables(search, batch)
        measured.update(batch)


def _others(search: CalibrationSearch, each: int) -> list[SupportCandidate]:
    """Return the best replacements of each variable, and of several at once; the best first."""
    model = search.model(damping=search.policy.optimistic_damping, optimistic=True)
    current = tuple(np.flatnonzero(model.center).tolist())
    found = model.exchanges(search.k, each) + model.search(search.k, each, {current})
    unique = {other.support: other for other in found}
    return sorted(unique.values(), key=lambda candidate: candidate.misfit)


def _demanded(search: CalibrationSearch) -> Indices:
    """Return variables that lower the misfit by more than noise does, the best first."""
    gains = search.model(damping=0.0, optimistic=True).gains_of_one_more()
    limit = search.residual_variance * chi_square_quantile(1, search.policy.explained)
    order = np.argsort(-gains, kind="stable")
    return search.known.columns[order[gains[order] > limit]]


def _promising(search: CalibrationSearch) -> list[SupportCandidate]:
    """Return supports that are better as far as linearization can tell, the surest first."""
    model, policy = search.model(damping=0.0, optimistic=True), search.policy
    found = [(model.missed(one, policy.drift), one) for one in _others(search, policy.excursions)]
    better = [
        (other.misfit + missed, other)
        for missed, other in found
        if other.misfit - missed < search.misfit - _decisive(search, other)
    ]
    return [other for _, other in sorted(better, key=lambda pair: pair[0])]
