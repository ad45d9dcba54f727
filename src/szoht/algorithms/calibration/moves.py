"""After sensing: choose a support, move, learn, probe again where predictions failed, end."""

import math
from dataclasses import dataclass, field

import numpy as np

from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.supports import Candidate, Support
from szoht.algorithms.generator import Steps
from szoht.core.algorithm import Ending
from szoht.types import Vector

__all__ = ["improve"]

GAUSS_NEWTON, SWAP, OPTIMISTIC, RESTART = "Gauss-Newton", "swap", "optimistic swap", "restart"


@dataclass
class Progress:
    """What was tried since the last gain."""

    contradictions: int = 0
    stalls: int = 0
    restarts: int = 0
    refined: bool = False
    hopeful: bool = False
    tabu: set[Support] = field(default_factory=set)
    restarted: set[Support] = field(default_factory=set)


def improve(search: CalibrationSearch) -> Steps[Ending]:
    """Move from support to support until nothing is promised any more; return why it ends."""
    policy, state = search.policy, Progress()
    search.damping = policy.damping_start
    while True:
        if _is_explained(search):
            return Ending.CONVERGED
        model = search.model()
        others = model.search(search.k, policy.alternatives, state.tabu)
        own = model.on_current_support()
        best, kind = _choose(own, others, policy.stay)
        if best is None or best.misfit > policy.promise * search.misfit:
            if own is not None and not state.refined and _is_gain(search, own):
                state.refined = not (yield from _move(search, own, GAUSS_NEWTON, state))
                continue
            ending = yield from _stall(search, state, others)
            if ending is not None:
                return ending
            continue
        yield from _move(search, best, kind, state)
        if state.contradictions >= policy.contradictions:
            search.explain(f"predictions failed at misfit {search.misfit:.4g}: probed again.")
            yield from _probe_again(search, others)
            state.contradictions = 0


def _choose(
    own: Candidate | None, others: list[Candidate], stay: float
) -> tuple[Candidate | None, str]:
    """Return what is expected to be best, staying on the support unless another is much better."""
    if own is not None and (not others or own.misfit < stay * others[0].misfit):
        return own, GAUSS_NEWTON
    return (others[0], SWAP) if others else (None, "")


def _is_explained(search: CalibrationSearch) -> bool:
    """Tell whether fresh noise or rounding explains the misfit."""
    policy, misfit = search.policy, search.misfit
    rounding = policy.exact * float((search.filled(search.start_residuals) ** 2).sum())
    return misfit <= max(policy.noise_misfit * search.noise_misfit, rounding)


def _is_gain(search: CalibrationSearch, candidate: Candidate) -> bool:
    """Tell whether a small gain is worth a simulation: more than noise."""
    least = max(search.policy.gain * search.misfit, search.noise_misfit)
    return candidate.misfit < search.misfit - least


def _move(
    search: CalibrationSearch, candidate: Candidate, kind: str, state: Progress
) -> Steps[bool]:
    """Simulate a candidate and learn from it; make it the center if it is better."""
    policy, before = search.policy, search.misfit
    point = search.point_of(candidate)
    if np.array_equal(point, search.center):
        state.tabu.add(candidate.support)
        state.refined = True
        state.contradictions += 1
        return False
    (residuals,) = yield from search.simulate([point])
    misfit = search.misfit_of(residuals)
    ratio = (before - misfit) / max(before - candidate.misfit, 1e-300)
    search.explain(f"{kind}: misfit {misfit:.4g}, expected {candidate.misfit:.4g}.")
    if math.isfinite(misfit):
        search.learn_from_move(point, residuals)
    if misfit < before:
        search.move_to(point, residuals)
        if ratio > policy.good_prediction:
            search.damping = max(search.damping / policy.damping_factor, policy.damping_floor)
        state.contradictions = 0 if ratio > policy.fair_prediction else state.contradictions + 1
        state.tabu.clear()
        if misfit < (1 - policy.gain) * before:
            state.stalls, state.refined = 0, False
        return True
    if kind == GAUSS_NEWTON:
        search.damping *= policy.damping_factor
    else:
        state.tabu.add(candidate.support)
    state.contradictions += kind != OPTIMISTIC
    return False


def _stall(
    search: CalibrationSearch, state: Progress, others: list[Candidate]
) -> Steps[Ending | None]:
    """Nothing is promised: probe again, hope, probe broadly in turn; None to go on."""
    policy = search.policy
    if state.stalls == 0 and search.next_weighting():
        search.explain("residuals are weighted by the loss from here on.")
        return None
    if state.stalls >= 4 * policy.stalled_rounds:
        return (yield from _end_or_restart(search, state, others))
    state.stalls += 1
    if state.stalls % 2 == 0:
        state.hopeful = False
        candidate = _hope(search, state)
        if candidate is not None:
            state.hopeful = True
            yield from _move(search, candidate, OPTIMISTIC, state)
    elif state.stalls % 4 == 1:
        search.explain(f"nothing is promised at misfit {search.misfit:.4g}: probed again.")
        yield from _probe_again(search, others)
    else:
        search.explain(f"nothing is promised at misfit {search.misfit:.4g}: broad probes.")
        yield from _probe_broadly(search)
        state.tabu.clear()
        state.refined = False
    return None


def _hope(search: CalibrationSearch, state: Progress) -> Candidate | None:
    """Return the best other support if the mean Jacobian is right, and if that is much better."""
    policy = search.policy
    model = search.model(damping=policy.optimistic_damping, optimistic=True)
    own = tuple(np.flatnonzero(model.center).tolist())
    for candidate in model.search(search.k, policy.alternatives, state.tabu):
        if candidate.support != own:
            good = candidate.misfit < policy.optimistic_promise * search.misfit
            return candidate if good else None
    return None


def _end_or_restart(
    search: CalibrationSearch, state: Progress, others: list[Candidate]
) -> Steps[Ending | None]:
    """Go on from the best other support, if restarts are left; else end at the best point."""
    own = tuple(np.flatnonzero(search.center[search.known.columns]).tolist())
    state.restarted.add(own)
    fresh = [other for other in others if other.support not in state.restarted]
    if state.restarts < search.policy.restarts and fresh:
        state.restarts += 1
        point = search.point_of(fresh[0])
        (residuals,) = yield from search.simulate([point])
        search.explain(
            f"{RESTART} from another support at misfit {search.misfit_of(residuals):.4g}."
        )
        if np.isfinite(residuals).any():
            search.learn_from_move(point, residuals)
            search.move_to(point, residuals)
            search.damping = search.policy.damping_start
        state.stalls, state.refined = 0, False
        state.restarted.add(fresh[0].support)
        state.tabu.clear()
        return None
    return Ending.EXHAUSTED if state.hopeful else Ending.CONVERGED


def _probe_again(search: CalibrationSearch, others: list[Candidate]) -> Steps[None]:
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
    for _ in range(search.affordable(search.k)):
        _, vectors = np.linalg.eigh(known.covariance * np.outer(weight, weight))
        direction = vectors[:, -1] * weight
        step = _as_step(search, direction, search.length)
        if not step.any():
            break
        steps.append(step)
        error = known.probe_error(step, search.noise_misfit, search.policy)
        known = known.updated(step, known.response(step), error)
    yield from _probe_along(search, steps)


def _probe_broadly(search: CalibrationSearch) -> Steps[None]:
    """Probe along draws from the posterior: long where the Jacobian is unknown."""
    policy, known = search.policy, search.known
    values, vectors = np.linalg.eigh(known.covariance)
    count = search.affordable(max(policy.broad_probes, 2 * search.k))
    draws = search.generator().standard_normal((count, values.size))
    directions = (draws * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    length = policy.broad_length * search.length
    steps = [_as_step(search, direction, length) for direction in directions]
    yield from _probe_along(search, [step for step in steps if step.any()])
    search.damping = policy.damping_start


def _as_step(search: CalibrationSearch, direction: Vector, length: float) -> Vector:
    """Return a direction as a step whose largest entry has a length, within bounds."""
    step = np.zeros(search.domain.d)
    largest = float(np.abs(direction).max(initial=0.0))
    if largest > 0:
        step[search.known.columns] = length * direction / largest
    return search.domain.within(search.center, step)


def _probe_along(search: CalibrationSearch, steps: list[Vector]) -> Steps[None]:
    if not steps:
        return
    rows = yield from search.simulate([search.center + step for step in steps])
    for step, residuals in zip(steps, rows, strict=True):
        search.learn_from_probe(step, residuals)
