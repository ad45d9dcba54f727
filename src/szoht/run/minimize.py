"""`minimize` and `maximize`: a run with a function of the user's."""

from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from functools import partial, wraps
from typing import Any, Literal, ParamSpec

import numpy as np

from szoht.core.algorithm import Algorithm
from szoht.core.objective import Call, Gradient, HasValue, Objective, as_objective
from szoht.core.operator import Operator
from szoht.core.validation import check_choice
from szoht.core.variable_columns import Named
from szoht.errors import ParameterError
from szoht.evaluation.executors.base import Executor
from szoht.evaluation.executors.config import resolve_executor
from szoht.evaluation.oracle import OnError, Oracle, check_capabilities
from szoht.result import Result
from szoht.run.always import Always
from szoht.run.ask_tell import AskTell
from szoht.run.callbacks import Callback, prepare_callbacks
from szoht.run.components import as_components
from szoht.run.config import RunConfig
from szoht.run.known import Known
from szoht.run.loop import drive_new, evaluating
from szoht.run.mapped import XForm, check_x_as, map_objective
from szoht.run.primed_oracle import PrimedOracle
from szoht.run.problem import Bounds, Start, VariableOptions
from szoht.stopping import Rule
from szoht.store import StoreLike
from szoht.types import Vector

__all__ = ["maximize", "minimize"]

P = ParamSpec("P")


def minimize(
    fun: Call | HasValue | Objective,
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
    vectorized: bool = False,
    n_samples: int | None = None,
    stochastic: bool = False,
    gradient: Gradient = None,
    jac: Gradient = None,
    along: Call | None = None,
    args: tuple[Any, ...] = (),
    x_as: XForm = "array",
    returns: Literal["value", "components"] = "value",
    on_error: OnError | None = None,
    chunk_size: int | None = None,
    workers: int | None = None,
    executor: Executor | futures.Executor | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    min_fraction: float | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    monitor: Callable[[Vector], float] | None = None,
    progress: bool = False,
    store: StoreLike | None = None,
    known: Known = None,
    plan_width: int = 1,
) -> Result:
    """Minimize a black-box function under a sparsity constraint: min f(x), ||x||_0 <= k.

    Parameters
    ----------
    fun : callable, or object with a method ``value(x, sample)``
        ``fun(x) -> float``; see `as_objective` for objects.
    x0 : Variables, or array of shape (d,)
        Variables have nominal values, bounds, units and names: at most k of them are changed. An
        array is the start, finite; zeros are usual, and at most k of its entries are not
        zero. Projected onto the constraint, with a warning, if
        outside it. A `SparseVector` or SciPy sparse vector keeps the iterates sparse whatever d
        is; ``fun`` then reads its argument by ``x[indices]``.
    k : int or str
        At most this many entries of x are non-zero, in [1, d]; short for
        ``constraint=Sparse(k)``. If neither is given, the default method walks a path over k and
        chooses the knee; see ``result.path``. "aic", "bic", "ebic" and "cv" (five-fold
        cross-validation) choose another point of it, for a mean loss over ``n_samples``.
    constraint : Operator
        A set or penalty in place of ``Sparse(k)``, such as ``SparseBox(k, low, high)``, on x. With
        variables, sets that count do so from the nominal values, and other sets need nominal values
        of zero and equal units.
    always : sequence of int or str
        Variables, by number or name, that are free and not counted beside the k of `Sparse` or
        `SparseBox`: intercepts, diagonals.
    reference, bounds, unit, integer, names
        Short for `Variables`. ``reference`` are the values from which changes are counted, zero
        by default; ``bounds`` are SciPy's `Bounds`, pairs (low, high), None for no bound, or one
        pair for all; ``unit`` is a natural change of each variable; ``integer`` says which are
        integers; ``names`` are theirs, and those of a pandas Series or a dict are its index or
        its keys.
    maximize : bool
        Maximize instead; `szoht.maximize` is short for it. Values keep their sign everywhere.
    method : str or Algorithm
        A name in `szoht.algorithms.METHODS`, or an algorithm object, which then holds the
        constraint itself, in the solver's units. The default needs no parameters;
        ``result.explain`` says what it did.
    options : dict
        Parameters of the named method, such as ``{"q": 50, "mu": 1e-4}``.
    max_queries : int
        The budget, never exceeded. A point on a sample of size b costs b. Without any limit, the
        larger of 10,000 queries and 100 plans.
    max_iterations, max_seconds, target
        Other limits, and the value at which to stop.
    stop : Rule
        Rules of `szoht.stopping` joined with ``|``, besides the limits above.
    rng : None, int, Generator or SeedSequence
        The same integer gives the same run, bit for bit. ``result.seed`` repeats any run.
    vectorized : bool
        ``fun`` takes points of shape (m, d) and returns (m,).
    n_samples : int
        ``fun(x, sample)`` is a mean over the components listed in ``sample``, of which there are
        this many. Most methods draw minibatches of 32; the default solves on growing parts.
    stochastic : bool
        ``fun(x, sample)`` takes its noise from ``sample``, integers by default drawn by
        ``Seeds()``. All points of one difference share one sample.
    gradient, jac : callable, or True
        ``gradient(x) -> (d,)``; True says that ``fun`` returns ``(value, gradient)``. The default
        method then takes slopes from gradients, after it has compared one with differences. ``jac``
        is SciPy's name for it. ``result.njev`` counts gradients. Gradients that come with an
        `Objective`, as with the problems of the library, serve first-order methods only.
    along : callable
        ``along(x, indices, offsets) -> (m,)``, for functions that know how to answer at x plus
        sparse offsets; see `as_objective`.
    args : tuple
        Passed to ``fun``, ``gradient`` and ``along`` after their own arguments.
    x_as : {"array", "series", "dict"}
        What ``fun`` is given: an array, or numbers by name, as a pandas Series or a dict.
    returns : {"value", "components"}
        What ``fun`` returns: its value, or an array of components >= 0, such as squared errors or
        the losses of single samples, whose mean is minimized. All of them are learned from, by
        Gauss-Newton as in `least_squares`, with the default method and sets that count.
    on_error : {"stop", "skip", "raise"}, optional
        When f raises or returns something else than a finite real number: end the run with a
        status and the best point so far; skip the point and count it; or raise. By default such
        points are skipped, with a warning for the first one, but an exception at ``x0`` is
        raised, and so are NameError, ImportError, AttributeError, SyntaxError and TypeError. An
        answer at ``x0`` that is no number (None, an array, a string) is an `EvaluationError`.
    chunk_size : int
        Points per call of a vectorized function; by default as many as fit 4 MB.
    workers : int
        Evaluate on this many processes of this machine, -1 for one per processor. The iterates
        stay the same, bit for bit. A script must then start the run below
        ``if __name__ == "__main__":``.
    plan_width : int
        For method "auto": how many points can be evaluated at the same time, >= 1. Plans are filled
        up to a multiple of it by points that may be needed next, which takes more queries in fewer
        rounds. Unlike ``workers``, it changes which points are asked, and is stored with the run.
    executor : szoht.executors.Executor or concurrent.futures.Executor
        Evaluate by workers of `szoht.executors.Threads`, `Processes`, `Dask` or `Ray`, or by any
        pool of `concurrent.futures`, which is not closed.
    timeout : float
        Seconds that a worker may take for one call of the function, > 0.
    retries : int
        How often a chunk of points is retried, on another worker, after its worker died, hung past
        the timeout or raised; 2 by default. After that ``on_error`` decides.
    min_fraction : float
        Continue once this share of the directions of an estimate has been evaluated, in (0, 1]; the
        estimate is rescaled. Runs are then not bit-identical; off by default.
    callback : callable or several
        ``callback(progress)`` after each iteration, and with the default method after each plan,
        the first of which measures ``x0``; returning True or raising StopIteration ends the run.
        See `szoht.result.Progress`.
    monitor : callable
        ``monitor(x) -> float`` is recorded for each iterate, neither counted nor timed.
    progress : bool
        Show a live bar; needs the extra ``cli``.
    store : path or Store
        Keep the run in this file: every answer is on the disk before it is used, and `resume`
        continues from there. ``result.run`` is the run's name.
    known : pair (points, values), path of a CSV file, or a store
        Evaluations from before, in your numbers. The best point that the constraint allows is
        measured beside ``x0``, and the run starts from the better of both; a stated value that is
        far from the measured one is warned about. A CSV file has a header, a column for each
        variable, and one called ``value``. Of a store, the evaluations of its runs count.

    Returns
    -------
    Result
        With ``x``, ``fun``, ``support``, ``nfev``, ``nit``, ``success``, ``status``, ``message``,
        ``history``, ``evaluations`` and more. Where values are repeatable, the answer of the
        default method is the best allowed point that was evaluated, however the run ends. A
        KeyboardInterrupt, or an exception of ``fun`` that is raised, carries it as ``result``.

    Examples
    --------
    >>> import numpy as np
    >>> import szoht
    >>> target = np.zeros(200)
    >>> target[[7, 60, 150]] = [1.0, -0.5, 2.0]
    >>> result = szoht.minimize(
    ...     lambda x: float(((x - target) ** 2).sum()), np.zeros(200), k=3, max_queries=2_000, rng=0
    ... )
    >>> result.support
    array([  7,  60, 150])
    >>> result.nfev <= 2_000
    True
    """
    if jac is not None and gradient is not None:
        raise ParameterError("`jac` is another name for `gradient`: give one of them.")
    objective = as_objective(
        fun,
        vectorized=vectorized,
        n_samples=n_samples,
        stochastic=stochastic,
        gradient=jac if gradient is None else gradient,
        along=along,
        args=args,
    )
    check_x_as(x_as, objective)
    workers_config = resolve_executor(
        workers=workers,
        executor=executor,
        timeout=timeout,
        retries=retries,
        min_fraction=min_fraction,
    )
    variable_options = VariableOptions(
        reference=reference, bounds=bounds, unit=unit, integer=integer, names=names
    )
    first = None
    if check_choice("returns", returns, ("value", "components")) == "components":
        others = {
            "method": "" if method == "auto" else method,
            "options": options,
            "maximize": maximize,
            "known": known,
            "gradient": gradient,
            "jac": jac,
            "along": along,
            "always": always,
            "k": k if isinstance(k, str) else None,
            "stochastic": objective.stochastic,
        }
        method, objective, first = as_components(
            objective,
            x0,
            k=None if isinstance(k, str) else k,
            constraint=constraint,
            variable_options=variable_options,
            x_as=x_as,
            max_queries=max_queries,
            others=others,
        )
        k = constraint = None
    config = RunConfig.of(
        x0,
        k=k,
        constraint=constraint,
        always=always,
        variable_options=variable_options,
        maximize=maximize,
        x_as=x_as,
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
        n_samples=objective.n_samples,
        stochastic=objective.stochastic,
        has_gradient=gradient is not None or jac is not None,
        on_error=on_error,
        known=known,
        plan_width=plan_width,
    )
    objective = map_objective(objective, config.variables, x_as=x_as)
    oracle = Oracle(objective=objective, on_error=on_error, chunk_size=chunk_size)
    if first is not None:
        oracle = PrimedOracle(**vars(oracle), first=first)
    callbacks, displays = prepare_callbacks(callback, progress=progress)
    run = AskTell.from_config(config, callback=callbacks, monitor=monitor)
    check_capabilities(objective, run.algorithm, run.solver_plan())
    spec = partial(config.spec, fun, args=args, vectorized=vectorized, chunk_size=chunk_size)
    with evaluating(run, oracle, workers_config, displays) as ready:
        return drive_new(run, ready, store, spec)


def _as_maximizer(minimizer: Callable[P, Result]) -> Callable[P, Result]:
    @wraps(minimizer)
    def maximize(*args: P.args, **kwargs: P.kwargs) -> Result:
        kwargs["maximize"] = True
        return minimizer(*args, **kwargs)

    maximize.__name__ = maximize.__qualname__ = "maximize"
    maximize.__doc__ = """Maximize a black-box function: `minimize` with ``maximize=True``.

    ``target`` is then reached from below; ``result.fun``, the history, callbacks, stores and
    reports hold the function's own values, and the best of them is the highest.

    Examples
    --------
    >>> import numpy as np
    >>> import szoht
    >>> peak = np.zeros(100)
    >>> peak[[3, 50]] = [1.0, -2.0]
    >>> result = szoht.maximize(
    ...     lambda x: 7.0 - float(((x - peak) ** 2).sum()), np.zeros(100), k=2, target=6.999, rng=0
    ... )
    >>> bool(6.999 <= result.fun <= 7.0)
    True
    """
    return maximize


maximize = _as_maximizer(minimize)
