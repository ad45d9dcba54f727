"""`resume`: a stored run goes on where it was, by having the same conversation again."""

import warnings
from collections.abc import Callable, Iterable
from concurrent import futures
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

from szoht.core.algorithm import Algorithm
from szoht.core.objective import Call, HasValue, Objective, as_objective
from szoht.errors import ParameterError, RunMismatchError, StartWarning
from szoht.evaluation.executors.base import Executor
from szoht.evaluation.executors.config import resolve_executor
from szoht.evaluation.oracle import OnError, Oracle
from szoht.evaluation.programs import Program
from szoht.result import Result
from szoht.run.ask_tell import AskTell
from szoht.run.callbacks import Callback, ProgressBar, as_callbacks
from szoht.run.loop import drive
from szoht.stopping import Rule
from szoht.store import Settings, StoreLike, opened
from szoht.store.fingerprint import find, fingerprint
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
    gradient: Call | None = None,
    along: Call | None = None,
    workers: int | None = None,
    executor: Executor | futures.Executor | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    min_fraction: float | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    monitor: Callable[[Vector], float] | None = None,
    progress: bool = False,
) -> Result:
    """Go on with a run of a store, to the same end as if it had never been interrupted.

    Every answer that is in the store is taken from there. The run is had again from its start,
    which costs some microseconds per query, so that the iterates, the counts, the history and what
    stop rules remember are the same to the last bit.

    Parameters
    ----------
    store : path or Store
        As given to `minimize`.
    fun : callable or object, optional
        The function of the run. It may be left out if it can be had by its name: a function of a
        module, or a `Program`.
    run : str, optional
        The name of the run, ``result.run``; by default the newest that is not finished.
    method, stop
        Needed only where they hold something that is not data, such as a function of the user's.
    max_queries, max_iterations, max_seconds, target
        In place of the limits of the run, to go on with one that has reached them.
    gradient, along
        As given to `minimize`; functions cannot be stored.
    workers, executor, timeout, retries, min_fraction
        As in `minimize`; they may differ from one sitting to the next.
    callback, monitor, progress
        As in `minimize`. They see the run from its beginning.

    Returns
    -------
    Result
        A finished run gives its result without evaluating anything.

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
    Time counts over all sittings. The store knows functions by name and code, not by what they
    find in closures and modules: whoever changes a number there must start a new run.
    """
    limits = {
        "max_queries": max_queries,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
        "target": target,
    }
    config = resolve_executor(
        workers=workers,
        executor=executor,
        timeout=timeout,
        retries=retries,
        min_fraction=min_fraction,
    )
    with ExitStack() as stack:
        file = stack.enter_context(opened(store, create=False))
        sitting = stack.enter_context(file.sit(run))
        settings = sitting.settings.checked(method=method, stop=stop)
        function = _function(fun, settings)
        settings.check_function(fingerprint(function))
        objective = _objective(function, settings, gradient=gradient, along=along)
        oracle = Oracle(
            objective=objective,
            on_error=cast(OnError, settings.on_error),
            chunk_size=settings.chunk_size,
        )
        sitting.extend(settings.with_limits(limits))
        callbacks = list(as_callbacks(callback))
        bar = ProgressBar() if progress else None
        if bar is not None:
            callbacks.append(bar)
        try:
            again = rebuild(sitting.settings, callback=callbacks, monitor=monitor)
        except RunMismatchError as error:
            if sitting.extended and isinstance(error.__cause__, ParameterError):
                raise error.__cause__ from None  # it is about the limits given here
            raise
        if config is not None:
            scheduler = stack.enter_context(config.open(objective))
            oracle = replace(oracle, scheduler=scheduler)
        if bar is not None:
            bar.expect(again.query_limit)
            stack.enter_context(bar)
        return drive(again, oracle, sitting)


def rebuild(
    settings: Settings,
    *,
    callback: Callback | Iterable[Callback] | None = None,
    monitor: Callable[[Vector], float] | None = None,
) -> AskTell:
    """Return the run at its start, as it was first made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StartWarning)  # it was given when the run was new
        try:
            return AskTell(
                settings.x0,
                method=cast(Algorithm, settings.method),
                stop=settings.stop,
                rng=settings.seed,
                n_samples=settings.n_samples,
                stochastic=settings.stochastic,
                on_error=cast(OnError, settings.on_error),
                callback=callback,
                monitor=monitor,
                **cast(dict[str, Any], settings.limits),
            )
        except Exception as error:  # parts that fit no run: no szoht stored them together
            raise RunMismatchError(
                f"the run cannot be made again from what is stored of it: {error}"
            ) from error


def _function(fun: Any, settings: Settings) -> Any:
    if fun is not None:
        return fun
    if isinstance(settings.source, Program):
        return settings.source
    if settings.source is None:
        raise ParameterError(
            "`fun` must be given: the function of this run cannot be had by its name; got fun=None."
        )
    try:
        return find(settings.source)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ParameterError(
            f"`fun` must be given: the function of this run, {settings.source}, cannot be imported "
            f"({error}); got fun=None."
        ) from error


def _objective(
    fun: Any, settings: Settings, *, gradient: Call | None, along: Call | None
) -> Objective:
    if isinstance(fun, Objective) or callable(getattr(fun, "value", None)):
        objective = as_objective(fun)
    else:
        objective = as_objective(
            fun,
            vectorized=settings.vectorized,
            n_samples=settings.n_samples,
            stochastic=settings.stochastic,
            gradient=gradient,
            along=along,
        )
    if (objective.n_samples, objective.stochastic) != (settings.n_samples, settings.stochastic):
        raise RunMismatchError(
            f"`fun` must have the samples of the stored function, n_samples={settings.n_samples}, "
            f"stochastic={settings.stochastic}; got n_samples={objective.n_samples}, "
            f"stochastic={objective.stochastic}."
        )
    return objective
