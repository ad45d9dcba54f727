"""Ray: evaluation as remote tasks."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from szoht.core.objective import Objective
from szoht.core.validation import check_integer
from szoht.errors import MissingExtraError, ParameterError
from szoht.executors.futures import FutureCrew, LostError
from szoht.executors.parcel import work
from szoht.pieces import Piece, PieceAnswer

__all__ = ["Ray"]


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

    def open(self, objective: Objective) -> "RayCrew":
        """Put the objective where all workers can fetch it."""
        return RayCrew(objective, self.n)


class RayCrew(FutureCrew):
    """Tasks on a cluster that is not ours to end."""

    def __init__(self, objective: Objective, n: int | None) -> None:
        super().__init__()
        ray = _ray()
        self._ray = ray
        self._n = n
        self._objective = ray.put(ray.cloudpickle.dumps(objective))
        self._plan: Any = None
        self._references: dict[int, Any] = {}
        # trying again is the business of whoever hands out the tickets, for every executor alike
        self._work = ray.remote(work).options(max_retries=0, num_cpus=1)

    @property
    def size(self) -> int:
        """How many processors there are."""
        return self._n or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def prepare(self, parcel: bytes) -> None:
        """Put the plan where all workers can fetch it."""
        self._plan = self._ray.put(parcel)

    def start(self, ticket: int, pieces: tuple[Piece, ...], *, after: int | None) -> Any:
        """Start a task."""
        del after
        reference = self._references[ticket] = self._work.remote(
            self.token, self._objective, self.number, self._plan, pieces
        )
        return reference.future()

    def collect(self, ticket: int, future: Any) -> tuple[PieceAnswer, ...]:
        """Return the answers."""
        self._references.pop(ticket, None)
        try:
            answers: tuple[PieceAnswer, ...] = future.result()
        except Exception as error:
            raise LostError(f"Ray reported {type(error).__name__}") from error
        return answers

    def cancel(self, ticket: int, future: Any, *, force: bool) -> None:
        """Cancel the task; with ``force`` its process is ended."""
        del future
        reference = self._references.pop(ticket, None)
        if reference is not None:
            with suppress(Exception):
                self._ray.cancel(reference, force=force)


def _ray() -> Any:
    try:
        import ray  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'Evaluating on Ray needs the extra "ray": pip install "szoht[ray]".'
        ) from error
    return ray
