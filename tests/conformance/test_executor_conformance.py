"""The public conformance check on every executor that we ship."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from szoht.evaluation.executors.local import SerialPool
from szoht.executors import Dask, Processes, Ray, Serial, Threads, WorkerPool
from szoht.testing import check_executor


@pytest.mark.parametrize("executor", [Serial(), Threads(1), Threads(3), Processes(2)], ids=str)
def test_our_own(executor):
    check_executor(executor)


def test_a_pool_of_threads():
    with ThreadPoolExecutor(2) as pool:
        check_executor(pool)
        assert pool.submit(int, "7").result() == 7


def test_a_pool_of_processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        check_executor(pool)
        assert pool.submit(int, "7").result() == 7


def test_dask(dask_client):
    check_executor(Dask(dask_client))
    assert dask_client.submit(int, "7").result() == 7


def test_ray(ray_cluster):
    check_executor(Ray())
    assert ray_cluster.is_initialized()


class MinePool(WorkerPool):
    size = 2

    def __init__(self, objective):
        super().__init__(objective)
        self.threads = ThreadPoolExecutor(self.size)

    def submit(self, task):
        return self.threads.submit(task)

    def close(self):
        self.threads.shutdown()


class Mine:
    def open(self, objective):
        return MinePool(objective)


def test_an_executor_of_ones_own():
    check_executor(Mine())


class Rounded(Serial):
    """Answers in single precision, as something on the way might."""

    def open(self, objective):
        class Pool(SerialPool):
            def submit(self, task):
                future = super().submit(task)
                for part in future.result():
                    part.values[:] = part.values.astype("f4")
                return future

        return Pool(objective)


def test_the_check_finds_an_executor_that_changes_bits():
    with pytest.raises(AssertionError, match="bit-identical"):
        check_executor(Rounded())
