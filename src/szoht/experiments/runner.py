"""Jobs in a pool of processes, one core each; every finished one is on disk at once."""

import contextlib
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from szoht.experiments.cache import Cache, save
from szoht.experiments.experiment import Curve, Job, Table
from szoht.experiments.registry import find

__all__ = ["Finished", "run_jobs"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


Run = Callable[..., Table]


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A job with its curve, or with what went wrong; ``cached`` if it was on disk before."""

    job: Job
    curve: Curve | None = None
    error: str = ""
    cached: bool = False


def run_jobs(
    jobs: Sequence[Job], runs: Mapping[str, Run], cache: Cache, *, workers: int
) -> Iterator[Finished]:
    """Yield the jobs as they finish, those on disk first, then the longest first.

    ``runs`` has the function of each experiment.

    Closing the iterator early, or an interrupt, ends the workers at once; the curves that are
    finished stay on disk. A job that raises is yielded with its error, and the others go on.
    """
    missing = []
    for job in jobs:
        curve = cache.load(job, runs[job.experiment])
        if curve is None:
            missing.append(job)
        else:
            yield Finished(job=job, curve=curve, cached=True)
    missing.sort(key=lambda job: -job.cost)
    stems = [cache.stem(job, runs[job.experiment]) for job in missing]
    if workers == 1:
        yield from map(_work, missing, stems)
    elif missing:
        with _pool(min(workers, len(missing))) as pool:
            futures = map(pool.submit, [_work] * len(missing), missing, stems)
            yield from _each(dict(zip(futures, missing, strict=True)))


def _each(waiting: "dict[Future[Finished], Job]") -> Iterator[Finished]:
    while waiting:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            job = waiting.pop(future)
            error = future.exception()
            yield Finished(job=job, error=repr(error)) if error else future.result()


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that use one thread each, and end them whatever happens."""
    before = {name: os.environ.get(name) for name in THREADS}
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_ignore_interrupts
    )
    os.environ.update(dict.fromkeys(THREADS, "1"))  # read when a worker loads NumPy
    try:
        yield pool
        pool.shutdown()
    except BaseException:  # an interrupt above all: do not wait for work that nobody wants
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop


def _work(job: Job, stem: Path) -> Finished:
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = find(job.experiment).run(job.settings, job.seed)
    except Exception as error:
        return Finished(job=job, error=f"{type(error).__name__}: {error}")
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    curve = Curve(job=job, table=table, seconds=time.process_time() - start, notes=notes)
    save(stem, curve)
    return Finished(job=job, curve=curve)
