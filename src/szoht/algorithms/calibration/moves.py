"""After sensing: choose a support, move, learn, probe again where predictions failed, end."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.calibration.excursions import follow
from szoht.algorithms.calibration.goodness import is_explained, is_far_below_sigma
from szoht.algorithms.calibration.records import SavedCenter
from szoht.algorithms.calibration.reprobing import probe_again, probe_variables
from szoht.algorithms.calibration.resensing import Resensing
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.sensing import ProbeFits
from szoht.algorithms.calibration.supports import Support, SupportCandidate
from szoht.algorithms.generator import Steps
from szoht.core.algorithm import Ending
from szoht.types import Vector

__all__ = ["improve", "measure_answer", "refine"]

GAUSS_NEWTON, SWAP = "Gauss-Newton", "swap"


@dataclass
class Attempts:
    """What was tried since the last gain."""

    contradictions: int = 0
    stalls: int = 0
    refined: bool = False
    hopeful: bool = False
    best: SavedCenter | None = None
    restarts: int = 0
    tabu: set[Support] = field(default_factory=set)
    ended: set[Support] = field(default_factory=set)
    explored: set[Support] = field(default_factory=set)


def improve(search: CalibrationSearch, fits: ProbeFits) -> Steps[Ending]:
    """Move from support to support until nothing is promised any more; return why it ends."""
    state = Attempts()
    search.damping = search.policy.damping_start
    while True:
        ending = yield from _descend(search, state)
        if state.best is None or search.misfit < search.misfit_of(state.best.residuals):
            state.best = search.save()
        if is_explained(search) or search.is_dense or state.restarts >= search.policy.restarts:
            search.restore(state.best)
            return ending
        yield from _restart(search, fits, state)


def _restart(search: CalibrationSearch, fits: ProbeFits, state: Attempts) -> Steps[None]:
    """Begin again at the start, with more probes, other supports and more caution."""
    state.restarts += 1
    state.ended.add(tuple(np.flatnonzero(search.center[search.known.columns]).tolist()))
    search.return_to_start()
    search.explain(f"restart {state.restarts} from the start, with more probes.")
    yield from fits.add()
    search.damping = search.policy.damping_start * search.policy.damping_factor**state.restarts
    state.stalls, state.contradictions, state.refined = 0, 0, False
    state.tabu = set(state.ended)
    state.explored.clear()


def _descend(search: CalibrationSearch, state: Attempts) -> Steps[Ending]:
    """Move until nothing is promised, whatever is tried."""
    policy, resensing = search.policy, Resensing(search)
    while True:
        model = search.model()
        own = model.on_current_support()
        if is_explained(search):  # another support would fit the errors
            if not (yield from _refine(search, own, state)):
                return Ending.CONVERGED
            continue
        others = model.search(search.k, policy.alternatives, state.tabu)
        best, kind = _choose(own, others, policy.stay)
        if best is None or best.misfit > policy.promise * search.misfit:
            if (yield from _refine(search, own, state)):
                continue
            ending = yield from _stall(search, resensing, state, others)
            if ending is not None:
                return ending
            continue
        yield from _move(search, best, kind, state)
        if state.contradictions >= policy.contradictions:
            search.explain(f"predictions failed at misfit {search.misfit:.4g}: probed again.")
            yield from probe_again(search, others)
            state.contradictions = 0


def _refine(
    search: CalibrationSearch, own: SupportCandidate | None, state: Attempts
) -> Steps[bool]:
    """Move on the support for a small gain, if it is more than noise; tell whether it was tried."""
    if own is None or state.refined:
        return False
    believed = search.has_sigma and not is_far_below_sigma(search)
    negligible = max(search.misfit, 1.0) if believed else search.misfit
    least = max(search.policy.gain * negligible, search.k * search.noise**2)
    if own.misfit >= search.misfit - least:
        return False
    before = search.misfit
    yield from _move(search, own, GAUSS_NEWTON, state)
    state.refined = search.misfit > before - search.policy.gain * before
    return True


def refine(search: CalibrationSearch) -> Steps[None]:
    """Move on the support of the center until that gains nothing."""
    state = Attempts()
    while (yield from _refine(search, search.model().on_current_support(), state)):
        pass


def _choose(
    own: SupportCandidate | None, others: list[SupportCandidate], stay: float
) -> tuple[SupportCandidate | None, str]:
    """Return what is expected to be best, staying on the support unless another is much better."""
    if own is not None and (not others or own.misfit < stay * others[0].misfit):
        return own, GAUSS_NEWTON
    return (others[0], SWAP) if others else (None, "")


def _move(
    search: CalibrationSearch, candidate: SupportCandidate, kind: str, state: Attempts
) -> Steps[bool]:
    """Simulate a candidate and learn from it; make it the center if it is better."""
    policy, before = search.policy, search.misfit
    point = search.point_of(candidate)
    if np.array_equal(point, search.center):
        state.tabu.add(candidate.support)
        state.refined = True
        state.contradictions += 1
        return False
    wanted = point
    point, residuals = yield from _within_reach(search, wanted)
    if point is not wanted:
        search.damping *= policy.damping_factor
    misfit = search.misfit_of(residuals)
    bias = search.noise_misfit - search.m * search.center_variance
    ratio = (before - misfit + bias) / max(before - candidate.misfit, 1e-300)
    search.explain(f"{kind}: misfit {misfit:.4g}, expected {candidate.misfit:.4g}.")
    if search.is_better(misfit):
        search.move_to(point, residuals)
        if ratio > policy.good_prediction:
            search.damping = max(search.damping / policy.damping_factor, policy.damping_floor)
        state.contradictions = 0 if ratio > policy.fair_prediction else state.contradictions + 1
        state.tabu.clear()
        if search.misfit < (1 - policy.gain) * before:
            state.stalls, state.refined = 0, False
        return True
    if math.isfinite(misfit):
        search.learn_from_move(point, residuals)
    if kind == GAUSS_NEWTON:
        search.damping *= policy.damping_factor
    else:
        state.tabu.add(candidate.support)
    state.contradictions += 1
    return False


def _within_reach(search: CalibrationSearch, point: Vector) -> Steps[tuple[Vector, Vector]]:
    """Simulate a point, and nearer ones while outputs are lost; return the best of them."""
    (residuals,) = yield from search.simulate([point])
    tried = [(point, residuals)]
    for other in _nearer(search, point, residuals):
        if not search.loses_outputs(tried[-1][1]):
            break
        (residuals,) = yield from search.simulate([other])
        tried.append((other, residuals))
    if len(tried) > 1:
        search.explain(f"outputs were lost: {len(tried) - 1} nearer points were tried.")
    return min(tried, key=lambda one: search.misfit_of(one[1]))


def _nearer(search: CalibrationSearch, point: Vector, residuals: Vector) -> Iterator[Vector]:
    """Yield points nearer to the center on the same support.

    First shorter steps; then the whole one without the variable to which the lost outputs respond
    most, as the others may not be to blame.
    """
    shorter = point
    for _ in range(search.policy.shortenings):
        before, shorter = shorter, search.halfway(shorter)
        if np.array_equal(shorter, before):
            break
        yield shorter
    known, lost = search.known, ~np.isfinite(residuals)
    step = (point - search.center)[known.columns]
    suspect = known.columns[np.argmax((known.mean[lost] ** 2).sum(axis=0) * step**2)]
    without = point.copy()
    without[suspect] = search.center[suspect]
    if not np.array_equal(without, search.center):
        yield without


def _stall(
    search: CalibrationSearch, resensing: Resensing, state: Attempts, others: list[SupportCandidate]
) -> Steps[Ending | None]:
    """Nothing is promised: probe again, follow other supports, sense again; None to go on."""
    if state.stalls == 0 and search.next_weighting():
        search.explain("residuals are weighted by the loss from here on.")
        return None
    if state.stalls >= 3 * search.policy.stalled_rounds:
        known = resensing.is_known and not state.hopeful
        return Ending.CONVERGED if known else Ending.EXHAUSTED
    state.stalls += 1
    if state.stalls % 3 == 1:
        search.explain(f"nothing is promised at misfit {search.misfit:.4g}: probed again.")
        yield from probe_again(search, others)
    elif state.stalls % 3 == 2:  # noqa: PLR2004
        if not search.is_dense:
            yield from _follow_others(search, state)
    else:
        search.explain(f"nothing is promised at misfit {search.misfit:.4g}: sensed again.")
        yield from resensing.add()
        search.damping = search.policy.damping_start
        state.tabu.clear()
        state.explored.clear()
        state.refined = False
    return None


def _follow_others(search: CalibrationSearch, state: Attempts) -> Steps[None]:
    """Follow other supports by Gauss-Newton, each from the best point, until one is better."""
    state.hopeful = False
    for _ in range(search.policy.excursions):
        candidate = _next_other(search, state)
        if candidate is None:
            return
        state.hopeful = True
        if (yield from follow(search, candidate)):
            state.stalls, state.refined = 0, False
            state.tabu.clear()
            state.explored.clear()
            return


def _next_other(search: CalibrationSearch, state: Attempts) -> SupportCandidate | None:
    """Return the best other support if the mean Jacobian is right, of those not followed yet."""
    policy = search.policy
    model = search.model(damping=policy.optimistic_damping, optimistic=True)
    state.explored.add(tuple(np.flatnonzero(model.center).tolist()))
    found = model.search(search.k, 1, state.explored)
    if not found or found[0].misfit >= search.misfit:
        return None
    state.explored.add(found[0].support)
    return found[0]


def measure_answer(search: CalibrationSearch) -> Steps[None]:
    """Measure the Jacobian at the answer, variable by variable, and move once more.

    Errors and intervals are computed from it. Of more variables than outputs there are none.
    """
    support = np.flatnonzero(search.center)
    if not 0 < support.size <= search.m or search.left < support.size + 1:
        return
    yield from probe_variables(search, support)
    model = search.model(damping=search.policy.damping_floor, optimistic=True)
    own = model.on_current_support()
    if own is not None and own.misfit < search.misfit:
        yield from _move(search, own, GAUSS_NEWTON, Attempts())
