"""A run in the solver's numbers: plans, their answers, and what comes next until it ends."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import numpy as np

from szoht.algorithms.generator import GeneratorAlgorithm
from szoht.core.algorithm import State
from szoht.core.clock import Clock
from szoht.core.directions import Directions
from szoht.core.memory import raise_mmap_threshold
from szoht.core.query import Answer, Plan, one_point
from szoht.errors import BudgetError, EvaluationError, NonFiniteError, RunFinishedError
from szoht.evaluation.oracle import OnError
from szoht.result import Counts, Failure, Progress, Result, Status
from szoht.run.callbacks import Callback, Recorder, as_callbacks, call_all
from szoht.run.config import RunConfig
from szoht.run.effects import ChangeEffects
from szoht.run.endings import (
    cost_with_reserve,
    describe_ending,
    final_plan,
    solution,
    status_of_ending,
)
from szoht.run.failures import count_failures, finite_only, first_failure, spend
from szoht.run.known import KnownCheck, tell_known
from szoht.run.rounding import RoundingCheck
from szoht.run.start import feasible_start
from szoht.run.view import View
from szoht.types import Vector

__all__ = ["SolverRun"]


class SolverRun:
    """A run that gives plans in the solver's numbers, and takes answers with the user's values."""

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
        takes_outputs = "n_outputs" in self.algorithm.requires  # its result has its own effects
        self._effects = ChangeEffects(None if takes_outputs else config.variables)
        self._status = Status.RUNNING
        self._final_measurement_status: Status | None = None
        self._rounding = RoundingCheck()
        self._state: State = self.algorithm.init(start, seed=self.seed, n_samples=config.n_samples)
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

    @property
    def query_limit(self) -> int | None:
        """The largest number of queries that will be spent, if they are limited."""
        return self._rule.query_limit

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._status is not Status.RUNNING

    @property
    def state(self) -> State:
        """The algorithm's state, immutable."""
        return self._state

    @property
    def progress(self) -> Progress:
        """The progress of the run, immutable, in the user's numbers."""
        state, view = self._state, self._view
        return Progress(
            iteration=state.iteration,
            counts=self._counts,
            x=view.x(state.x),
            value=math.nan if state.measured is None else view.value(state.measured.value),
            best=view.measured(state.best),
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

    def receive(self, answers: Sequence[Answer]) -> None:
        """Take the answers of `solver_plan`, with values as the user has them."""
        plan = self.solver_plan()
        if self._effects.measurement is not None:
            self._spend(plan, plan.n_points, count_failures(plan, answers))
            self._effects.receive(finite_only(answers))
            self._end(self._effects.measurement.status)
            return
        failed = first_failure(plan, answers, self._counts.points)
        if failed is not None and self.on_error in ("stop", "raise"):
            self.fail(failed, spent=plan.n_points)
            return
        failures = count_failures(plan, answers)
        self._spend(plan, plan.n_points, failures)
        if failures:
            answers = finite_only(answers)
        self._effects.observe(plan, answers)
        if self._known_check is not None:
            self._begin_at_best(self._known_check, answers)
        else:
            self._continue(plan, answers)

    def _continue(self, plan: Plan, answers: Sequence[Answer]) -> None:
        """Tell the algorithm and the callbacks, and decide what comes next."""
        answers = self._view.answers(answers)
        iteration = self._state.iteration
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._state = self.algorithm.tell(self._state, plan, answers)
        except NonFiniteError:
            self._end(Status.DIVERGED)
            return
        except EvaluationError as error:
            self._set_failure(self._state.x, str(error).rstrip("."))
            self._end(Status.FAILED)
            return
        requested = None
        try:
            self._rounding.warn_if_radius_too_small(self._state)
            tells = (
                self._state.iteration > iteration
                or self._final_measurement_status is not None
                or isinstance(self.algorithm, GeneratorAlgorithm)  # an iteration is many plans
            )
            requested = Status.CALLBACK if tells and self._notify() else None
        finally:  # after a callback that raises, the run can continue
            self._advance(requested)

    def _begin_at_best(self, check: KnownCheck, answers: Sequence[Answer]) -> None:
        """Begin at x0 or at the known point, whose value may be all that the first plan asks."""
        self._known_check = None
        chosen = check.choose(answers)
        self._reasons = (chosen.reason,)
        self.algorithm = tell_known(self.algorithm, check, chosen)
        self._state = self.algorithm.init(chosen.x, seed=self.seed, n_samples=self.config.n_samples)
        plan = self.algorithm.ask(self._state)
        first = plan.queries[0]
        same = plan.n_points == 1 and check.sample is None and np.array_equal(first.base, chosen.x)
        if same and not first.gradient:
            self._continue(plan, [chosen.answer])
        else:
            self._advance(None)

    def fail(self, failure: Failure, *, spent: int) -> None:
        """End the run because a point could not be evaluated; ``spent`` points were."""
        failure = self._view.failure(failure)
        if self.on_error == "raise":
            raise EvaluationError(str(failure)) from failure.exception
        self._spend(self._plan, spent, 1)
        if self._effects.measurement is not None:  # the run had ended already
            self._end(self._effects.measurement.status)
            return
        self._failure = failure
        self._end(Status.FAILED)

    def interrupt(self, *, spent: int = 0, status: Status = Status.INTERRUPTED) -> None:
        """End the run where it stands; ``spent`` points of its plan are lost."""
        if not self.done:
            self._spend(self._plan, spent, 0)
            last = self._effects.measurement
            self._end(status if last is None else last.status)

    @property
    def result(self) -> Result:
        """The outcome so far; while the run goes on its status is RUNNING."""
        status, view = self._status, self._view
        found = solution(self.algorithm, self._state, status)
        x, fun = view.x(found.x), view.value(found.value)
        budget = (self._counts.queries, self.query_limit)
        return Result(
            x=x,
            fun=fun,
            nfev=self._counts.queries,
            njev=self._counts.gradients,
            nit=self._state.iteration,
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
            path=view.path(self._state.path, found, x),
            measured=found.exact,
            fun_error=found.error,
            evidence=self._state.evidence,
            variables=view.variables,
            maximize=view.maximize,
            effects=self._effects.at(found.x, fun),
        )

    def _advance(self, status: Status | None) -> None:
        """Decide what comes next: another plan, a last measurement, or the end."""
        if self._final_measurement_status is not None:
            self._conclude(self._final_measurement_status)
            return
        if self._state.finished:
            self._conclude(self._status_of_ending())
            return
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                plan = self.algorithm.ask(self._state)
        except NonFiniteError:
            self._end(Status.DIVERGED)
            return
        self._needed = cost_with_reserve(self.algorithm, self._state, plan)
        status = status or self._check(self.progress, self._needed)
        if status is None:
            self._plan = self._prepare(plan)
            return
        if status is Status.TARGET and not self._best_is_exact:
            status = self._verify(plan)
            if status is None:
                return
        last = final_plan(self.algorithm, self._state, status)
        if last is not None and self._rule.affords(self.progress, last.cost):
            self._plan, self._final_measurement_status = last, status
        else:
            self._conclude(status)

    def _conclude(self, status: Status) -> None:
        """End, after a plan that measures what each change is worth, if there is budget for it."""
        found, last = solution(self.algorithm, self._state, status), None
        if self.on_error != "raise":
            value, sample = self._view.value(found.value), self._plan.queries[0].sample
            last = self._effects.measure(found.x, value, sample, status)
        if last is None or not self._rule.affords(self.progress, last.plan.cost):
            self._end(status)
        else:
            self._effects.measurement, self._plan = last, last.plan

    def _status_of_ending(self) -> Status:
        if self._state.best is None:
            self._set_failure(self._state.x, "the objective cannot be evaluated at the start `x0`")
        return status_of_ending(self._state)

    def _set_failure(self, z: Vector, reason: str) -> None:
        self._failure = self._view.failure(Failure(query=1, point=z, reason=reason))

    def _verify(self, plan: Plan) -> Status | None:
        """Measure a point whose inferred value reaches the target, before accepting it."""
        assert self._state.best is not None, "an inferred value has its point"  # noqa: S101
        check = one_point(self._state.best.x, plan.queries[0].sample)
        if not self._rule.affords(self.progress, check.cost):
            return Status.QUERIES
        self._plan = check
        return None

    @property
    def _best_is_exact(self) -> bool:
        return self._state.best is not None and self._state.best.exact

    def _prepare(self, plan: Plan) -> Plan:
        for query in plan.queries:
            if query.directions is not None:
                query.directions.recycle(self._directions)
                self._directions = query.directions
        return plan

    def _end(self, status: Status) -> None:
        if status.limit and self._state.best is None and self._counts.failures:
            if self._failure is None:
                self._set_failure(self._state.x, "no point could be evaluated")
            status = Status.FAILED
        if (status.limit or status is Status.CONVERGED) and self._best_is_exact:
            # the last measurement may have reached the target after all
            reached = self._rule.has_target and self._check(self.progress, 0) is Status.TARGET
            status = Status.TARGET if reached else status
        self._status = status
        if self._counts != self._notified:  # a run may end in the middle of an iteration
            self._notify()
        self._clock.stop()

    def _notify(self) -> bool:
        """Call the callbacks while the clock is paused; tell whether one of them wants to stop."""
        progress = self.progress
        self._notified = progress.counts
        with self._clock.paused():
            return call_all(self._callbacks, progress)

    def _spend(self, plan: Plan, points: int, failures: int) -> None:
        self._counts = spend(self._counts, plan, points, failures)
