"""Dask: the engine when one machine is not enough."""

import os
import warnings
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from szoht.core.objective import Objective
from szoht.core.query import Plan
from szoht.errors import ExecutorError, MissingExtraError, ParameterTypeError
from szoht.evaluation.chunks import ChunkValues
from szoht.evaluation.executors.base import RemoteFuture, WorkerLostError, WorkerPool
from szoht.evaluation.executors.wire import Task

__all__ = ["Dask"]

INLINE_BYTES = 2**14
"""Up to this size data travel with the task; each worker fetches larger ones once."""


@dataclass(frozen=True, eq=False)
class Dask:
    """Evaluates on a Dask cluster.

    The function and, once per iteration, the base point are sent to every worker; a task is a
    few numbers. When workers die Dask moves their tasks to others; a worker that hangs past the
    timeout is restarted if it has a nanny, as workers have by default.

    Parameters
    ----------
    client : distributed.Client
        Stays yours: it is not closed.
    """

    client: Any

    def __post_init__(self) -> None:
        if not isinstance(self.client, _distributed().Client):
            raise ParameterTypeError(
                f"`client` must be a distributed.Client; got {self.client!r}. "
                'Connect with Client("tcp://scheduler:8786").'
            )

    def open(self, objective: Objective) -> "DaskPool":
        """Send the objective to the workers."""
        return DaskPool(self.client, objective)


class DaskPool(WorkerPool):
    """The workers of a cluster that was passed to us."""

    def __init__(self, client: Any, objective: Objective) -> None:
        super().__init__(objective)
        self.objective = b""  # tasks do not carry it
        self._client = client
        self._addresses: dict[int, str] = {}
        # workers that have never heard of us import us now, before the clock of a task is running
        client.run(_same, b"", on_error="ignore")
        self._ended = 0
        self._since = self._last_event()
        self._threads: dict[str, int] = client.nthreads()
        self._futures: dict[int, Any] = {}
        self._shared_objective = self._spread(_distributed().protocol.pickle.dumps(objective))
        self._shared_plan: Any = None

    @property
    def size(self) -> int:  # type: ignore[override]
        """How many threads the workers have; at least one worker will come sooner or later."""
        return max(1, sum(self._threads.values()))

    def set_plan(self, plan: Plan) -> None:
        """Send the plan to every worker."""
        super().set_plan(plan)
        packed, self.plan = self.plan, b""  # tasks do not carry it
        self._addresses.clear()
        try:
            self._threads = self._client.nthreads()
            self._shared_plan = self._spread(packed)
        except (OSError, TimeoutError) as error:
            raise ExecutorError(f"The Dask scheduler cannot be reached: {error!r}.") from error

    def submit(self, task: Task) -> RemoteFuture:
        """Submit a task of a few numbers."""
        excluded = None if task.after is None else self._addresses.get(task.after)
        elsewhere = [address for address in self._threads if address != excluded]
        choose = excluded is not None and bool(elsewhere)
        remote = self._client.submit(
            _work_on_dask,
            task,
            self._shared_objective,
            self._shared_plan,
            key=f"szoht-{self.run}-{task.number}",
            pure=False,
            workers=elsewhere if choose else None,
            allow_other_workers=choose,
        )
        self._futures[task.number] = remote
        future = RemoteFuture(lambda: _cancel(remote))
        remote.add_done_callback(lambda _: future.settle(lambda: self._result(task.number)))
        return future

    def kill(self, task: Task, future: "Future[Any]") -> None:
        """Cancel the task, and restart the worker that is at it."""
        remote = self._futures.get(task.number)
        busy = [] if remote is None else self._processing(remote.key)
        future.cancel()
        for address in busy:
            # A thread cannot be ended but with its process, and a polite restart waits for it. The
            # nanny starts another one; without a nanny the worker hangs as long as the function.
            self._ended += 1
            self._threads.pop(address, None)
            self._client.run(_end_process, workers=[address], wait=False)

    def n_lost_workers(self) -> int:
        """Return how many workers have died since the pool was opened."""
        removed: int = sum(
            time > self._since and event.get("action") == "remove-worker" and not event["expected"]
            for time, event in self._events()
        )
        return max(0, removed - self._ended)

    def close(self) -> None:
        """Cancel what is going on and let go of what was sent ahead."""
        for remote in list(self._futures.values()):
            _cancel(remote)
        self._futures.clear()
        self._shared_objective = self._shared_plan = None

    def _result(self, number: int) -> tuple[ChunkValues, ...]:
        remote = self._futures.pop(number)
        parts: tuple[ChunkValues, ...]
        try:
            self._addresses[number], parts = remote.result()
        except (CancelledError, Exception) as error:
            final = isinstance(error, _distributed().scheduler.KilledWorker)
            raise WorkerLostError(f"Dask reported {error!r}", final=final) from error
        finally:
            remote.release()
        return parts

    def _spread(self, data: bytes) -> Any:
        """Return the data, or a task that stands for them: each worker fetches its result once.

        Scattered data would be lost with their holders, and spreading them waits for workers that
        have just died; the result of a task is had again by Dask itself.
        """
        if len(data) <= INLINE_BYTES:
            return data
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(_same, data, key=f"szoht-{uuid4().hex}", pure=False)

    def _processing(self, key: str) -> list[str]:
        """Return the workers that are at a task and have a nanny."""
        workers = self._client.scheduler_info()["workers"]
        processing = self._client.processing()
        return [a for a, keys in processing.items() if key in keys and workers[a].get("nanny")]

    def _events(self) -> list[tuple[float, dict[str, Any]]]:
        return [
            (time, event)
            for time, event in self._client.get_events("all") or ()
            if isinstance(event, dict)
        ]

    def _last_event(self) -> float:
        return max((time for time, _ in self._events()), default=0.0)


def _cancel(remote: Any) -> None:
    with suppress(Exception):
        remote.cancel()


async def _end_process() -> None:
    os._exit(1)


def _same(data: bytes) -> bytes:
    return data


def _work_on_dask(task: Task, objective: bytes, plan: bytes) -> tuple[str, tuple[ChunkValues, ...]]:
    worker = _distributed().get_worker()
    key = worker.get_current_task()

    def is_cancelled() -> bool:
        # so it is also when the client has died
        state = worker.state.tasks.get(key)
        return state is None or state.state == "cancelled"

    return worker.address, replace(task, objective=objective, plan=plan)(is_cancelled)


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'Evaluating on Dask needs the extra "dask": pip install "szoht[dask]".'
        ) from error
    return distributed
