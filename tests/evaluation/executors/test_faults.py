"""Workers that die, hang or raise: tried again elsewhere, counted, and nothing else changes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import workloads
from interrupts import interrupted
from szoht import Status, errors, minimize
from szoht.core.objective import as_objective
from szoht.core.query import one_point
from szoht.evaluation.chunks import Chunk
from szoht.executors import Dask, Processes, Ray, Threads
from szoht.result import Faults

D = workloads.D


def run(fun=workloads.quadratic, **parameters):
    options = {"q": 8, "mu": 1e-6, "step_size": 0.05}
    parameters = {"options": options, "max_queries": 60, **parameters}
    return minimize(fun, np.zeros(D), k=3, method="szoht", rng=1, **parameters)


def our_processes():
    return [p for p in multiprocessing.active_children() if "Dask" not in p.name]


@pytest.fixture(scope="module")
def undisturbed():
    return run()


def assert_unharmed(result, undisturbed, **faults):
    assert result.x.tobytes() == undisturbed.x.tobytes()
    assert result.counts == undisturbed.counts
    seen = result.faults
    if "hung" in faults:  # on a busy machine others may be as late
        assert seen.hung >= faults["hung"]
        seen = replace(seen, hung=faults["hung"])
    assert seen == Faults(**faults)
    assert str(result.faults) in str(result)


def patience(how, hung):
    """Return the timeout of a test: long where nothing hangs, so that being slow is no fault."""
    return hung if how == "hang" else 120.0


@pytest.mark.parametrize(
    ("how", "fault"), [("die", "died"), ("exit", "died"), ("hang", "hung"), ("raise", "raised")]
)
def test_processes(how, fault, undisturbed, tmp_path):
    fun = workloads.Mishap(tmp_path, how, times=2)
    result = run(fun, executor=Processes(2), timeout=patience(how, 1.0), retries=5)
    assert_unharmed(result, undisturbed, **{fault: 2})
    assert our_processes() == []


@pytest.mark.parametrize(
    ("how", "fault"), [("exit", "died"), ("hang", "hung"), ("raise", "raised")]
)
def test_threads(how, fault, undisturbed, tmp_path):
    fun = workloads.Mishap(tmp_path, how)
    result = run(fun, executor=Threads(2), timeout=patience(how, 1.0), retries=5)
    assert_unharmed(result, undisturbed, **{fault: 1})


@pytest.mark.parametrize(("how", "fault"), [("hang", "hung"), ("raise", "raised")])
def test_dask(how, fault, undisturbed, tmp_path, dask_client):
    fun = workloads.Mishap(tmp_path, how)
    result = run(fun, executor=Dask(dask_client), timeout=patience(how, 4.0), retries=5)
    assert_unharmed(result, undisturbed, **{fault: 1})


@pytest.mark.parametrize(("how", "fault"), [("die", "died"), ("hang", "hung"), ("raise", "raised")])
def test_ray(how, fault, undisturbed, tmp_path, ray_cluster):
    fun = workloads.Mishap(tmp_path, how)
    # a worker that is freed is replaced by one that has to start, which counts
    result = run(fun, executor=Ray(), timeout=patience(how, 8.0), retries=5)
    assert result.x.tobytes() == undisturbed.x.tobytes()
    assert result.counts == undisturbed.counts
    # a task may hold several quick chunks, and Ray does not say at which of them it died
    assert getattr(result.faults, fault) >= 1


@pytest.mark.parametrize("on_error", ["stop", "skip", "raise"])
def test_chunks_that_always_kill_their_worker(on_error):
    def go():
        return run(
            workloads.always_dies,
            workers=1,
            retries=1,
            on_error=on_error,
            options={"q": 4, "mu": 1e-6, "step_size": 0.05},
            max_queries=6,
        )

    if on_error == "raise":
        with pytest.raises(
            errors.EvaluationError, match="ended with exit code 7, 2 times in a row"
        ):
            go()
        return
    result = go()
    if on_error == "stop":
        assert result.status is Status.FAILED
        assert "the worker process ended with exit code 7, 2 times in a row" in result.message
    else:
        assert result.status is Status.QUERIES
        assert 1 <= result.counts.failures <= 3
        # and at most once more in each plan, with others, so that it was not known which of them
        assert 0 <= result.faults.died - 2 * result.counts.failures <= 2


@pytest.mark.parametrize("executor", [Threads(2), Processes(2)], ids=str)
def test_exceptions_come_back(executor):
    with pytest.raises(OSError, match="licence") as caught:
        run(workloads.always_raises, executor=executor, retries=0, on_error="raise")
    assert "In a worker" in caught.value.__notes__[0]
    assert "always_raises" in caught.value.__notes__[0]
    # as it is where exceptions have been taught to travel (Dask does that), else in words
    with pytest.raises((workloads.PickyError, errors.EvaluationError), match="3 at home"):
        run(workloads.raises_picky, executor=executor, retries=0, on_error="raise")


def test_values_that_cannot_be_read():
    result = run(workloads.raises_different_elsewhere, workers=1, retries=1)
    assert result.status is Status.FAILED
    assert "values of a worker process cannot be read: OSError('unpickled else" in result.message
    assert our_processes() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_dies_and_leaves_a_child_with_its_connection(undisturbed, tmp_path):
    result = run(workloads.DiesWithAChild(tmp_path), workers=1)
    child = int((tmp_path / "child").read_text())
    os.kill(child, signal.SIGKILL)  # it is still there: its end was not waited for
    assert_unharmed(result, undisturbed, died=1)


def test_no_retry_means_none(tmp_path):
    fun = workloads.Mishap(tmp_path, "raise")
    result = run(fun, executor=Threads(2), retries=0, on_error="stop")
    assert result.status is Status.FAILED
    assert result.faults == Faults(raised=1)


def test_a_retry_goes_elsewhere():
    """With two processes, the one that failed does not get the chunk again."""
    seen = []
    with closing(Processes(2).open(as_objective(workloads.process_id))) as pool:
        pool.set_plan(one_point(np.zeros(D), None))
        chunks = (Chunk(0, 0, 1),)
        pool.submit(pool.task(0, chunks, None)).result(60)
        while len(pool._idle) < 2:  # until the other process has started too
            time.sleep(0.01)
        for number in range(1, 7):
            (part,) = pool.submit(pool.task(number, chunks, number - 1)).result(60)
            seen.append(part.values.item())
            while len(pool._idle) < 2:
                time.sleep(0.001)
    assert all(one != other for one, other in pairwise(seen))


def test_a_foreign_pool_that_breaks_ends_the_run_and_keeps_the_best():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        result = run(workloads.always_dies, executor=pool)
    assert result.status is Status.FAILED
    assert "Pass workers=n instead" in result.message
    assert "on_error" not in result.message


def test_a_foreign_pool_that_was_shut_down():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(errors.ExecutorError, match="takes no work"):
        run(executor=pool, on_error="raise")


@pytest.fixture
def heeded_interrupts():
    """Ctrl-C as in a terminal: a shell's background jobs are started with it switched off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_interrupts")
@pytest.mark.parametrize("executor", [Threads(2), Processes(2)], ids=str)
def test_interrupts_end_cleanly_with_the_best_point(executor):
    def interrupt(progress):
        if progress.iteration == 2:
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()

    started = time.monotonic()
    result = interrupted(
        run, workloads.slow_quadratic, executor=executor, max_queries=2_000, callback=interrupt
    )
    assert time.monotonic() - started < 30
    assert result.nit >= 2
    assert result.fun <= workloads.quadratic(np.zeros(D))
    assert result.nfev >= 9 * result.nit
    assert our_processes() == []


def test_a_function_that_cannot_be_sent(monkeypatch):
    monkeypatch.setattr("szoht.evaluation.executors.wire.find_spec", lambda name: None)
    with pytest.raises(errors.ParameterTypeError, match=r"<lambda>.*top level.*Threads\(n\)"):
        run(lambda x: 0.0, workers=1)


class Locked:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, x):
        return 0.0


def test_a_function_that_even_cloudpickle_cannot_send():
    pytest.importorskip("cloudpickle")
    with pytest.raises(errors.ParameterTypeError, match=r"`fun` must be picklable.*lock"):
        run(Locked(), workers=1)


SCRIPT = """
import numpy as np, szoht
def f(x):
    return float((x**2).sum())
try:
    szoht.minimize(f, np.ones(5), k=5, method="szoht", max_queries=60, rng=0, workers=2)
except szoht.errors.ExecutorError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["script.py", "-"])
def test_a_script_that_its_workers_cannot_import(name, tmp_path):
    """Without the guard `if __name__ == "__main__":`, or from standard input."""
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, name],
        input=SCRIPT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout.startswith("A worker process ended while it was starting")
    assert "must start its runs below `if __name__" in ended.stdout


def test_with_cloudpickle_a_lambda_will_do(undisturbed):
    pytest.importorskip("cloudpickle")
    result = run(lambda x: float(((x - workloads.TRUTH) ** 2).sum()), workers=1)
    assert result.x.tobytes() == undisturbed.x.tobytes()


class Unloadable:
    def __reduce__(self):
        return (int, ("not a number",))

    def __call__(self, x):
        return 0.0


def test_a_function_that_cannot_be_loaded():
    with pytest.raises(errors.ExecutorError, match="could not be loaded"):
        run(Unloadable(), workers=1, on_error="raise")
    assert our_processes() == []


BAD = {
    "both": ({"workers": 2, "executor": Threads(2)}, "exclude each other"),
    "none": ({"workers": 0}, r"`workers` must be an integer >= 1, or -1"),
    "kind": ({"executor": 4}, "`executor` must be one of szoht.executors"),
    "timeout alone": ({"timeout": 1.0}, "Pass `workers=n`"),
    "retries alone": ({"retries": 1}, "Pass `workers=n`"),
    "timeout": ({"executor": Threads(1), "timeout": 0.0}, "`timeout`"),
    "retries": ({"executor": Threads(1), "retries": -1}, "`retries`"),
    "fraction": ({"executor": Threads(1), "min_fraction": 1.5}, "`min_fraction`"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(name):
    parameters, message = BAD[name]
    with pytest.raises((ValueError, TypeError), match=message):
        run(**parameters)


def test_bad_executors(monkeypatch):
    for wrong in (
        lambda: Threads(0),
        lambda: Processes(0),
        lambda: Dask("tcp://127.0.0.1:1"),
        lambda: Ray(0),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()
    for executor, module in ((lambda: Dask(None), "distributed"), (Ray, "ray")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(errors.MissingExtraError, match="pip install"):
            executor()


def test_one_call_for_one_worker_is_reported():
    with pytest.warns(errors.IdleWorkersWarning, match="`chunk_size`"):
        run(workloads.residuals, vectorized=True, executor=Threads(2))
