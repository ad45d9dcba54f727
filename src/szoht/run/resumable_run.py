"""A run that may go on from stored evaluations, where these cannot be replayed any further."""

from collections.abc import Iterable

import numpy as np

from szoht.core.algorithm import Measured
from szoht.core.query import Answer
from szoht.result import Status
from szoht.run.continuation import begun, continued
from szoht.run.solver_run import SolverRun
from szoht.store.parts import Part
from szoht.store.rounds import StoredRound, load_rounds

__all__ = ["ResumableRun"]


class ResumableRun(SolverRun):
    """A run that can take the evaluations of a store."""

    def continue_from(
        self, part: Part, rounds: Iterable[StoredRound], aside: Iterable[StoredRound]
    ) -> None:
        """Go on from the evaluations of some stored rounds, whatever the run has done before."""
        self._load(rounds, aside)
        config, limit = self.config, self._rule.query_limit
        left = None if limit is None else max(limit - self._counts.queries, 1)
        self.algorithm, seed, x = continued(
            config.algorithm, part, self._ledger, seed=config.seed, left=left
        )
        self._state = begun(self.algorithm, x, part, seed=seed, n_samples=config.n_samples)
        self._iterations_before = part.iteration - self._state.iteration
        self._status, self._error, self._known_check = Status.RUNNING, "", None
        self._final_measurement_status = self._measurement = None
        self._warnings = (str(part),)
        known = self._ledger.find(x) if self._ledger.is_repeatable else None
        self._ask_from(x, None if known is None else Answer(values=np.array([known])))

    def load(
        self,
        rounds: Iterable[StoredRound],
        aside: Iterable[StoredRound],
        answer: Measured | None,
    ) -> None:
        """Take the evaluations of a run that has ended elsewhere, and its answer if it is known."""
        self._load(rounds, aside)
        self._stored_solution = answer

    def _load(self, rounds: Iterable[StoredRound], aside: Iterable[StoredRound]) -> None:
        self._keep_ledger(self._ledger.start)
        load_rounds(self._ledger, aside)
        self._counts = load_rounds(self._ledger, rounds)
