"""What a run is at any moment: its plan, its progress, its ledger and its outcome so far."""

import math
from collections.abc import Callable, Iterable
from typing import Self

from szoht.core.algorithm import Measured, State
from szoht.core.clock import Clock
from szoht.core.directions import Directions
from szoht.core.evaluations import Evaluations
from szoht.core.ledger import Ledger
from szoht.core.memory import raise_mmap_threshold
from szoht.core.query import Plan
from szoht.errors import BudgetError, RunFinishedError
from szoht.evaluation.chunks import ChunkValues
from szoht.evaluation.oracle import OnError
from szoht.result import Counts, Failure, Progress, Result, Status
from szoht.run.answer import best_so_far, make_ledger, path_of, solution
from szoht.run.callbacks import Callback, Recorder, as_callbacks, call_all
from szoht.run.config import RunConfig
from szoht.run.effects import EffectMeasurement
from szoht.run.endings import cost_with_reserve, describe_ending
from szoht.run.known import KnownCheck
from szoht.run.rounding import RoundingCheck
from szoht.run.start import feasible_start
from szoht.run.view import View
from szoht.run.watch import Watch
from szoht.types import Vector

__all__ = ["RunState"]


class RunState:
    """The state of a run, in the solver's numbers, and the views of it in the user's."""

    @classmethod
    def from_config(
        cls,
        config: RunConfig,
        *,
        callback: Callback | Iterable[Callback] | None = None,
        monitor: Callable[[Vector], float] | None = None,
    ) -> Self:
        """Return a run at its start."""
        run = cls.__new__(cls)
        run._begin(config, callback, monitor)
        return run

    def _begin(
        self,
        config: RunConfig,
        callback: Callback | Iterable[Callback] | None,
        monitor: Callable[[Vector], float] | None,
    ) -> None:
        raise_mmap_threshold()
        self.config = config
        self.algorithm = config.algorithm
        self.seed = config.seed
        self.on_error: OnError | None = config.on_error
        self._view = View(variables=config.variables, maximize=config.maximize)
        start = feasible_start(config.x0, self.algorithm.operator, config.variables)
        self._recorder = Recorder(start, monitor, variables=config.variables)
        self._callbacks: tuple[Callback, ...] = (self._recorder, *as_callbacks(callback))
        self._clock = Clock()
        self._counts = self._notified = Counts()
        self._failure: Failure | None = None
        self._error = ""
        self._warnings: tuple[str, ...] = ()
        self._effects: dict[int, float] = {}
        self._measurement: EffectMeasurement | None = None
        self._arrived: list[ChunkValues] = []
        self._compared: Plan | None = None
        self._stored_solution: Measured | None = None
        self._iterations_before = 0
        self._status = Status.RUNNING
        self._final_measurement_status: Status | None = None
        self._rounding = RoundingCheck()
        self._state: State = self.algorithm.init(start, seed=self.seed, n_samples=config.n_samples)
        self._keep_ledger(start)
        self._directions: Directions | None = None
        self._plan: Plan = self._prepare(self.algorithm.ask(self._state))
        self._rule = config.rule(self._plan.cost)
        self._check = self._rule.begin()
        self._needed = cost_with_reserve(self.algorithm, self._state, self._plan)
        self._known_check: KnownCheck | None = None
        self._reasons: tuple[str, ...] = ()
        if config.known is not None:
            sample, maximize = self._plan.queries[0].sample, config.maximize
            self._known_check = KnownCheck.of(
                self.algorithm, start, config.known, sample=sample, maximize=maximize
            )
            self._plan = self._known_check.plan
            self._needed += self._plan.cost
        if not self._rule.affords(self.progress, self._needed):
            raise BudgetError(
                f"`max_queries` must pay for one plan of the algorithm, {self._needed} queries; "
                f"got max_queries={self.query_limit}. Raise it, or lower the number of directions "
                "`q`."
            )

    def _keep_ledger(self, start: Vector) -> None:
        config = self.config
        self._ledger: Ledger = make_ledger(self.algorithm, start, maximize=config.maximize)
        on_grid = config.variables is not None and bool(config.variables.integer.any())
        watched = getattr(self.algorithm, "answers_best", False)
        self._watch = Watch(self._ledger, on_grid=on_grid) if watched else None

    @property
    def query_limit(self) -> int | None:
        """The largest number of queries that will be spent, if they are limited."""
        return self._rule.query_limit

    @property
    def is_late(self) -> bool:
        """Whether the time of the run is over."""
        limit = self._rule.seconds_limit
        return limit is not None and self._clock.seconds >= limit

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._status is not Status.RUNNING

    @property
    def status(self) -> Status:
        """Why the run has ended, or RUNNING."""
        return self._status

    @property
    def state(self) -> State:
        """The algorithm's state, immutable."""
        return self._state

    @property
    def progress(self) -> Progress:
        """The progress of the run, immutable, in the user's numbers."""
        state, view = self._state, self._view
        return Progress(
            iteration=self._iterations_before + state.iteration,
            counts=self._counts,
            x=view.x(state.x),
            value=math.nan if state.measured is None else view.value(state.measured.value),
            best=view.measured(best_so_far(state, self._ledger)),
            seconds=self._clock.seconds,
            variables=view.variables,
            maximize=view.maximize,
        )

    @property
    def clock(self) -> Clock:
        """The stopwatch of the run."""
        return self._clock

    def solver_plan(self) -> Plan:
        """Return the plan to be evaluated next, in the solver's numbers."""
        if self.done:
            raise RunFinishedError(f"The run has ended: {self._status.text} See `result`.")
        return self._plan

    @property
    def solution(self) -> Measured:
        """The answer so far, in the solver's numbers."""
        found = solution(self.algorithm, self._state, self._status, self._ledger)
        stored = self._stored_solution
        is_known = stored is not None and self._ledger.best() is None
        return stored if stored is not None and is_known else found

    @property
    def result(self) -> Result:
        """The outcome so far; while the run goes on its status is RUNNING."""
        status, view, found = self._status, self._view, self.solution
        x, fun = view.x(found.x), view.value(found.value)
        budget = (self._counts.queries, self.query_limit)
        return Result(
            x=x,
            fun=fun,
            nfev=self._counts.queries,
            njev=self._counts.gradients,
            nit=self._iterations_before + self._state.iteration,
            success=status.success and math.isfinite(found.value),
            status=status,
            message=describe_ending(
                status, self._failure, on_error=self.on_error, needed=self._needed, budget=budget
            ),
            counts=self._counts,
            seconds=self._clock.seconds,
            seed=self.seed,
            method=self.config.method,
            history=self._recorder.history,
            failure=self._failure,
            explain=(*self._reasons, *view.explain(self._state.explanation)),
            path=view.path(path_of(self._state, self._ledger), found, x),
            measured=found.exact,
            fun_error=found.error,
            evidence=self._state.evidence,
            variables=view.variables,
            maximize=view.maximize,
            effects=self._effects,
            warnings=self._warnings,
            error=self._error,
            ledger=Evaluations(
                self._ledger,
                len(self._ledger),
                view.variables,
                tuple(getattr(self.algorithm, "output_names", ())),
            ),
        )

    @property
    def _best_is_exact(self) -> bool:
        best = best_so_far(self._state, self._ledger)
        return best is not None and best.exact

    def _prepare(self, plan: Plan) -> Plan:
        for query in plan.queries:
            if query.directions is not None:
                query.directions.recycle(self._directions)
                self._directions = query.directions
        return plan

    def _notify(self) -> bool:
        """Call the callbacks while the clock is paused; tell whether one of them wants to stop."""
        progress = self.progress
        self._notified = progress.counts
        with self._clock.paused():
            return call_all(self._callbacks, progress)
