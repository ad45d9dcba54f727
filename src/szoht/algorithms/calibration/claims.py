"""What may be claimed about an answer: no more than was tested there."""

import math
from dataclasses import dataclass

import numpy as np

from szoht.algorithms.calibration.columns import unmeasured
from szoht.algorithms.calibration.goodness import (
    explained_misfit,
    is_exact,
    is_explained,
    is_far_below_sigma,
    noise_hides_gains,
)
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.core.algorithm import Ending, Evidence
from szoht.types import Indices

__all__ = ["AnswerClaim", "evidence_of", "honest_ending"]


@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerClaim:
    """What was tested at an answer.

    ``exact``: its misfit is zero up to rounding, and nothing can be better. ``testable``: sigma is
    given and the loss linear. ``explained``: the misfit is not more than sigma explains, and
    ``believed``: it is not far less either, or it would fit whatever sigma says. ``told``: fresh
    noise leaves differences by which supports are compared. ``unmeasured`` are the variables whose
    columns were not measured there.
    """

    exact: bool
    testable: bool
    explained: bool
    believed: bool
    told: bool
    unmeasured: Indices

    @classmethod
    def of(cls, search: CalibrationSearch) -> "AnswerClaim":
        """Return what was tested at the center; of an answer with other changes, nothing."""
        answer = search.center if search.answer is None else search.answer.point
        here = np.array_equal(np.flatnonzero(answer), np.flatnonzero(search.center))
        every = np.flatnonzero(search.domain.free)
        return cls(
            exact=is_exact(search),
            testable=explained_misfit(search) > 0,
            explained=is_explained(search),
            believed=not is_far_below_sigma(search),
            told=not noise_hides_gains(search),
            unmeasured=unmeasured(search) if here else every,
        )

    @property
    def holds(self) -> bool:
        """Whether this is a success: sigma explains the misfit, and every column was measured.

        Without sigma, a fit that is exact is one: nothing can be better.
        """
        if not self.testable:
            return self.exact
        fits = self.exact or (self.explained and self.believed)
        return fits and self.told and not self.unmeasured.size


def honest_ending(search: CalibrationSearch, ending: Ending) -> Ending:
    """Return an ending that does not claim more than was tested."""
    if 2 * search.failures > search.spent:
        return Ending.MOSTLY_FAILED
    components = search.residuals.components
    if is_exact(search) if components else AnswerClaim.of(search).holds:
        return Ending.CONVERGED
    best = search.outer.best
    start = search.cost_of(search.start_residuals)
    noise = search.noise_misfit / math.sqrt(max(search.m, 1))
    if best is None or not np.any(best.x) or best.value >= start - noise:
        return Ending.NO_PROGRESS
    return ending if components else Ending.EXHAUSTED


def evidence_of(search: CalibrationSearch) -> Evidence:
    """Return what an ending rests on."""
    free = int(search.domain.free.sum())
    measured = free - AnswerClaim.of(search).unmeasured.size
    return Evidence(
        noise="fresh noise" if search.noise > 0 else "the start gave the same outputs twice",
        noise_level=search.noise,
        slopes=f"differences at the answer, of {measured} of {free} variables",
        tried=(("other supports", search.followed),),
    )
