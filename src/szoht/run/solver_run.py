"""A run in the solver's numbers: plans, their answers, and what comes next until it ends."""

import traceback
from collections.abc import Sequence

import numpy as np

from szoht.algorithms.generator import GeneratorAlgorithm
from szoht.core.query import Answer, Plan, one_point
from szoht.errors import EvaluationError, NonFiniteError, ScheduleError
from szoht.evaluation.chunks import ChunkValues, merge
from szoht.result import Failure, Status
from szoht.run.answer import solution
from szoht.run.effects import EffectMeasurement
from szoht.run.endings import cost_with_reserve, final_plan, status_of_ending
from szoht.run.failures import count_failures, finite_only, first_failure, spend
from szoht.run.known import KnownCheck, tell_known
from szoht.run.run_state import RunState
from szoht.types import Vector

__all__ = ["SolverRun"]


class SolverRun(RunState):
    """A run that gives plans in the solver's numbers, and takes answers with the user's values."""

    def arrive(self, part: ChunkValues) -> None:
        """Keep a part of the answers to the plan, in case that it is never answered as a whole."""
        self._arrived.append(part)

    def receive(self, answers: Sequence[Answer], evaluated: Plan | None = None) -> None:
        """Take the answers of `solver_plan`, with values as the user has them.

        ``evaluated`` is the plan with the points as they were evaluated, if these differ from it.
        """
        plan = self.solver_plan()
        self._arrived = []
        if self._measurement is None:
            failed = first_failure(plan, answers, self._counts.points)
            if failed is not None and self.on_error in ("stop", "raise"):
                self._keep(evaluated or plan, finite_only(answers))
                self.fail(failed, spent=plan.n_points)
                return
        failures = count_failures(plan, answers)
        self._spend(plan, plan.n_points, failures)
        if failures:
            answers = finite_only(answers)
        self._keep(evaluated or plan, answers)
        if self._measurement is not None:
            self._effects = self._measurement.effects(answers)
            self._end(self._measurement.status)
        elif self._known_check is not None:
            self._begin_at_best(self._known_check, answers)
        elif self._compared is plan:
            self._advance(None)
        else:
            self._continue(plan, answers)

    def _keep(self, plan: Plan, answers: Sequence[Answer]) -> None:
        self._ledger.record(plan, answers)

    def _continue(self, plan: Plan, answers: Sequence[Answer]) -> None:
        """Tell the algorithm and the callbacks, and decide what comes next."""
        answers = self._view.answers(answers)
        iteration = self._state.iteration
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self._state = self.algorithm.tell(self._state, plan, answers)
        except EvaluationError as error:
            self._set_failure(self._state.x, str(error).rstrip("."))
            self._end(Status.FAILED)
            return
        except Exception as error:
            self._end_by(error)
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
        self._ask_from(chosen.x, chosen.answer if check.sample is None else None)

    def _ask_from(self, x: Vector, answer: Answer | None) -> None:
        """Ask for the next plan; if it is ``x`` alone, whose answer is known, for the one after."""
        plan = self.algorithm.ask(self._state)
        first = plan.queries[0]
        same = plan.n_points == 1 and np.array_equal(first.base, x) and not first.gradient
        if same and answer is not None:
            self._continue(plan, [answer])
        else:
            self._advance(None)

    def fail(self, failure: Failure, *, spent: int) -> None:
        """End the run because a point could not be evaluated; ``spent`` points were."""
        failure = self._view.failure(failure)
        if self.on_error == "raise":
            raise EvaluationError(str(failure)) from failure.exception
        self._cut(spent, failures=1)
        if self._measurement is not None:  # the run had ended already
            self._end(self._measurement.status)
            return
        self._failure = failure
        self._end(Status.FAILED)

    def interrupt(self, *, spent: int = 0, status: Status = Status.INTERRUPTED) -> None:
        """End the run where it stands; ``spent`` points of its plan had begun."""
        if not self.done:
            self._cut(max(spent, sum(part.chunk.n_points for part in self._arrived)))
            self._end(status if self._measurement is None else self._measurement.status)

    def _cut(self, spent: int, failures: int = 0) -> None:
        """Keep what has arrived of the plan, of which ``spent`` points had begun."""
        if self._arrived:
            answers = merge(self._plan, self._arrived)
            failures = max(failures, count_failures(self._plan, answers))
            self._keep(self._plan, finite_only(answers))
            self._arrived = []
        self._spend(self._plan, spent, failures)

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
        except Exception as error:
            self._end_by(error)
            return
        self._needed = cost_with_reserve(self.algorithm, self._state, plan)
        status = status or self._check(self.progress, self._needed) or self._says_nothing()
        if status is None:
            self._plan = self._prepare(self._comparison() or plan)
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

    def _says_nothing(self) -> Status | None:
        """Return the status of a function that is constant, or fails nearly everywhere."""
        return None if self._watch is None else self._watch.status(self._counts)

    def _comparison(self) -> Plan | None:
        """Return a plan to find out whether f is constant, if it seems to be."""
        plan = None
        if self._watch is not None:
            plan = self._watch.comparison(self.algorithm.operator, self.seed)
        if plan is None or not self._rule.affords(self.progress, plan.cost):
            return None
        self._compared = plan
        return plan

    def _conclude(self, status: Status) -> None:
        """End, after a plan that measures what each change is worth, if there is budget for it."""
        found = solution(self.algorithm, self._state, status, self._ledger)
        takes_outputs = "n_outputs" in self.algorithm.requires
        measurement = EffectMeasurement(
            None if takes_outputs else self.config.variables,
            found.x,
            self._view.value(found.value),
            self._plan.queries[0].sample,
            status,
            find=self._ledger.find,
        )
        plan = measurement.plan
        affordable = plan is not None and self._rule.affords(self.progress, plan.cost)
        if plan is None or not affordable or self.on_error == "raise":
            self._effects = measurement.effects()
            self._end(status)
        else:
            self._measurement, self._plan = measurement, plan

    def _status_of_ending(self) -> Status:
        if self._state.best is None:
            self._set_failure(self._state.x, "the objective cannot be evaluated at the start `x0`")
        status = status_of_ending(self._state)
        constant = self._watch is not None and self._ledger.is_constant and self._ledger.n_equal > 1
        return Status.CONSTANT if constant and status.success else status

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

    def _end_by(self, error: Exception) -> None:
        """End the run by an exception of the algorithm: iterates that are not finite, or a bug.

        A schedule is the user's code, so that its error is the user's to see.
        """
        if isinstance(error, ScheduleError):
            raise error
        if isinstance(error, NonFiniteError):
            self._end(Status.DIVERGED)
            return
        self._error = "".join(traceback.format_exception(error))
        self._end(Status.INTERNAL_ERROR)

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

    def _spend(self, plan: Plan, points: int, failures: int) -> None:
        self._counts = spend(self._counts, plan, points, failures)
