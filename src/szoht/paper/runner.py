"""Jobs in a pool of processes, one core each; every finished one is on disk at once."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from szoht.errors import SzohtError
from szoht.paper.cache import Cache, read, save
from szoht.paper.experiment import Curve, Job, Table
from szoht.paper.registry import find

__all__ = ["Finished", "WorkerError", "run_jobs"]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

MESSAGE_LETTERS = 500
"""Of an error that a worker reports; 4 bytes each at most, where a pipe takes 4096 in one go."""


class WorkerError(SzohtError, RuntimeError):
    """A process that ran jobs is gone."""


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
        yield from (
            _finished(job, stem, _work(job, stem)) for job, stem in zip(missing, stems, strict=True)
        )
    elif missing:
        with _pool(min(workers, len(missing))) as pool:
            submitted = {
                pool.submit(_work, job, stem): (job, stem)
                for job, stem in zip(missing, stems, strict=True)
            }
            for future, error in _each(set(submitted)):
                yield _finished(*submitted[future], error)


def _finished(job: Job, stem: Path, error: str) -> Finished:
    return Finished(job=job, curve=None if error else read(stem, job), error=error)


def _each(waiting: "set[Future[str]]") -> Iterator[tuple["Future[str]", str]]:
    while waiting:
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            waiting.discard(future)
            try:
                yield future, future.result()
            except BrokenProcessPool as broken:
                raise WorkerError(
                    "a worker process ended by itself, perhaps out of memory. Finished "
                    "curves are kept: run again, with fewer `workers` if it happens again."
                ) from broken


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that use one thread each, and end them whatever happens."""
    before = {name: os.environ.get(name) for name in THREADS}
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker
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


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent is gone, however that came about."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(job: Job, stem: Path) -> str:
    """Save the curve of a job; return what went wrong, or nothing.

    What is returned is short enough to be written to a pipe in one go: a worker that is ended in
    the middle of a longer message would keep the reader waiting for the rest of it forever.
    """
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = find(job.experiment).run(job.settings, job.seed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:MESSAGE_LETTERS]
    notes = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    curve = Curve(job=job, table=table, seconds=time.process_time() - start, notes=notes)
    save(stem, curve)
    return ""
