"""`least_squares`: sparse calibration of a function that returns many numbers."""

from collections.abc import Callable, Iterable
from concurrent import futures
from functools import partial
from typing import Any

import numpy as np

from szoht.algorithms.calibration.path import Criterion
from szoht.algorithms.calibration.residuals import Loss
from szoht.core.objective import Call, HasValue, Objective, as_objective
from szoht.core.variable_columns import Named
from szoht.evaluation.executors.base import Executor
from szoht.evaluation.executors.config import resolve_executor
from szoht.evaluation.oracle import OnError, check_capabilities
from szoht.run.ask_tell import AskTell
from szoht.run.callbacks import Callback, prepare_callbacks
from szoht.run.least_squares_fit import as_least_squares, carrying, check_level
from szoht.run.least_squares_problem import LeastSquaresProblem
from szoht.run.least_squares_result import LeastSquaresResult
from szoht.run.loop import drive_new, evaluating
from szoht.run.mapped import XForm, check_x_as, map_objective
from szoht.run.outputs import ObservedData, with_outputs
from szoht.run.primed_oracle import PrimedOracle
from szoht.run.problem import Bounds, Start, VariableOptions
from szoht.stopping import Rule
from szoht.store import StoreLike
from szoht.types import Vector

__all__ = ["LeastSquaresAskTell", "least_squares"]


def least_squares(
    fun: Call | HasValue | Objective,
    x0: Start,
    *,
    k: int | Criterion = 5,
    observed: Any = None,
    sigma: Any = None,
    loss: Loss = "linear",
    f_scale: float = 1.0,
    bounds: Bounds = None,
    unit: Named = None,
    integer: Named = None,
    names: Iterable[str] | None = None,
    max_queries: int | None = None,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    target: float | None = None,
    stop: Rule | None = None,
    rng: int | np.random.Generator | np.random.SeedSequence | None = None,
    vectorized: bool = False,
    args: tuple[Any, ...] = (),
    x_as: XForm = "array",
    on_error: OnError | None = None,
    chunk_size: int | None = None,
    workers: int | None = None,
    executor: Executor | futures.Executor | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    monitor: Callable[[Vector], float] | None = None,
    progress: bool = False,
    store: StoreLike | None = None,
    level: float = 0.95,
) -> LeastSquaresResult:
    """Calibrate a function that returns many numbers by changing at most k of its d variables.

    Minimizes ``0.5 * sum(rho(((fun(x) - observed) / sigma) ** 2))`` from values alone. All outputs
    of a simulation are learned from, which takes a small fraction of the simulations that their
    sum of squares needs.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns an array of shape (m,), or numbers by name as a dict or pandas Series;
        always the same outputs. Outputs that are NaN are missing: those that the start has count
        more than they did there, so that nothing is gained by losing them.
    x0 : Variables, or array of shape (d,)
        The nominal values, from which changes are counted, and where the run begins.
    k : int, "bic" or "chi2"
        At most this many variables are changed; more than there are means all. "bic" finds the
        number, at most 10, with the least Bayesian information criterion, extended by the number
        of ways in which so many can be chosen; "chi2" the least number whose misfit the errors of
        the measurements explain, without one more that lowers it by more than chance, which needs
        ``sigma``. ``result.path`` has the best answer for each number that was tried, brought to
        the minimum of its support before they are compared.
    observed : array of shape (m,), dict or Series, optional
        The measurements, NaN where one is missing; by default zeros. By name, if outputs are.
    sigma : float, array of shape (m,), dict or Series, optional
        Their standard deviations, > 0; by default one. They are what a success is tested by, and
        a warning tells which would fit if these do not.
    loss, f_scale
        As in SciPy: "linear", "soft_l1", "huber" or "cauchy", and where outliers begin, in
        residuals.
    bounds, unit, integer, names
        As in `minimize`.
    max_queries : int
        The most simulations; by default 100 + 20 k (1 + ln(d / k)). Before a success is claimed,
        each variable that was not moved alone at the answer is, one simulation each; where fewer
        are left, the run ends as QUERIES, with the same answer, and goes on if they are raised.
    max_iterations, max_seconds, target, stop
        As in `minimize`; an iteration is a move, and ``target`` is a cost.
    rng, args, x_as, on_error, callback, monitor, progress, store
        As in `minimize`.
    vectorized, chunk_size
        ``fun`` takes points of shape (n, d) and returns (n, m), so many points at once.
    workers, executor, timeout, retries
        As in `minimize`. Probes come in batches, moves one by one.
    level : float
        The probability of confidence intervals, which are linearized at the answer, and hold at
        its support.

    Returns
    -------
    LeastSquaresResult
        With ``x``, ``cost``, ``fun``, ``jac``, ``support``, ``changes``, ``intervals``,
        ``alternatives`` and more.

    Examples
    --------
    Two of 200 variables, from 12 outputs:

    >>> import numpy as np
    >>> import szoht
    >>> jacobian = np.zeros((12, 200))
    >>> jacobian[:, ::10] = np.random.default_rng(0).standard_normal((12, 20))
    >>> truth = np.zeros(200)
    >>> truth[[30, 70]] = [0.8, -0.5]
    >>> def simulate(x):
    ...     return np.tanh(jacobian @ x / 4)
    >>> result = szoht.least_squares(
    ...     simulate, np.zeros(200), k=2, observed=simulate(truth), sigma=0.01, rng=0
    ... )
    >>> result.support, result.success
    (array([30, 70]), True)

    Notes
    -----
    Sensing takes some 8 + k ln(d / k) / ln(1 + min(m, k)) simulations, each of which changes all
    variables a little, a move one, and the claim of a success one for each variable: of the example
    above, less than 60 to the answer and 200 to the claim. `docs/calibration.md` tells how it
    decides.
    """
    check_level(level)
    objective = as_objective(fun, vectorized=vectorized, args=args)
    check_x_as(x_as, objective)
    workers_config = resolve_executor(
        workers=workers, executor=executor, timeout=timeout, retries=retries, min_fraction=None
    )
    problem = LeastSquaresProblem.of(
        x0,
        k=k,
        variable_options=VariableOptions(bounds=bounds, unit=unit, integer=integer, names=names),
        measurements=ObservedData.of(observed, sigma),
    )
    form, first = problem.output_form(objective, x_as)
    limits = {
        "max_queries": max_queries,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "target": target,
    }
    config = problem.config(
        form,
        loss=loss,
        f_scale=f_scale,
        limits=limits,
        stop=stop,
        rng=rng,
        on_error=on_error,
        x_as=x_as,
    )
    objective = map_objective(with_outputs(objective, form), problem.variables, x_as=x_as)
    oracle = PrimedOracle(
        objective=objective, on_error=on_error, chunk_size=chunk_size, first=first
    )
    callbacks, displays = prepare_callbacks(callback, progress=progress)
    run = AskTell.from_config(config, callback=callbacks, monitor=monitor)
    check_capabilities(objective, run.algorithm, run.solver_plan())
    spec = partial(config.spec, fun, args=args, vectorized=vectorized, chunk_size=chunk_size)
    describe = partial(as_least_squares, run, level=level)
    with carrying(describe), evaluating(run, oracle, workers_config, displays) as ready:
        return describe(drive_new(run, ready, store, spec))


class LeastSquaresAskTell(AskTell):
    """A run of `least_squares` whose points are simulated by the caller.

    ``tell`` takes outputs of shape (n_points, m). ``result`` is the run so far, its values costs;
    ``fit`` is what `least_squares` returns.

    Examples
    --------
    >>> import numpy as np
    >>> target = np.array([0.0, 0.0, 2.0, 0.0, -1.0, 0.0])
    >>> matrix = np.random.default_rng(0).standard_normal((4, 6))
    >>> run = LeastSquaresAskTell(np.zeros(6), k=2, observed=matrix @ target, rng=0)
    >>> while not run.done:
    ...     run.tell(run.ask().points() @ matrix.T)
    >>> run.fit.support
    array([2, 4])
    """

    def __init__(
        self,
        x0: Start,
        *,
        k: int | Criterion = 5,
        observed: Any = None,
        sigma: Any = None,
        loss: Loss = "linear",
        f_scale: float = 1.0,
        bounds: Bounds = None,
        unit: Named = None,
        integer: Named = None,
        names: Iterable[str] | None = None,
        max_queries: int | None = None,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        target: float | None = None,
        stop: Rule | None = None,
        rng: int | np.random.Generator | np.random.SeedSequence | None = None,
        on_error: OnError | None = None,
        callback: Callback | Iterable[Callback] | None = None,
        monitor: Callable[[Vector], float] | None = None,
    ) -> None:
        problem = LeastSquaresProblem.of(
            x0,
            k=k,
            variable_options=VariableOptions(
                bounds=bounds, unit=unit, integer=integer, names=names
            ),
            measurements=ObservedData.of(observed, sigma),
        )
        limits = {
            "max_queries": max_queries,
            "max_iterations": max_iterations,
            "max_seconds": max_seconds,
            "target": target,
        }
        config = problem.config(
            None, loss=loss, f_scale=f_scale, limits=limits, stop=stop, rng=rng, on_error=on_error
        )
        self._begin(config, callback, monitor)

    @property
    def fit(self) -> LeastSquaresResult:
        """What is known about the best point so far."""
        return as_least_squares(self, self.result)
