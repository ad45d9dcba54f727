"""`AskTell`: a run whose points are evaluated by the caller."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from szoht.core.algorithm import Algorithm
from szoht.core.operator import Operator
from szoht.core.query import Plan
from szoht.core.variable_columns import Named
from szoht.errors import ParameterError
from szoht.evaluation.evaluate import as_gradient, as_values
from szoht.evaluation.oracle import OnError
from szoht.run.always import Always
from szoht.run.callbacks import Callback, as_callbacks
from szoht.run.config import RunConfig
from szoht.run.known import Known
from szoht.run.log import RunLog, log_ending, warn_of_internal_error
from szoht.run.problem import Bounds, Start, VariableOptions
from szoht.run.resumable_run import ResumableRun
from szoht.stopping import Rule
from szoht.types import Vector

__all__ = ["AskTell"]


class AskTell(ResumableRun):
    """A run whose points are evaluated by the caller.

    ``ask`` gives a plan, the same one until ``tell`` has been given its values; the iterates are
    bit for bit those of `minimize` with the same parameters.

    Parameters
    ----------
    x0, k, constraint, always, method, options, rng, on_error, callback, monitor
        As in `minimize`.
    reference, bounds, unit, integer, names, maximize, known
        As in `minimize`: points, values and results are in the user's numbers.
    max_queries, max_iterations, max_seconds, target, stop, plan_width
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

    _asked: tuple[Plan, Plan] | None = None

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
        plan_width: int = 1,
        callback: Callback | Iterable[Callback] | None = None,
        monitor: Callable[[Vector], float] | None = None,
    ) -> None:
        log = RunLog()
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
                plan_width=plan_width,
            ),
            (*as_callbacks(callback), log),
            monitor,
        )
        log.expect(self.query_limit)
        log.begin()

    def ask(self) -> Plan:
        """Return what to evaluate next; the same plan until its values are told."""
        plan = self.solver_plan()
        if self._asked is None or self._asked[0] is not plan:
            self._asked = plan, self._view.plan(plan)
        return self._asked[1]

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
        if self.done:
            result = self.result
            log_ending(result)
            warn_of_internal_error(result)
