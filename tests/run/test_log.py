"""The log of a run: lines per improvement and per minute, and silence unless it is wanted."""

import logging
import threading
import time

import numpy as np
import pytest

import szoht
from szoht.core.algorithm import Measured
from szoht.result import Counts, Progress
from szoht.run.log import UNLIMITED_LINES, RunLog

TARGET = np.zeros(40)
TARGET[[3, 20]] = 1.0, -2.0


def quadratic(x):
    return float(((x - TARGET) ** 2).sum())


def progress(value, *, seconds=1.0, maximize=False):
    return Progress(
        iteration=0,
        counts=Counts(queries=7),
        x=np.zeros(3),
        value=value,
        best=Measured(np.array([0.0, 1.0, 0.0]), value),
        seconds=seconds,
        maximize=maximize,
    )


@pytest.fixture
def lines(caplog):
    """Return the lines that the library has written so far."""
    caplog.set_level(logging.INFO, logger="szoht")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "szoht"]


def test_a_run_has_a_line_for_its_start_each_improvement_and_its_end(lines):
    seen = []
    result = szoht.minimize(
        quadratic, np.zeros(40), k=2, rng=0, callback=lambda p: seen.append(p.best_value)
    )
    first, *improvements, last = lines()
    assert first == "the run begins at 0 s, of at most 10,000 queries"
    assert improvements[0].startswith("best 5 after 1 query, 0 non-zeros")
    assert [float(line.split()[1]) for line in improvements] == [
        float(f"{value:.8g}") for value in dict.fromkeys(seen)
    ]
    assert last == f"{result.message} {result.fun:.8g} after {result.nfev} queries"


def test_a_run_that_its_user_drives_has_the_same_lines(lines):
    szoht.minimize(quadratic, np.zeros(40), k=2, rng=0)
    expected, before = lines(), len(lines())
    run = szoht.AskTell(np.zeros(40), k=2, rng=0)
    while not run.done:
        run.tell([quadratic(x) for x in run.ask().points()])
    told = lines()[before:]
    times = [line.rpartition(", ")[0] or line for line in (*expected, *told)]
    assert times[: len(expected)] == times[len(expected) :]


def test_a_run_that_its_user_drives_says_each_minute_where_it_stands(lines, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("szoht.run.log.time.monotonic", lambda: clock[0])
    log = RunLog()
    log.begin()
    for seconds in (0.0, 30.0, 61.0, 80.0, 125.0):
        clock[0] = seconds
        log(progress(3.0, seconds=seconds))
    assert [line.rpartition(", ")[2] for line in lines()[1:]] == ["0 s", "61 s", "125 s"]


def test_a_stored_run_is_named_and_what_is_replayed_has_no_lines(lines, caplog, tmp_path):
    store = tmp_path / "runs.db"
    settings = {"k": 2, "method": "szoht", "rng": 0}

    def best_values():
        found = [line.split()[1] for line in lines() if line.startswith("best")]
        caplog.clear()
        return found

    first = szoht.minimize(quadratic, np.zeros(40), max_queries=400, store=store, **settings)
    assert f"run {first.run} of the store {store}" in lines()
    before = best_values()
    szoht.resume(store, quadratic, run=first.run, max_queries=900)
    assert lines()[0].startswith("the run continues after")
    after = best_values()
    szoht.minimize(quadratic, np.zeros(40), max_queries=900, **settings)
    assert before
    assert after
    assert before + after == best_values()


def test_a_call_that_takes_long_is_seen_in_the_log(lines):
    with RunLog(interval=0.02) as log:
        log(progress(3.0))
        deadline = time.monotonic() + 10
        while len(lines()) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert lines()[1] == "best 3 after 7 queries, 1 non-zeros, 1 s"
    assert all(line.startswith("best 3 after 7 queries, running for") for line in lines()[2:4])


def test_the_log_ends_with_the_run(lines):
    szoht.minimize(quadratic, np.zeros(40), k=2, rng=0)
    assert lines()
    assert not [one for one in threading.enumerate() if one.name == "szoht-log"]


def test_improvements_are_upwards_where_f_is_maximized(lines):
    with RunLog() as log:
        for value in (1.0, 0.5, 2.0):
            log(progress(value, maximize=True))
    assert [line.split()[1] for line in lines()[1:]] == ["1", "2"]


def test_many_improvements_in_a_second_do_not_flood_the_log(lines):
    with RunLog() as log:
        for i in range(3 * UNLIMITED_LINES):
            log(progress(-float(i)))
    assert UNLIMITED_LINES < len(lines()) < 2 * UNLIMITED_LINES


def test_a_library_is_silent_unless_its_user_wants_lines(capfd):
    started = []
    szoht.minimize(
        quadratic,
        np.zeros(40),
        k=2,
        rng=0,
        callback=lambda p: started.extend(
            one for one in threading.enumerate() if one.name == "szoht-log"
        ),
    )
    assert capfd.readouterr() == ("", "")
    assert not started
