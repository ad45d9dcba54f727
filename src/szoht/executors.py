"""Where evaluations run: processes, threads, any `concurrent.futures.Executor`, Dask, Ray."""

from szoht.evaluation.executors import (
    Dask,
    Executor,
    Futures,
    Processes,
    Ray,
    Serial,
    Task,
    Threads,
    WorkerPool,
)

__all__ = [
    "Dask",
    "Executor",
    "Futures",
    "Processes",
    "Ray",
    "Serial",
    "Task",
    "Threads",
    "WorkerPool",
]
