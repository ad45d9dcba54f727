import os
import pickle
import select
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from paper import fakes
from szoht.paper import Job, Scale, get_experiment
from szoht.paper import runner as running
from szoht.paper.cache import Cache, code_hash
from szoht.paper.runner import run_jobs

JOBS = fakes.jobs(Scale())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "get_experiment", lambda name: fakes.make())
    return Cache(tmp_path)


def go(cache, jobs=JOBS, run=fakes.run, workers=1):
    return list(run_jobs(jobs, {"fake": run}, cache, workers=workers))


def test_curves_are_kept_and_found_again(cache):
    first = go(cache)
    assert not any(one.cached for one in first)
    assert [one.job.curve for one in first][:3] == ["high"] * 3  # the longest first
    second = go(cache)
    assert all(one.cached for one in second)
    for job in JOBS:
        kept = cache.load(job, fakes.run)
        np.testing.assert_array_equal(kept.table["y"], fakes.run(job.settings, job.seed)["y"])
        assert list(kept.table) == ["x", "y"]


def test_only_what_is_missing_is_run(cache):
    go(cache, JOBS[:2])
    assert [one.cached for one in go(cache)] == [True] * 2 + [False] * 4


def test_other_settings_seeds_or_code_are_run_again(cache, monkeypatch):
    job = JOBS[0]
    stems = {cache.stem(job, fakes.run)}
    stems.add(
        cache.stem(Job(experiment="fake", curve="low", settings={"offset": 0}, seed=9), fakes.run)
    )
    stems.add(
        cache.stem(Job(experiment="fake", curve="low", settings={"offset": 1}, seed=0), fakes.run)
    )
    stems.add(cache.stem(job, fakes.value))
    assert len(stems) == 4


def test_the_code_hash_sees_helpers_and_constants(monkeypatch):
    conflict = get_experiment("conflict")
    before = code_hash(conflict.run)
    module = sys.modules[conflict.run.__module__]
    monkeypatch.setattr(module, "K_VALUES", (1, 2))
    assert code_hash(conflict.run) != before
    monkeypatch.undo()
    monkeypatch.setattr(module, "_sparse", module._point)
    assert code_hash(conflict.run) != before
    monkeypatch.undo()
    monkeypatch.setattr(module, "_figures", module._point)  # a figure is no part of a curve
    assert code_hash(conflict.run) == before


def test_the_code_hash_sees_the_library_but_not_its_commands(tmp_path, monkeypatch):
    module = sys.modules[Cache.__module__]
    monkeypatch.setattr(module, "__file__", str(tmp_path / "experiments" / "cache.py"))
    versions = []
    for name, text in (("algorithms", "1"), ("algorithms", "2"), ("cli", "3")):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "part.py").write_text(text)
        versions.append(module.library_hash.__wrapped__())
    assert versions[0] != versions[1] == versions[2]


@pytest.mark.parametrize("ending", [".npz", ".json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damaged_files_are_run_again(cache, ending, damage):
    go(cache, JOBS[:1])
    path = cache.stem(JOBS[0], fakes.run).with_suffix(ending)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:40])
    (again,) = go(cache, JOBS[:1])
    assert not again.cached
    assert go(cache, JOBS[:1])[0].cached


def test_a_job_that_fails_does_not_stop_the_others(cache, monkeypatch):
    def run(settings, seed):
        if seed == 1:
            raise RuntimeError("no luck")
        return fakes.run(settings, seed)

    monkeypatch.setattr(running, "get_experiment", lambda name: fakes.make(run=run))
    finished = go(cache, run=run)
    assert [one.error for one in finished if one.error] == ["RuntimeError: no luck"] * 2
    assert sum(one.curve is not None for one in finished) == 4
    assert not list(cache.folder.rglob("tmp*"))


def test_processes_give_the_same_numbers(tmp_path):
    """In a pool and in one process; the real experiments, since workers find them by name."""
    experiment = get_experiment("projection")
    jobs = experiment.jobs(Scale(quick=True))[:2]
    pooled, alone = Cache(tmp_path / "pooled"), Cache(tmp_path / "alone")
    threads = os.environ.get("OMP_NUM_THREADS")
    for where, workers in ((pooled, 2), (alone, 1)):
        done = list(run_jobs(jobs, {"projection": experiment.run}, where, workers=workers))
        assert not any(one.error for one in done)
    assert os.environ.get("OMP_NUM_THREADS") == threads
    for job in jobs:
        for name, column in alone.load(job, experiment.run).table.items():
            np.testing.assert_array_equal(column, pooled.load(job, experiment.run).table[name])


def test_what_a_worker_reports_fits_into_a_pipe(cache, monkeypatch):
    """A worker ended in the middle of a longer message keeps the reader waiting forever."""

    def talkative(settings, seed):
        raise RuntimeError("\N{GRINNING FACE}" * 10_000)

    assert running._run_job(JOBS[0], cache.stem(JOBS[0], fakes.run)) == ""
    monkeypatch.setattr(running, "get_experiment", lambda name: SimpleNamespace(run=talkative))
    report = running._run_job(JOBS[0], cache.stem(JOBS[0], fakes.run))
    assert report.startswith("RuntimeError")
    assert len(pickle.dumps(report)) + PROTOCOL_BYTES < select.PIPE_BUF


PROTOCOL_BYTES = 500
"""What the pool adds to a result when it sends it, generously."""


def test_an_interrupt_loses_nothing_that_is_finished(tmp_path):
    # the handler, because a shell's background jobs are started with interrupts switched off
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from szoht.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "reproduce", "assets", "--quick", "--workers", "2"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while not list(tmp_path.rglob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    try:
        output, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 130, output
    assert "to continue" in output
    finished = len(list(tmp_path.rglob("*.json")))
    jobs = get_experiment("assets").jobs(Scale(quick=True))
    assert 1 <= finished < len(jobs)
    assert gone(process.pid), "a worker is left behind"
    cache = Cache(tmp_path / "cache")
    assert (
        sum(cache.load(job, get_experiment("assets").run) is not None for job in jobs) == finished
    )


def gone(group):
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
