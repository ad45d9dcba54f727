"""The record of the process that holds a lock: what it tells of a live run."""

import json
import os
import re
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import szoht
from szoht.cli.app import app
from szoht.store import locking
from szoht.store.locking import LockHolder


def test_the_time_of_a_live_run_goes_on_during_a_call(tmp_path):
    store, shown, tables = tmp_path / "runs.db", [], []

    def slow(x):
        if not shown:
            time.sleep(0.3)
            with szoht.Store(store) as file:
                shown.extend(file.runs())
            tables.append(CliRunner().invoke(app, ["runs", str(store)]).output)
        return float((x - 1) @ (x - 1))

    done = szoht.minimize(
        slow, np.zeros(5), k=2, method="szoht", max_queries=60, rng=0, store=store
    )
    assert shown[0].status == "RUNNING"
    assert shown[0].seconds >= 0.29
    assert re.search(r"RUNNING \d\S*[sm]\b", tables[0])

    shown.clear()
    szoht.resume(store, slow, run=done.run, max_queries=300)
    assert shown[0].seconds >= 0.29 + done.seconds
    with szoht.Store(store) as opened:
        (ended,) = opened.runs()
    assert ended.seconds >= shown[0].seconds - 0.1


def test_a_record_of_version_0_1_has_no_time():
    record = json.dumps([os.getpid(), "host", "2026-01-01T00:00:00+00:00"]).encode()
    assert LockHolder.parse(record).seconds == 0.0


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1.0", "3", '"x"', "1.0, 2.0"])
def test_a_record_with_another_time_names_no_process(seconds):
    record = f'[1, "host", "2026-01-01T00:00:00+00:00", {seconds}]'.encode()
    assert LockHolder.parse(record) is None


@pytest.mark.parametrize("since", ["", "yesterday", "2026-01-01T00:00:00"])
def test_a_record_without_a_readable_moment_gives_the_stored_time(since):
    assert LockHolder(1, "host", since, 5.0).elapsed == 5.0


def test_a_lock_is_held_once(tmp_path):
    path = tmp_path / "runs.db"
    assert locking.acquire(path, 1, 2.0)
    assert not locking.acquire(path, 1)
    assert locking.holder(path, 1).elapsed >= 2.0
    locking.release(path, 1)
    assert locking.holder(path, 1) is None
