"""Sensing at a later center: what has changed in the Jacobian, or was missed before.

The responses that the posterior does not expect are those of a change of the Jacobian, which is
learned as the Jacobian itself was: columns that were taken for zero may not be.
"""

import math
from dataclasses import replace

import numpy as np

from szoht.algorithms.calibration.posterior import JacobianPosterior, ProbeFit
from szoht.algorithms.calibration.search import CalibrationSearch
from szoht.algorithms.calibration.sensing import ProbeData, add_probes, good_error, relative_error
from szoht.algorithms.generator import Steps
from szoht.types import Vector

__all__ = ["Resensing"]


class Resensing:
    """Probes of all variables at one center; ``error`` is that of the newest prediction."""

    def __init__(self, search: CalibrationSearch) -> None:
        self.search = search
        self.probes = ProbeData()
        self.before = search.known
        self.error = math.inf

    @property
    def is_here(self) -> bool:
        """Whether the probes were made at the present center."""
        return bool(np.array_equal(self.center, self.search.center)) if len(self.probes) else False

    @property
    def is_known(self) -> bool:
        """Whether the Jacobian at the center predicts new probes, or cannot be known better."""
        search = self.search
        good = self.is_here and self.error < good_error(search, self.probes, 0)
        return good or (self.is_here and len(self.probes) >= self._most)

    @property
    def _most(self) -> int:
        """More probes than variables, and few more, tell nothing new."""
        return int(self.search.domain.free.sum()) + self.search.policy.extra_rows

    def add(self) -> Steps[None]:
        """Make a batch of probes, and learn from all that were made here."""
        search = self.search
        if not self.is_here:
            self.probes, self.before = ProbeData(), search.known
            self.center = search.center
        made = len(self.probes)
        expected = _full_mean(search.known, search.domain.d)
        wanted = min(max(search.policy.broad_probes, 2 * search.k), self._most)
        yield from add_probes(search, self.probes, wanted)
        if len(self.probes) == made:
            return
        rows, responses = self.probes.arrays(made)
        self.error = relative_error(rows[:, :-1] @ expected.T, responses)
        search.explain(f"{len(self.probes)} probes here; error of the prediction {self.error:.2g}.")
        search.posterior = self._posterior()

    def _posterior(self) -> JacobianPosterior:
        """Return the posterior before these probes, with the change that they show."""
        search, policy = self.search, self.search.policy
        rows, responses = self.probes.arrays()
        mean = _full_mean(self.before, search.domain.d)
        fit = ProbeFit.of(rows, responses - rows[:, :-1] @ mean.T, policy, search.smooth_length)
        keep = np.union1d(np.flatnonzero(search.center), self.before.columns)
        change = fit.posterior(keep, policy)
        return replace(change, mean=change.mean + mean[:, change.columns])


def _full_mean(posterior: JacobianPosterior, d: int) -> Vector:
    mean = np.zeros((len(posterior.mean), d))
    mean[:, posterior.columns] = posterior.mean
    return mean
