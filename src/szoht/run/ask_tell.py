"""`AskTell`: a run whose points are evaluated by the caller."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from szoht.algorithms.generator import GeneratorAlgorithm
from szoht.core.algorithm import Algorithm, Measured, State
from szoht.core.changes import Effect
from szoht.core.clock import Clock
from szoht.core.directions import Directions
from szoht.core.memory import raise_mmap_threshold
from szoht.core.operator import Operator
from szoht.core.query import Answer, Plan, one_point
from szoht.core.variable_columns import Named
from szoht.errors import (
    BudgetError,
    EvaluationError,
    ExecutorError,
    NonFiniteError,
    ParameterError,
    RunFinishedError,
)
from szoht.evaluation.evaluate import as_gradient, as_values
from szoht.evaluation.oracle import OnError
from szoht.result import Counts, Failure, Progress, Result, Status
from szoht.run.always import Always
from szoht.run.callbacks import Callback, Recorder, as_callbacks, call_all
from szoht.run.config import RunConfig
from szoht.run.effects import MEASURED_AFTER, EffectMeasurement, EvaluationArchive
from szoht.run.failures import count_failures, finite_only, first_failure
from szoht.run.known import Known, KnownCheck
from szoht.run.problem import Bounds, Start, VariableOptions
from szoht.run.rounding import RoundingCheck
from szoht.run.start import feasible_start
from szoht.run.view import View
from szoht.stopping import Rule
from szoht.types import Vector

__all__ = ["AskTell"]


class AskTell:
    """A run whose points are evaluated by the caller.

    ``ask`` gives a plan, the same one until ``tell`` has been given its values; the iterates are
    bit for bit those of `minimize` with the same parameters.

    Parameters
    ----------
    x0, k, constraint, always, method, options, rng, on_error, callback, monitor
        As in `minimize`.
    reference, bounds, unit, integer, names, maximize, known
        As in `minimize`: points, values and results are in the user's numbers.
    max_queries, max_iterations, max_seconds, target, stop
        As in `minimize`.
    n_samples : int, optional
        The number of components of a finite sum, for a ``method`` that draws minibatches.
    stochastic : bool
        Whether values depend on the sample that each query of a plan carries.

    Examples
    --------
    >>> import numpy as np
    >>> run = AskTell(np.zeros(50), k=1, max_queries=300, rng=0)
    >>> while not run.done:
    ...     points = run.ask().points()
    ...     run.tell(((points - np.eye(50)[7]) ** 2).sum(axis=1))
    >>> run.result.support
    array([7])
    """

    def __init__(
        self,
        x0: Start,
        *,
        k: int | str | None = None,
        constraint: Operator | None = None,
        always: Always = None,
        reference: Named = None,
        bounds: Bounds = None,
        unit: Named = None,
        integer: Named = None,
        names: Iterable[str] | None = None,
        maximize: bool = False,
        method: str | Algorithm = "auto",
        options: Mapping[str, Any] | None = None,
        max_queries: int | None = None,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        target: float | None = None,
        stop: Rule | None = None,
        rng: int | np.random.Generator | np.random.SeedSequence | None = None,
        n_samples: int | None = None,
        stochastic: bool = False,
        on_error: OnError | None = None,
        known: Known = None,
        callback: Callback | Iterable[Callback] | None = None,
        monitor: Callable[[Vector], float] | None = None,
    ) -> None:
        self._begin(
            RunConfig.of(
                x0,
                k=k,
                constraint=constraint,
                always=always,
                variable_options=VariableOptions(
                    reference=reference, bounds=bounds, unit=unit, integer=integer, names=names
                ),
                maximize=maximize,
                method=method,
                options=options,
                limits={
                    "max_queries": max_queries,
                    "max_iterations": max_iterations,
                    "max_seconds": max_seconds,
                    "target": target,
                },
                stop=stop,
                rng=rng,
                n_samples=n_samples,
                stochastic=stochastic,
                on_error=on_error,
                known=known,
            ),
            callback,
            monitor,
        )

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
        self._measurement: EffectMeasurement | None = None
        self._effects: dict[int, Effect] = {}
        self._archive = None if config.variables is None else EvaluationArchive()
        self._status = Status.RUNNING
        self._final_measurement_status: Status | None = None
        self._rounding = RoundingCheck()
        self._state: State = self.algorithm.init(start, seed=self.seed, n_samples=config.n_samples)
        self._directions: Directions | None = None
        self._asked: tuple[Plan, Plan] | None = None
        self._plan: Plan = self._prepare(self.algorithm.ask(self._state))
        self._rule = config.rule(self._plan.cost)
        self._check = self._rule.begin()
        self._needed = self._cost_with_reserve(self._plan)
        self._known_check: KnownCheck | None = None
        self._reasons: tuple[str, ...] = ()
        if config.known is not None:
            self._known_check = KnownCheck(
                start=start,
                known=config.known,
                sample=self._plan.queries[0].sample,
                maximize=config.maximize,
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

    def ask(self) -> Plan:
        """Return what to evaluate next; the same plan until its values are told."""
        plan = self.solver_plan()
        if self._asked is None or self._asked[0] is not plan:
            self._asked = plan, self._view.plan(plan)
        return self._asked[1]

    def solver_plan(self) -> Plan:
        """Return the plan to be evaluated next, in the solver's numbers."""
        if self.done:
            raise RunFinishedError(f"The run has ended: {self._status.text} See `result`.")
        return self._plan

    def tell(self, values: ArrayLike, gradient: ArrayLike | None = None) -> None:
        """Take the values of the plan last asked, in the order of its points.

        Parameters
        ----------
        values : array of shape (n_points,)
            A point that could not be evaluated is NaN; ``on_error`` says what happens then. For
            an algorithm that works on several outputs, of shape (n_points, m).
        gradient : array of shape (d,), optional
            The gradient at the plan's base point, for first-order methods.
        """
        plan = self.solver_plan()
        takes_outputs = "n_outputs" in self.algorithm.requires and np.ndim(values) > 1
        rows = as_values(values, plan.n_points, np.shape(values)[1] if takes_outputs else None)
        slope = None if gradient is None else as_gradient(gradient, self._state.x.shape)
        if slope is None and any(query.gradient for query in plan.queries):
            raise ParameterError("`gradient` must be given: this plan asks for one; got None.")
        if slope is not None:
            slope = self._view.gradient(plan.queries[0].base, slope)
        self.receive(plan.answered(rows, slope))

    def receive(self, answers: Sequence[Answer]) -> None:
        """Take the answers of `solver_plan`, with values as the user has them."""
        plan = self.solver_plan()
        if self._measurement is not None:
            self._receive_effects(self._measurement, plan, answers)
            return
        failed = first_failure(plan, answers, self._counts.points)
        if failed is not None and self.on_error in ("stop", "raise"):
            self.fail(failed, spent=plan.n_points)
            return
        failures = count_failures(plan, answers)
        self._spend(plan, plan.n_points, failures)
        if failures:
            answers = finite_only(answers)
        if self._archive is not None:
            self._archive.add(plan, answers)
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
        if self._measurement is not None:  # the run had ended already
            self._end(self._measurement.status)
            return
        self._failure = failure
        self._end(Status.FAILED)

    def interrupt(self, *, spent: int = 0, status: Status = Status.INTERRUPTED) -> None:
        """End the run where it stands; ``spent`` points of its plan are lost."""
        if not self.done:
            self._spend(self._plan, spent, 0)
            self._end(status if self._measurement is None else self._measurement.status)

    @property
    def result(self) -> Result:
        """The outcome so far; while the run goes on its status is RUNNING."""
        status, view = self._status, self._view
        solution = self._solution(status)
        x, fun = view.x(solution.x), view.value(solution.value)
        effects = self._effects
        if self._archive is not None and not effects and math.isfinite(fun):
            effects = self._archive.effects(solution.x, fun)
        return Result(
            x=x,
            fun=fun,
            nfev=self._counts.queries,
            njev=self._counts.gradients,
            nit=self._state.iteration,
            success=status.success and math.isfinite(solution.value),
            status=status,
            message=self._message(status),
            counts=self._counts,
            seconds=self._clock.seconds,
            seed=self.seed,
            method=self.config.method,
            history=self._recorder.history,
            failure=self._failure,
            explain=(*self._reasons, *view.explain(self._state.explanation)),
            path=view.path(self._state.path, solution, x),
            measured=solution.exact,
            fun_error=solution.error,
            evidence=self._state.evidence,
            variables=view.variables,
            maximize=view.maximize,
            effects=effects,
        )

    def _solution(self, status: Status) -> Measured:
        """Return the solution; after a target, the point that reached it."""
        if status is Status.TARGET and self._state.best is not None:
            return self._state.best
        return self.algorithm.solution(self._state)

    def _message(self, status: Status) -> str:
        """Say why the run ended, and what to do about it."""
        if self._failure is not None:
            by_executor = isinstance(self._failure.exception, ExecutorError)
            remedy = "" if by_executor or self.on_error == "skip" else status.remedy
            return f"{status.text} {self._failure} {remedy}".strip()
        limit = self.query_limit
        left = 0 if limit is None else limit - self._counts.queries
        if status is Status.QUERIES and left > 0:
            return (
                f"The next step needs {self._needed} queries, and {left} of {limit} are left. "
                f"{status.remedy}"
            )
        return status.message

    def _advance(self, status: Status | None) -> None:
        """Decide what comes next: another plan, a last measurement, or the end."""
        if self._final_measurement_status is not None:
            self._conclude(self._final_measurement_status)
            return
        if self._state.finished:
            self._conclude(self._final_status())
            return
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                plan = self.algorithm.ask(self._state)
        except NonFiniteError:
            self._end(Status.DIVERGED)
            return
        self._needed = self._cost_with_reserve(plan)
        status = status or self._check(self.progress, self._needed)
        if status is None:
            self._plan = self._prepare(plan)
            return
        if status is Status.TARGET and not self._best_is_exact:
            status = self._verify(plan)
            if status is None:
                return
        last = self._final_plan(status)
        if last is not None and self._rule.affords(self.progress, last.cost):
            self._plan, self._final_measurement_status = last, status
        else:
            self._conclude(status)

    def _conclude(self, status: Status) -> None:
        """End, after a plan that measures what each change is worth, if there is budget for it."""
        variables, solution = self._view.variables, self._solution(status)
        if variables is not None and status in MEASURED_AFTER and self.on_error != "raise":
            sample = self._plan.queries[0].sample
            measurement = EffectMeasurement(
                variables, solution.x, self._view.value(solution.value), sample, status
            )
            if measurement.is_worthwhile and self._rule.affords(
                self.progress, measurement.plan.cost
            ):
                self._measurement, self._plan = measurement, measurement.plan
                return
        self._end(status)

    def _receive_effects(
        self, measurement: EffectMeasurement, plan: Plan, answers: Sequence[Answer]
    ) -> None:
        self._spend(plan, plan.n_points, count_failures(plan, answers))
        self._effects = measurement.effects(finite_only(answers))
        self._end(measurement.status)

    def _set_failure(self, z: Vector, reason: str) -> None:
        self._failure = self._view.failure(Failure(query=1, point=z, reason=reason))

    def _cost_with_reserve(self, plan: Plan) -> int:
        """Return the cost of a plan and of the final measurement that must remain affordable."""
        reserve = getattr(self.algorithm, "reserve", None)
        return plan.cost + (0 if reserve is None else int(reserve(self._state)))

    def _final_plan(self, status: Status) -> Plan | None:
        """Return what is measured last: after a time limit only a solution without a value."""
        timely = status is not Status.SECONDS or not self.algorithm.solution(self._state).exact
        return (
            self.algorithm.final_plan(self._state) if status.measures_solution and timely else None
        )

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

    def _final_status(self) -> Status:
        """Return why an algorithm has ended: it has converged, or never got a value."""
        if self._state.best is not None:
            return (
                Status.CONVERGED if self._state.ending is None else Status[self._state.ending.name]
            )
        self._set_failure(self._state.x, "the objective cannot be evaluated at the start `x0`")
        return Status.FAILED

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
        whole = points == plan.n_points
        self._counts = self._counts.plus(
            queries=plan.cost if whole else points * plan.queries[0].unit_cost,
            points=points,
            gradients=plan.gradients if whole else 0,
            failures=failures,
        )
