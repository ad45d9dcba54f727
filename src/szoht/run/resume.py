"""`resume`: a stored run is replayed from its answers and then continued."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from functools import partial
from typing import Any

from szoht.algorithms.calibration import Calibration
from szoht.core.algorithm import Algorithm
from szoht.core.objective import Call, Gradient, HasValue, Objective, as_objective
from szoht.errors import ParameterError, RunMismatchError, StartWarning
from szoht.evaluation.executors.base import Executor
from szoht.evaluation.executors.config import resolve_executor
from szoht.evaluation.oracle import Oracle, check_offered
from szoht.evaluation.programs import Program
from szoht.result import Result
from szoht.run.ask_tell import AskTell
from szoht.run.callbacks import Callback, prepare_callbacks
from szoht.run.config import RunConfig
from szoht.run.least_squares_fit import carrying, with_fit
from szoht.run.loop import drive, evaluating
from szoht.run.mapped import map_objective
from szoht.run.outputs import OutputForm, with_outputs
from szoht.stopping import Rule, join_limits
from szoht.store import RunSpec, StoredRun, StoreLike, open_store
from szoht.store.fingerprint import fingerprint, load_function
from szoht.types import Vector

__all__ = ["rebuild", "resume"]


def resume(
    store: StoreLike,
    fun: Call | HasValue | Objective | None = None,
    *,
    run: str | None = None,
    method: Algorithm | None = None,
    stop: Rule | None = None,
    max_queries: int | None = None,
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    target: float | None = None,
    gradient: Gradient = None,
    along: Call | None = None,
    args: tuple[Any, ...] = (),
    workers: int | None = None,
    executor: Executor | futures.Executor | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    min_fraction: float | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    monitor: Callable[[Vector], float] | None = None,
    progress: bool = False,
) -> Result:
    """Continue a run of a store, to the same result as if it had never been interrupted.

    Every answer that is in the store is taken from there. The run is replayed from its start, which
    costs some microseconds per query, so that the iterates, the counts, the history and what
    stop rules remember are the same to the last bit. Where another processor or another version
    asks for other points, by more than rounding, the run goes on from its evaluations, and
    ``result.warnings`` says at which query the replay left off.

    Parameters
    ----------
    store : path or Store
        As given to `minimize`.
    fun : callable or object, optional
        The function of the run. Not needed if it can be imported by its name, as a function of a
        module, or is a `Program`.
    run : str, optional
        The name of the run, ``result.run``; by default the newest that is not finished.
    method, stop
        Needed only where they hold something that is not data, such as a function of the user's.
    max_queries, max_iterations, max_seconds, target
        In place of the limits of the run, to continue one that has reached them.
    gradient, along, args
        As given to `minimize`; functions and their arguments cannot be stored.
    workers, executor, timeout, retries, min_fraction
        As in `minimize`; they may differ from one call to the next.
    callback, monitor, progress
        As in `minimize`. They see the run from its beginning.

    Returns
    -------
    Result
        A finished run gives its result without evaluating anything. For a run of
        `least_squares`, ``fun`` is the cost, and ``fit`` what `least_squares` returns.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import szoht
    >>> def fun(x):
    ...     return float(((x - np.eye(50)[7]) ** 2).sum())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = f"{folder}/runs.db"
    ...     first = szoht.minimize(
    ...         fun, np.zeros(50), k=1, method="szoht", max_queries=100, rng=0, store=store
    ...     )
    ...     more = szoht.resume(store, fun, run=first.run, max_queries=300)
    >>> first.nfev <= 100 < more.nfev <= 300
    True

    Notes
    -----
    Time counts over all calls. The store knows functions by name and code, not by what they find
    in closures and modules: if a number there changes, start a new run.
    """
    limits: dict[str, Any] = {
        "max_queries": max_queries,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "target": target,
    }
    join_limits(**limits, stop=stop, default=1)  # which refuses what is no limit
    workers_config = resolve_executor(
        workers=workers,
        executor=executor,
        timeout=timeout,
        retries=retries,
        min_fraction=min_fraction,
    )
    with open_store(store, create=False) as file, file.lock(run) as stored:
        spec = stored.spec.checked(method=method, stop=stop)
        function = _function(fun, spec)
        spec.check_function(fingerprint(function, args))
        objective = _objective(function, spec, gradient=gradient, along=along, args=args)
        if isinstance(spec.method, Calibration):
            objective = with_outputs(objective, OutputForm.stored(spec.method))
        objective = map_objective(objective, spec.variables, x_as=spec.x_as)
        _check_limits(limits, stored)
        stored.change_limits(spec.with_limits(limits))
        callbacks, displays = prepare_callbacks(
            callback, progress=progress, since=stored.seconds_before
        )
        try:
            rebuilt = rebuild(stored.spec, callback=callbacks, monitor=monitor)
        except RunMismatchError as error:
            if stored.limits_changed and isinstance(error.__cause__, ParameterError):
                raise error.__cause__ from None  # the limits given here are wrong
            raise
        check_offered(objective, rebuilt.algorithm)
        oracle = Oracle(objective=objective, on_error=rebuilt.on_error, chunk_size=spec.chunk_size)
        describe = partial(with_fit, rebuilt)
        with carrying(describe), evaluating(rebuilt, oracle, workers_config, displays) as ready:
            return describe(drive(rebuilt, ready, stored))


def _check_limits(limits: Mapping[str, float | None], stored: StoredRun) -> None:
    """Raise if a limit is below what was spent: the run would seem to have ended earlier."""
    spent: dict[str, float] = {"max_seconds": stored.seconds_before}
    if stored.snapshot is not None:
        counts = stored.snapshot.counts
        spent |= {"max_queries": counts["queries"], "max_iterations": counts["iteration"]}
    for name in spent:
        limit = limits[name]
        if limit is not None and limit < spent[name]:
            raise ParameterError(
                f"`{name}` must be at least what the run has spent, {spent[name]:g}; got "
                f"{name}={limit}. Leave it out to see the result."
            )


def rebuild(
    spec: RunSpec,
    *,
    callback: Callback | Iterable[Callback] | None = None,
    monitor: Callable[[Vector], float] | None = None,
) -> AskTell:
    """Return the run at its start, as it was first made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StartWarning)  # it was given when the run was new
        try:
            config = RunConfig.from_spec(spec)
            return AskTell.from_config(config, callback=callback, monitor=monitor)
        except Exception as error:  # parts that fit no run: no szoht stored them together
            raise RunMismatchError(
                f"the run cannot be rebuilt from what is stored of it: {error}"
            ) from error


def _function(fun: Any, spec: RunSpec) -> Any:
    if fun is not None:
        return fun
    if isinstance(spec.source, Program):
        return spec.source
    if spec.source is None:
        raise ParameterError(
            "`fun` must be given: the function of this run cannot be found by name; got fun=None."
        )
    try:
        return load_function(spec.source)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ParameterError(
            f"`fun` must be given: the function of this run, {spec.source}, cannot be imported "
            f"({error}); got fun=None."
        ) from error


def _objective(
    fun: Any,
    spec: RunSpec,
    *,
    gradient: Gradient,
    along: Call | None,
    args: tuple[Any, ...],
) -> Objective:
    if isinstance(fun, Objective) or callable(getattr(fun, "value", None)):
        objective = as_objective(fun)
    else:
        objective = as_objective(
            fun,
            vectorized=spec.vectorized,
            n_samples=spec.n_samples,
            stochastic=spec.stochastic,
            gradient=gradient,
            along=along,
            args=args,
        )
    if (objective.n_samples, objective.stochastic) != (spec.n_samples, spec.stochastic):
        raise RunMismatchError(
            f"`fun` must have the samples of the stored function, n_samples={spec.n_samples}, "
            f"stochastic={spec.stochastic}; got n_samples={objective.n_samples}, "
            f"stochastic={objective.stochastic}."
        )
    return objective
