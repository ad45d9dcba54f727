"""Before the end, other supports are compared with that of the answer.

A misfit within chi-square says that nothing gross is missing. Of many outputs it is too wide to
choose between supports: those are compared by the *difference* of their misfits. If the support is
right, adding a variable lowers the misfit by chi-square of one degree of freedom (the score test,
C. R. Rao 1948), and a support that exchanges one variable is not better than the union of both. So
columns that may lower the misfit by more, and those that may replace another, are measured, one
simulation each; then the exchanges that they promise are tried. Where sigma explains what is left,
all other columns are measured as well, before that is called a success.
"""

import math

import numpy as np

from szoht.algorithms.calibration.columns import measure_columns, unmeasured
from szoht.algorithms.calibration.excursions import follow
from szoht.algorithms.calibration.goodness import (
    decisive_gain,
    explained_misfit,
    is_explained,
    noise_hides_gains,
    residual_variance,
)
from szoht.algorithms.calibration.moves import measure_answer, refine
from szoht.algorithms.calibration.quantiles import chi_square_quantile
from szoht.algorithms.calibration.reprobing import probe_variables
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.sensing import ProbeData, choose_length
from szoht.algorithms.calibration.supports import Support, SupportCandidate
from szoht.algorithms.generator import Steps
from szoht.types import Indices

__all__ = ["could_claim", "demanded_entry", "settle", "verify", "verify_start"]


def could_claim(search: CalibrationSearch) -> bool:
    """Tell whether sigma explains the misfit, and supports can be compared at the center."""
    within = is_explained(search) and explained_misfit(search) > 0
    return within and not noise_hides_gains(search)


def settle(search: CalibrationSearch) -> Steps[None]:
    """Measure the Jacobian on the support of the answer, and compare that with others."""
    yield from measure_answer(search)
    if search.loss == "linear":
        yield from compare_supports(search)


def verify(search: CalibrationSearch) -> Steps[None]:
    """Measure every column at an answer that sigma explains; go on where one shows a better one."""
    while could_claim(search):
        waiting = unmeasured(search)
        if waiting.size:
            search.explain(
                f"`sigma` explains misfit {search.misfit:.4g}: before that is called a success, "
                f"{waiting.size} columns are to be measured here."
            )
            yield from measure_columns(search, waiting)
        if not (yield from compare_supports(search)):
            return


def verify_start(search: CalibrationSearch) -> Steps[None]:
    """Do so at a start that sigma explains, before anything has been probed."""
    if could_claim(search):
        yield from choose_length(search, ProbeData())
        yield from verify(search)


def compare_supports(search: CalibrationSearch) -> Steps[bool]:
    """Exchange variables while that lowers the misfit; tell whether it did."""
    tried: set[Support] = set()
    exchanged = False
    while _can_tell(search) and (yield from _exchange(search, tried)):
        yield from refine(search)
        yield from measure_answer(search)
        exchanged = True
    return exchanged


def _can_tell(search: CalibrationSearch) -> bool:
    """Tell whether there are other supports, and neither an exact fit nor too much fresh noise."""
    noise = math.sqrt(2 / max(search.m, 1)) * search.noise_misfit
    return not search.is_dense and decisive_gain(search) > noise


def _exchange(search: CalibrationSearch, tried: set[Support]) -> Steps[bool]:
    """Measure the columns in question, and follow what they promise until one is better."""
    yield from _measure_needed(search)
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
    return decisive_gain(search, max(new, 1))


def _measure_needed(search: CalibrationSearch) -> Steps[None]:
    """Measure until the best other supports, and what the data demand, are known."""
    policy = search.policy
    left = policy.compared
    while left > 0:
        wanted = [i for other in _others(search, 1) for i in search.support_of(other)]
        wanted += _demanded(search).tolist()
        missing = set(unmeasured(search).tolist()) - set(np.flatnonzero(search.center).tolist())
        batch = [i for i in dict.fromkeys(wanted) if i in missing][: min(policy.batch, left)]
        if not batch:
            return
        yield from probe_variables(search, batch)
        left -= len(batch)


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
    order = np.argsort(-gains, kind="stable")
    return search.known.columns[order[gains[order] > decisive_gain(search)]]


def demanded_entry(search: CalibrationSearch, level: float = 0.95) -> tuple[int, float] | None:
    """Return the variable that lowers the misfit most as one more change, and by how much.

    None unless its column was measured at the center, and that is more than chance does among all
    variables (Bonferroni).
    """
    if search.is_dense or search.noise > 0 or search.loss != "linear":
        return None
    gains = search.model(damping=0.0, optimistic=True).gains_of_one_more()
    gains[np.isin(search.known.columns, unmeasured(search))] = 0.0
    best = int(np.argmax(gains))
    limit = chi_square_quantile(1, 1 - (1 - level) / gains.size)
    if gains[best] <= residual_variance(search) * limit:
        return None
    return int(search.known.columns[best]), float(gains[best])


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
