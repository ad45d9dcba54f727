"""The configuration of workers, checked before any is started."""

import os
from collections.abc import Iterator
from concurrent import futures
from contextlib import closing, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import cast

from szoht.core.objective import Objective
from szoht.core.validation import check_integer, check_real, shown
from szoht.errors import ParameterError, ParameterTypeError
from szoht.evaluation.executors.base import Executor
from szoht.evaluation.executors.futures import Futures
from szoht.evaluation.executors.processes import Processes
from szoht.evaluation.executors.scheduler import Scheduler

__all__ = ["ExecutorConfig", "count_workers", "resolve_executor"]

DEFAULT_RETRIES = 2
"""How often a chunk is retried unless ``retries`` says otherwise."""


@dataclass(frozen=True, kw_only=True)
class ExecutorConfig:
    """An executor, and the rules by which work is submitted to it."""

    executor: Executor
    timeout: float | None = None
    retries: int = DEFAULT_RETRIES
    min_fraction: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None:
            check_real("timeout", self.timeout, low=0, open_low=True)
        check_integer("retries", self.retries, low=0)
        if self.min_fraction is not None:
            check_real("min_fraction", self.min_fraction, low=0, high=1, open_low=True)

    @contextmanager
    def open(self, objective: Objective) -> Iterator[Scheduler]:
        """Open a pool of workers for one run, and close what was opened."""
        with closing(self.executor.open(objective)) as pool:
            yield Scheduler(
                pool,
                objective,
                timeout=self.timeout,
                retries=self.retries,
                min_fraction=self.min_fraction,
            )


def resolve_executor(
    *,
    workers: int | None,
    executor: Executor | futures.Executor | None,
    timeout: float | None,
    retries: int | None,
    min_fraction: float | None,
) -> ExecutorConfig | None:
    """Return where evaluations run, or None if in the calling thread."""
    chosen = _executor(workers, executor)
    if chosen is None:
        rules = {"timeout": timeout, "retries": retries, "min_fraction": min_fraction}
        for name, value in rules.items():
            if value is not None:
                raise ParameterError(
                    f"`{name}` applies to workers, and there are none; got {name}={shown(value)}. "
                    "Pass `workers=n` or `executor=...` too."
                )
        return None
    return ExecutorConfig(
        executor=chosen,
        timeout=timeout,
        retries=DEFAULT_RETRIES if retries is None else retries,
        min_fraction=min_fraction,
    )


def count_workers(workers: object) -> int:
    """Return how many workers are meant: -1 stands for one per processor."""
    try:
        number = check_integer("workers", workers, low=-1)
    except ParameterError:
        number = 0
    if number == 0:
        raise ParameterError(
            "`workers` must be an integer >= 1, or -1 for one per processor; got "
            f"workers={shown(workers)}."
        )
    return (os.cpu_count() or 1) if number == -1 else number


def _executor(workers: int | None, executor: Executor | futures.Executor | None) -> Executor | None:
    if workers is not None:
        if executor is not None:
            raise ParameterError(
                f"`workers` and `executor` exclude each other; got workers={shown(workers)} and "
                f"executor={shown(executor)}. `workers=n` is short for `executor=Processes(n)`."
            )
        return Processes(count_workers(workers))
    if isinstance(executor, futures.Executor):
        return Futures(executor)
    if executor is None:
        return None
    # classes, modules and paths have a method `open` too
    if not isinstance(cast(object, executor), type | ModuleType | os.PathLike) and isinstance(
        executor, Executor
    ):
        return executor
    raise ParameterTypeError(
        "`executor` must be one of szoht.executors, such as Threads(4) or Dask(client), or a "
        f"concurrent.futures.Executor; got executor={shown(executor)}."
    )
