"""Ray: evaluation as remote tasks."""

import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from szoht.core.objective import Objective
from szoht.core.query import Plan
from szoht.core.validation import check_integer
from szoht.errors import MissingExtraError, ParameterError
from szoht.evaluation.chunks import ChunkValues
from szoht.evaluation.executors.base import RemoteFuture, WorkerPool
from szoht.evaluation.executors.wire import Task

__all__ = ["Ray"]

SETTLE_SECONDS = 1.0
"""A task is not cancelled before it has had so long to start: Ray ends the whole process, "Tried to
complete task that was not pending", if one is between being sent and being known to run
(github.com/ray-project/ray/issues/54846; seen with 2.60)."""


@dataclass(frozen=True)
class Ray:
    """Evaluates as tasks of a Ray cluster, to which ``ray.init`` has connected.

    Function and base point are put into Ray's object store, from which every node fetches them
    once. A task that hangs past the timeout is ended with its process.

    Parameters
    ----------
    n : int, optional
        How many tasks run at a time; by default as many as the cluster has processors.
    """

    n: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            check_integer("n", self.n, low=1)
        if not _ray().is_initialized():
            raise ParameterError("`executor=Ray()` needs a connection; call `ray.init()` first.")

    def open(self, objective: Objective) -> "RayPool":
        """Put the objective where all workers can fetch it."""
        return RayPool(objective, self.n)


class RayPool(WorkerPool):
    """Tasks on the user's own cluster, which stays up."""

    def __init__(self, objective: Objective, n: int | None) -> None:
        super().__init__(objective)
        self.objective = b""  # tasks do not carry it
        ray = _ray()
        self._ray = ray
        self._n = n
        self._shared_objective = ray.put(ray.cloudpickle.dumps(objective))
        self._shared_plan: Any = None
        self._references: dict[int, tuple[Any, float]] = {}
        # the scheduler retries, for every executor
        self._work = ray.remote(_work_on_ray).options(max_retries=0, num_cpus=1)

    @property
    def size(self) -> int:  # type: ignore[override]
        """How many processors there are."""
        return self._n or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def set_plan(self, plan: Plan) -> None:
        """Put the plan where all workers can fetch it."""
        super().set_plan(plan)
        packed, self.plan = self.plan, b""  # tasks do not carry it
        self._shared_plan = self._ray.put(packed)

    def submit(self, task: Task) -> RemoteFuture:
        """Start a task."""
        reference = self._work.remote(task, self._shared_objective, self._shared_plan)
        self._references[task.number] = reference, time.monotonic()
        future = RemoteFuture(lambda: self._cancel(task.number, force=False))
        reference.future().add_done_callback(lambda done: future.set_outcome(done.result))
        return future

    def kill(self, task: Task, future: "Future[Any]") -> None:
        """Cancel the task and end its process."""
        self._cancel(task.number, force=True)
        future.cancel()

    def close(self) -> None:
        """Cancel unfinished tasks."""
        for number in list(self._references):
            self._cancel(number, force=False)

    def _cancel(self, number: int, *, force: bool) -> None:
        reference, since = self._references.pop(number, (None, 0.0))
        if reference is None:
            return
        with suppress(Exception):
            settle = max(0.0, since + SETTLE_SECONDS - time.monotonic())
            finished, _ = self._ray.wait([reference], timeout=settle)
            if not finished:
                self._ray.cancel(reference, force=force)


def _work_on_ray(task: Task, objective: bytes, plan: bytes) -> tuple[ChunkValues, ...]:
    return replace(task, objective=objective, plan=plan)()


def _ray() -> Any:
    try:
        import ray  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'Evaluating on Ray needs the extra "ray": pip install "szoht[ray]".'
        ) from error
    return ray
