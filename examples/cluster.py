"""A Dask cluster on this machine: a scheduler and two workers as processes, and a job for them.

Run with ``make demo-cluster``. With the scheduler of a real cluster, only these
lines are needed: ``Client(address)`` and ``executor=szoht.executors.Dask(client)``.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from distributed import Client

import szoht

N_KNOBS, SECONDS = 200, 0.04
TRUTH = np.zeros(N_KNOBS)
TRUTH[[7, 60, 150]] = [1.0, -0.5, 2.0]


def simulate(x: np.ndarray) -> float:
    """Return the mismatch of a slow simulation."""
    time.sleep(SECONDS)
    return float(np.square(x - TRUTH).sum())


@contextmanager
def started(*command: str) -> Iterator[None]:
    """Run a Python module in a process that is terminated at the end of the block."""
    folder = str(Path(__file__).parent)
    process = subprocess.Popen(  # noqa: S603  (our own interpreter and modules)
        [sys.executable, "-m", *command],
        env={**os.environ, "PYTHONPATH": folder},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main() -> None:
    """Start the cluster, run the job on it, compare with this process alone, end the cluster."""
    with ExitStack() as stack:
        file = str(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "scheduler.json")
        common = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file)
        stack.enter_context(started("distributed.cli.dask_scheduler", "--port", "0", *common))
        for _ in range(2):
            stack.enter_context(
                started("distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", *common)
            )
        cluster = Client(scheduler_file=file, timeout=30)  # type: ignore[no-untyped-call]
        client = stack.enter_context(cluster)
        client.wait_for_workers(2, timeout=30)
        print(f"A scheduler at {client.scheduler.address} and two workers, as separate processes.")
        run = {"k": 3, "method": "szoht", "max_queries": 400, "rng": 0}
        executor = szoht.executors.Dask(client)
        result = szoht.minimize(
            simulate,
            np.zeros(N_KNOBS),
            executor=executor,
            progress=True,
            **run,  # type: ignore[arg-type]
        )
    print(result)
    alone = szoht.minimize(simulate, np.zeros(N_KNOBS), **run)  # type: ignore[arg-type]
    same = "the same point, bit for bit" if np.array_equal(alone.x, result.x) else "another point"
    print(f"\n{result.seconds:.1f} s on two workers, {alone.seconds:.1f} s alone: {same}.")


if __name__ == "__main__":
    # imported under its own name, so that the workers find the function in this file
    from cluster import main as run_main

    run_main()
