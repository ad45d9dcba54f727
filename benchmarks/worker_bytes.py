"""Bytes that a Dask worker receives and sends per direction, beside what the paper's remark says.

Section 3: "in the distributed setting [...] each worker would just need to sample an s2-sparse
random vector". Three ways to bring a direction to a worker are measured on a cluster of this
machine: as a dense vector, as indices and values, and as the library does it, by the address from
which the worker draws it. Bytes are those that Dask counts itself when it writes to its sockets.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from core import sized

from szoht import minimize
from szoht.executors import Dask
from szoht.types import Indices, Vector

N_WORKERS = 2
D, Q, K = sized((100_000, 40, 10), (1_000, 8, 2))
ITERATIONS = sized(5, 1)
SUPPORT_SIZES = sized((10, 100, 1_000, 10_000), (10, 100))
INDEX, VALUE = 4, 8  # bytes of a 32-bit index and of a double


def objective(x: Vector) -> float:
    return float(x @ x)


def sparse_difference(indices: Indices, values: Vector) -> float:
    x = np.zeros(D)
    x[indices] = values
    return objective(x)


@dataclass(frozen=True)
class Traffic:
    """Bytes that the workers got and gave."""

    received: int
    sent: int

    def __sub__(self, other: "Traffic") -> "Traffic":
        return Traffic(self.received - other.received, self.sent - other.sent)


@contextmanager
def cluster() -> Iterator[tuple[Any, Any]]:
    """Start a scheduler in this process and two worker processes; stop them at the end."""
    from distributed import Client, LocalCluster  # noqa: PLC0415

    local = LocalCluster(  # type: ignore[no-untyped-call]
        host="127.0.0.1",
        n_workers=N_WORKERS,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
    )
    with local as running, Client(running) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(N_WORKERS, timeout=60)
        yield client, running.scheduler


def _sent_by_worker(dask_worker: Any) -> int:
    return int(dask_worker.batched_stream.byte_count)


def _fetched_by_worker(dask_worker: Any) -> int:
    return sum(int(entry["total"]) for entry in dask_worker.transfer_incoming_log)


def traffic(client: Any, scheduler: Any) -> Traffic:
    """Return the bytes since the cluster started: from the scheduler, and between workers."""
    received = sum(stream.byte_count for stream in scheduler.stream_comms.values())
    received += sum(client.run(_fetched_by_worker).values())
    return Traffic(received, sum(client.run(_sent_by_worker).values()))


def measured(client: Any, scheduler: Any, work: Callable[[], int]) -> Traffic:
    """Return the bytes of some work per direction, of which the work returns the number."""
    before = traffic(client, scheduler)
    count = work()
    spent = traffic(client, scheduler) - before
    return Traffic(round(spent.received / count), round(spent.sent / count))


def send_sparse(client: Any, size: int) -> int:
    rng = np.random.default_rng(0)
    futures = []
    for _ in range(Q):
        indices = rng.choice(D, size, replace=False).astype(np.int32)
        futures.append(
            client.submit(sparse_difference, indices, rng.standard_normal(size), pure=False)
        )
    client.gather(futures)
    return Q


def send_dense(client: Any) -> int:
    rng = np.random.default_rng(0)
    few = max(2, Q // 8)  # each of them is as large as all sparse ones together
    client.gather(
        [client.submit(objective, rng.standard_normal(D), pure=False) for _ in range(few)]
    )
    return few


def send_addresses(client: Any, size: int) -> int:
    """Run the library: per iteration, the iterate once for each worker and a task per value."""
    result = minimize(
        objective,
        np.zeros(D),
        k=K,
        method="szoht",
        options={"q": Q, "step_size": 1e-3, "support_size": size, "mu": 1e-4, "iterate": "last"},
        max_iterations=ITERATIONS,
        executor=Dask(client),
        rng=0,
    )
    return result.nfev


def main() -> None:
    """Print the bytes per direction, measured and by the formula."""
    print(f"d = {D}, q = {Q}, k = {K}, {N_WORKERS} workers; bytes per direction")
    print("| direction as | formula | received | beyond it | sent back |\n|---|---|---|---|---|")
    with cluster() as (client, scheduler):

        def row(name: str, formula: int, work: Callable[[], int]) -> None:
            found = measured(client, scheduler, work)
            beyond = found.received - formula
            print(
                f"| {name} | {formula} | {found.received} | {beyond} | {found.sent} |", flush=True
            )

        send_addresses(client, SUPPORT_SIZES[0])  # workers import what they need
        row("dense vector, 8 d", VALUE * D, partial(send_dense, client))
        for size in SUPPORT_SIZES:
            formula = (INDEX + VALUE) * size
            row(
                f"indices and values, 12 s2, s2 = {size}",
                formula,
                partial(send_sparse, client, size),
            )
        for size in SUPPORT_SIZES:
            row(f"address (szoht), s2 = {size}", 0, partial(send_addresses, client, size))


if __name__ == "__main__":
    main()
