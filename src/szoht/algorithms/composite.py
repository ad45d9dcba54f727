"""An algorithm composed of parts: sampler x estimator x update(operator, schedule)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast, get_args

import numpy as np

from szoht.core.algorithm import Measured, Memory, State
from szoht.core.operator import Operator
from szoht.core.parts import Estimator, SearchUpdate, Update
from szoht.core.query import Answer, Estimate, Plan, Query, Stage, one_point
from szoht.core.random import Key, Purpose
from szoht.core.validation import check_choice, frozen, shown
from szoht.errors import EvaluationError, ParameterTypeError
from szoht.estimators.chosen_radius import ChosenRadius
from szoht.estimators.within_bounds import within_bounds
from szoht.samplers import Full, Sampler, Snapshots
from szoht.types import IterateChoice, Sample, Vector
from szoht.updates import SnapshotSearch

__all__ = ["Composite"]


@dataclass(frozen=True, kw_only=True)
class Composite:
    """An algorithm made of parts: sampler x estimator x update(operator, schedule).

    Parameters
    ----------
    estimator, update, sampler
        The parts. If the operator of the update has bounds, the estimator probes within them, see
        `WithinBounds`.
    iterate : {"best", "last", "average", "random"}, optional
        Which point is the solution: the best measured iterate (a penalty counts), the last one,
        the mean of all iterates projected onto the operator's set, or one of them drawn
        uniformly. By default the best one, unless the sampler shows a different part of the
        objective in each iteration, so that values of different iterations cannot be compared;
        then the last.
    choose_radius : bool
        Test f for noise before the first iteration, and lengthen the estimator's radius where
        values err, see `ChosenRadius`. Named methods do where no ``mu`` is given.
    """

    estimator: Estimator
    update: Update | SearchUpdate
    sampler: Sampler = Full()
    iterate: IterateChoice | None = None
    choose_radius: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.sampler, type) or not isinstance(self.sampler, Sampler):
            raise ParameterTypeError(
                "`sampler` must be one of szoht.samplers, such as Minibatch(size=32); got "
                f"{shown(self.sampler)}."
            )
        if self.iterate is None:
            comparable = self.sampler.comparable or self._searches_at_snapshots
            default = "best" if comparable else "last"
            object.__setattr__(self, "iterate", default)
        check_choice("iterate", self.iterate, get_args(IterateChoice))

    @cached_property
    def _searches(self) -> bool:
        return hasattr(self.update, "trials")

    @cached_property
    def _searches_at_snapshots(self) -> bool:
        """Whether only values on all components count, those of the snapshots."""
        return isinstance(self.update, SnapshotSearch)

    def _is_search(self, iteration: int) -> bool:
        if isinstance(self.update, SnapshotSearch):
            return self.update.due(iteration)
        return self._searches

    def _is_whole(self, iteration: int) -> bool:
        """Whether an iteration's values may be kept: all of them, or those of all components."""
        if not self._searches_at_snapshots:
            return True
        return not isinstance(self.sampler, Snapshots) or self.sampler.due(iteration)

    @cached_property
    def _has_output(self) -> bool:
        return hasattr(self.update, "output")

    @cached_property
    def _estimator(self) -> Estimator:
        estimator = ChosenRadius(self.estimator) if self.choose_radius else self.estimator
        return within_bounds(estimator, self.operator)

    @property
    def operator(self) -> Operator:
        """The set or penalty that the iterates obey."""
        return self.update.operator

    @property
    def requires(self) -> frozenset[str]:
        """The capabilities of the objective that the parts need."""
        return self.estimator.requires

    def dense_part(self, d: int) -> object | None:
        """Return the first part that cannot keep vectors sparse, or None if all of them can.

        A part that can has a method ``stays_sparse(d)`` and returns True.
        """
        parts = (self.estimator, self.update, self.operator)
        return next((part for part in parts if not _stays_sparse(part, d)), None)

    def init(self, x0: Vector, *, seed: int, n_samples: int | None = None) -> State:
        """Return the state at the start, after checking that all parts fit ``x0``."""
        self.operator.check(x0.size)
        self.estimator.check(x0.size)
        self.sampler.check(n_samples)
        return State(
            seed=seed,
            n_samples=n_samples,
            x=frozen(x0.copy()),
            estimator_memory=self._estimator.init(x0),
            update_memory=self.update.init(x0),
        )

    def ask(self, state: State) -> Plan:
        """Return the estimator's plan, or the candidates of a search."""
        if state.estimate is not None:
            search = cast(SearchUpdate, self.update)
            trials = search.trials(state.x, state.estimate, state.update_memory)
            sample = self._last_sample(state)
            queries = tuple(Query(base=frozen(trial), sample=sample) for trial in trials)
            return Plan(queries=queries, stage=Stage.SEARCH)
        sample = self._sample(state)
        key = Key(seed=state.seed, iteration=state.iteration, round=state.round)
        return self._estimator.plan(state.x, sample, state.estimator_memory, key)

    def tell(self, state: State, plan: Plan, answers: Sequence[Answer]) -> State:
        """Return the state after the plan was answered."""
        if plan.stage is Stage.MEASURE:
            return self._record(state, Measured(plan.queries[0].base, float(answers[0].values[0])))
        if state.estimate is not None:
            search = cast(SearchUpdate, self.update)
            values = np.concatenate([answer.values for answer in answers])
            chosen, memory = search.choose(state.x, state.estimate, values, state.update_memory)
            return self._record(self._advance(state, chosen.x, memory), chosen)
        estimate, memory = self._estimator.combine(plan, answers, state.estimator_memory)
        explanation = getattr(memory, "explanation", state.explanation)
        state = replace(state, estimator_memory=memory, explanation=explanation)
        return (
            replace(state, round=state.round + 1)
            if estimate is None
            else self._move(state, estimate)
        )

    def final_plan(self, state: State) -> Plan | None:
        """Measure the solution, or the newest iterate if it might be a better one."""
        solution = self.solution(state)
        if not solution.exact:
            return one_point(solution.x, self._last_sample(state))
        newest = self._newest(state)
        chosen_otherwise = self.iterate in ("average", "random")
        if chosen_otherwise or (state.measured is not None and state.measured.x is newest):
            return None
        return one_point(newest, self._last_sample(state))

    def reserve(self, state: State) -> int:
        """Return the queries to keep for the final measurement, without which x has no value."""
        unmeasured = self.iterate in ("average", "random")
        inferred = state.measured is not None and not self.solution(state).exact
        needed = unmeasured or inferred or self._searches_at_snapshots
        return one_point(state.x, self._last_sample(state)).cost if needed else 0

    def solution(self, state: State) -> Measured:
        """Return the best, last, average or random iterate, as ``iterate`` says."""
        if self.iterate == "best" and state.best is not None:
            return state.best
        if self.iterate == "last" and state.measured is not None:
            return state.measured
        output = self._newest(state) if state.output is None else state.output
        if self.iterate == "average":
            output = frozen(self.operator.prox(output, 0.0))
        known = state.measured
        if known is not None and np.array_equal(known.x, output):
            return known
        return Measured(output, math.nan, exact=False)

    def _move(self, state: State, estimate: Estimate) -> State:
        if not math.isfinite(estimate.value):
            return self._return_to_best(state)
        state = replace(state, rounding=estimate.rounding, slope=estimate.slope)
        if self._is_whole(state.iteration):
            state = self._record(state, Measured(state.x, estimate.value, estimate.measured))
        else:
            estimate = replace(estimate, value=math.nan)
        if self._is_search(state.iteration):
            if not estimate.gradient.any():  # no direction to search along: sample others
                return self._advance(state, state.x, state.update_memory)
            frozen(estimate.gradient)
            return replace(state, estimate=estimate, round=state.round + 1)
        update = cast(Update, self.update)
        x, memory = update.step(state.x, estimate, state.iteration, state.update_memory)
        return self._advance(state, x, memory)

    def _advance(self, state: State, x: Vector, memory: Memory) -> State:
        return replace(
            state,
            iteration=state.iteration + 1,
            round=0,
            estimate=None,
            x=frozen(x),
            update_memory=memory,
            output=self._output(state, x),
        )

    def _output(self, state: State, x: Vector) -> Vector | None:
        """Return the running mean, or one of the iterates so far, each with probability 1/t."""
        t = state.iteration + 1
        output = state.output
        if self.iterate == "average":
            return frozen(x.copy() if output is None else output + (x - output) / t)
        if self.iterate == "random":
            key = Key(seed=state.seed, iteration=state.iteration)
            taken = key.generator(Purpose.ITERATE).random() < 1 / t
            return frozen(x) if taken or output is None else output
        return None

    def _newest(self, state: State) -> Vector:
        """Return the newest iterate, which need not be where the gradient is estimated."""
        if self._has_output:
            point: Vector = self.update.output(state.update_memory)  # type: ignore[union-attr]
            return point
        return state.x

    def _record(self, state: State, point: Measured) -> State:
        """Remember a measured iterate, and whether it is the best."""
        if not math.isfinite(point.value):
            return state
        best = state.best
        same = best is not None and point.x is best.x and point.exact
        if best is None or same or self._total(point) < self._total(best):
            best = point
        return replace(state, measured=point, best=best)

    def _total(self, point: Measured) -> float:
        """Return the value with the operator's penalty, if it is one."""
        penalty = getattr(self.operator, "value", None)
        return point.value if penalty is None else point.value + float(penalty(point.x))

    def _return_to_best(self, state: State) -> State:
        """Go back to the best known point when the objective fails at the iterate itself."""
        if state.best is None:
            raise EvaluationError(
                "The objective cannot be evaluated at the start `x0`, so there is nothing to "
                "improve on. Choose an `x0` at which it is finite."
            )
        return self._advance(state, state.best.x, state.update_memory)

    def _last_sample(self, state: State) -> Sample:
        """Return the sample on which the solution is measured."""
        if self._searches_at_snapshots:
            return Full().draw(Key(seed=state.seed), state.n_samples)
        return self._sample(state)

    def _sample(self, state: State) -> Sample:
        key = Key(seed=state.seed, iteration=state.iteration)
        sample = self.sampler.draw(key, state.n_samples)
        if sample is not None:
            sample.flags.writeable = False  # all points of a difference share it
        return sample


def _stays_sparse(part: object, d: int) -> bool:
    stays = getattr(part, "stays_sparse", None)
    return stays is not None and bool(stays(d))
