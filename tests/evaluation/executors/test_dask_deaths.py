"""A scheduler and its workers as separate processes, killed while a run is going on."""

import time
from contextlib import ExitStack

import numpy as np
import pytest

import workloads
from dask_processes import scheduler, worker
from szoht import minimize
from szoht.executors import Dask

distributed = pytest.importorskip("distributed")


class Cluster:
    """A scheduler, and workers that can be killed."""

    def __init__(self, stack, file):
        self.stack, self.file, self.workers = stack, file, []
        stack.enter_context(scheduler(file))
        self.start(3)
        self.client = stack.enter_context(
            distributed.Client(scheduler_file=file, timeout=30, set_as_default=False)
        )

    def start(self, n):
        self.workers += [self.stack.enter_context(worker(self.file)) for _ in range(n)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with ExitStack() as stack:
        yield Cluster(stack, str(tmp_path_factory.mktemp("dask") / "scheduler.json"))


class Killer:
    """A callback that kills workers between iterations, and starts others."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.killed = 0

    def __call__(self, progress):
        if progress.iteration in (2, 4):
            self.cluster.workers.pop(0).kill()
            self.killed += 1
        if progress.iteration == 3:
            self.cluster.start(1)


@pytest.mark.parametrize("x0", [np.zeros(workloads.WIDE), np.full(workloads.WIDE, 1e-3)], ids=len)
def test_killing_workers_changes_nothing(x0, cluster):
    parameters = {
        "constraint": workloads.WHOLE_SPACE,
        "method": "szoht",
        "options": {"q": 10, "step_size": 1e-6},
        "max_iterations": 6,
        "rng": 0,
    }
    alone = minimize(workloads.wide_and_slow, x0, **parameters)
    cluster.start(3 - len(cluster.workers))
    cluster.client.wait_for_workers(3, timeout=60)
    killer = Killer(cluster)
    started = time.monotonic()
    result = minimize(
        workloads.wide_and_slow, x0, executor=Dask(cluster.client), callback=killer, **parameters
    )
    assert time.monotonic() - started < 60
    assert result.x.tobytes() == alone.x.tobytes()
    assert result.counts == alone.counts
    assert result.faults.died == killer.killed == 2
