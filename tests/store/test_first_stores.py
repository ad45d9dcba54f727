"""Stores that version 0.2.0 wrote are continued by every version since, on every processor."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import szoht
from szoht.run import external

FIXTURES = Path(__file__).with_name("fixtures")
STORES = FIXTURES / "0.2.0"
KINDS = ("auto", "no-k", "szoht", "integers", "calibration")
ENDED = ("QUERIES", "CONVERGED", "EXHAUSTED", "TARGET", "NO_PROGRESS")


@pytest.fixture
def functions(monkeypatch):
    monkeypatch.syspath_prepend(str(FIXTURES))
    import functions as module  # noqa: PLC0415  (found once the folder is on the path)

    yield module
    sys.modules.pop("functions", None)


@pytest.fixture
def stored(tmp_path):
    return lambda kind: Path(shutil.copy(STORES / f"{kind}.db", tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on(functions, stored, kind):
    path, before = stored(kind), json.loads((STORES / f"{kind}.json").read_text())
    with szoht.Store(path) as store:
        n_stored = store.runs()[0].queries
    result = szoht.resume(path)
    assert result.status.name in ENDED
    assert result.nfev <= (200 if kind == "calibration" else 300)
    assert len(result.ledger) >= len(before)
    if kind == "calibration":
        known = result.ledger.ledger.outputs
        at_start = functions.simulate(functions.TARGET) / 0.01
        assert result.fit.cost < 0.25 * float(at_start @ at_start)
    else:
        known = result.ledger.fun
        better = max if result.maximize else min
        assert better(result.fun, better(before)) == result.fun or kind in ("szoht", "no-k")
    # every answer that was stored is kept; those on their way to the disk when the process was
    # killed are evaluated again, at points that another processor rounds differently
    assert n_stored >= 0.8 * len(before)
    for value in before[:n_stored]:
        assert (np.abs(known - value).reshape(len(known), -1).max(axis=1) == 0).any()
    again = szoht.resume(path, run=result.run)
    assert (again.nfev, again.fun) == (result.nfev, result.fun)


def test_a_finished_run_gives_its_answer(functions, stored):
    result = szoht.resume(stored("finished"))
    assert result.status.name == "QUERIES"
    assert np.count_nonzero(result.x) <= 3
    assert result.fun == pytest.approx(functions.shifted_quadratic(result.x))
    more = szoht.resume(stored("finished"), max_queries=600)
    assert more.nfev > result.nfev


def test_points_that_wait_are_still_listed(functions, stored):
    path = stored("waiting")
    with szoht.Store(path) as store:
        name = store.find()
        while points := external.waiting(store, name):
            replies = [external.Reply(p.id, functions.shifted_quadratic(p.x)) for p in points]
            told = external.answer(store, name, replies)
            assert (told.new, told.unknown, told.contradictions) == (len(points), [], [])
        result = external.replay(store, name).result
    assert result.status.name in ENDED
    assert result.fun == pytest.approx(functions.shifted_quadratic(result.x))


def test_they_are_listed(stored):
    for kind in (*KINDS, "finished", "waiting"):
        with szoht.Store(stored(kind), create=False) as store:
            (summary,) = store.runs()
        assert summary.queries > 0
        assert summary.finished == (kind == "finished")
