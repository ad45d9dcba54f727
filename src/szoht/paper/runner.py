"""Runs jobs in a process pool, one thread each; each result is written to disk at once."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from szoht.paper.cache import Cache, read_curve, write_curve
from szoht.paper.errors import WorkerError
from szoht.paper.experiment import Curve, Job, Table
from szoht.paper.registry import get_experiment

__all__ = ["JobResult", "run_jobs"]

THREAD_COUNT_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

MAX_MESSAGE_CHARACTERS = 500
"""Limit of a worker's error message: at most 4 bytes each, below the 4096 of an atomic write."""


Run = Callable[..., Table]


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """A job with its curve or its error; ``cached`` if the curve was already on disk."""

    job: Job
    curve: Curve | None = None
    error: str = ""
    cached: bool = False


def run_jobs(
    jobs: Sequence[Job], runs: Mapping[str, Run], cache: Cache, *, workers: int
) -> Iterator[JobResult]:
    """Yield results as jobs finish: cached ones first, then in decreasing order of cost.

    ``runs`` maps the name of each experiment to its ``run`` function.

    Closing the iterator early, or an interrupt, terminates the workers at once; finished curves
    stay on disk. A job that raises is yielded with its error, and the others continue.
    """
    missing = []
    for job in jobs:
        curve = cache.load(job, runs[job.experiment])
        if curve is None:
            missing.append(job)
        else:
            yield JobResult(job=job, curve=curve, cached=True)
    missing.sort(key=lambda job: -job.cost)
    stems = [cache.stem(job, runs[job.experiment]) for job in missing]
    if workers == 1:
        yield from (
            _job_result(job, stem, _run_job(job, stem))
            for job, stem in zip(missing, stems, strict=True)
        )
    elif missing:
        with _pool(min(workers, len(missing))) as pool:
            submitted = {
                pool.submit(_run_job, job, stem): (job, stem)
                for job, stem in zip(missing, stems, strict=True)
            }
            for future, error in _as_completed(submitted):
                yield _job_result(*submitted[future], error)


def _job_result(job: Job, stem: Path, error: str) -> JobResult:
    return JobResult(job=job, curve=None if error else read_curve(stem, job), error=error)


def _as_completed(futures: "Collection[Future[str]]") -> Iterator[tuple["Future[str]", str]]:
    """Yield futures as they are done.

    `concurrent.futures.wait` holds the locks of all futures for a moment: an interrupt just then
    leaves them locked, and the exit of the process, which waits for the pool, hangs (1 of 6).
    """
    done: SimpleQueue[Future[str]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    for _ in futures:
        future = done.get()
        try:
            yield future, future.result()
        except BrokenProcessPool as broken:
            raise WorkerError(
                "a worker process died, perhaps out of memory. Finished curves are "
                "kept: run the command again, with fewer `workers` if this repeats."
            ) from broken


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that use one thread each, and terminate them on any error."""
    before = {name: os.environ.get(name) for name in THREAD_COUNT_VARIABLES}
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker
    )
    os.environ.update(dict.fromkeys(THREAD_COUNT_VARIABLES, "1"))  # read when a worker loads NumPy
    try:
        yield pool
        pool.shutdown()
    except BaseException:  # such as an interrupt: do not wait for results that are not needed
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
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Exit when the parent process has died, for whatever reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_job(job: Job, stem: Path) -> str:
    """Run a job and save its curve; return the error message, or "".

    The message is short enough to be written to a pipe atomically: if a worker were terminated in
    the middle of a longer one, the reader would wait for the rest forever.
    """
    if job.shared and stem.with_suffix(".json").exists():
        return ""  # another experiment has computed it meanwhile
    start = time.process_time()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = get_experiment(job.experiment).run(job.settings, job.seed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:MAX_MESSAGE_CHARACTERS]
    messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    curve = Curve(job=job, table=table, seconds=time.process_time() - start, warnings=messages)
    write_curve(stem, curve)
    return ""
