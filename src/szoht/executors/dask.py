"""Dask: the engine when one machine is not enough."""

import os
import warnings
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from szoht.errors import ExecutorError, MissingExtraError, ParameterTypeError
from szoht.executors.futures import FutureCrew, LostError
from szoht.executors.parcel import work
from szoht.objective import Objective
from szoht.pieces import Piece, PieceAnswer
from szoht.program_folders import TaskCancelled, task_scope

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

    def open(self, objective: Objective) -> "DaskCrew":
        """Send the objective to the workers."""
        return DaskCrew(self.client, objective)


class DaskCrew(FutureCrew):
    """The workers of a cluster that was passed to us."""

    def __init__(self, client: Any, objective: Objective) -> None:
        super().__init__()
        self._client = client
        self._addresses: dict[int, str] = {}
        # workers that have never heard of us import us now, before the clock of a task is running
        client.run(_same, b"", on_error="ignore")
        self._ended = 0
        self._since = self._last_event()
        self._threads: dict[str, int] = client.nthreads()
        self._objective = self._spread(_distributed().protocol.pickle.dumps(objective))
        self._plan: Any = None

    @property
    def size(self) -> int:
        """How many threads the workers have; at least one worker will come sooner or later."""
        return max(1, sum(self._threads.values()))

    def prepare(self, parcel: bytes) -> None:
        """Send the plan to every worker."""
        self._addresses.clear()
        try:
            self._threads = self._client.nthreads()
            self._plan = self._spread(parcel)
        except (OSError, TimeoutError) as error:
            raise ExecutorError(f"The Dask scheduler cannot be reached: {error!r}.") from error

    def start(self, ticket: int, pieces: tuple[Piece, ...], *, after: int | None) -> Any:
        """Submit a task of a few numbers."""
        spoilt = None if after is None else self._addresses.get(after)
        elsewhere = [address for address in self._threads if address != spoilt]
        return self._client.submit(
            _work_on_dask,
            self.token,
            self._objective,
            self.number,
            self._plan,
            pieces,
            key=f"szoht-{self.token}-{ticket}",
            pure=False,
            workers=elsewhere if spoilt is not None and elsewhere else None,
            allow_other_workers=bool(spoilt is not None and elsewhere),
        )

    def collect(self, ticket: int, future: Any) -> tuple[PieceAnswer, ...]:
        """Return the answers."""
        try:
            self._addresses[ticket], answers = future.result()
        except (CancelledError, Exception) as error:
            final = isinstance(error, _distributed().scheduler.KilledWorker)
            raise LostError(f"Dask reported {error!r}", final=final) from error
        finally:
            future.release()
        checked: tuple[PieceAnswer, ...] = answers
        return checked

    def cancel(self, ticket: int, future: Any, *, force: bool) -> None:
        """Cancel the task; with ``force`` restart the worker that is at it."""
        del ticket
        at_it = self._processing(future.key) if force else []
        with suppress(Exception):
            future.cancel()
        for address in at_it:
            # A thread cannot be ended but with its process, and a polite restart waits for it. The
            # nanny starts another one; without a nanny the worker hangs as long as the function.
            self._ended += 1
            self._threads.pop(address, None)
            self._client.run(_end_process, workers=[address], wait=False)

    def deaths(self) -> int:
        """Return how many workers have died since the crew was opened."""
        removed: int = sum(
            time > self._since and event.get("action") == "remove-worker" and not event["expected"]
            for time, event in self._events()
        )
        return max(0, removed - self._ended)

    def close(self) -> None:
        """Cancel what is going on and let go of what was sent ahead."""
        super().close()
        self._objective = self._plan = None

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


async def _end_process() -> None:
    os._exit(1)


def _same(data: bytes) -> bytes:
    return data


def _work_on_dask(
    token: str, objective: bytes, number: int, parcel: bytes, pieces: tuple[Piece, ...]
) -> tuple[str, tuple[PieceAnswer, ...]]:
    worker = _distributed().get_worker()
    key = worker.get_current_task()

    def cancelled() -> bool:
        # so it is also when the client has died
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    with task_scope(token, 0, cancelled), suppress(TaskCancelled):
        return worker.address, work(token, objective, number, parcel, pieces)
    return worker.address, ()


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'Evaluating on Dask needs the extra "dask": pip install "szoht[dask]".'
        ) from error
    return distributed
