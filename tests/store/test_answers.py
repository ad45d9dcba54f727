"""Rows of answers: one output or several, NaN in single ones, and nothing that does not fit."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

import szoht
from szoht.core.query import one_point
from szoht.errors import RunBusyError, StoreFileError
from szoht.evaluation.chunks import Chunk, ChunkValues
from szoht.run import external as remote
from szoht.store import RunSpec, answers
from szoht.store.digests import digest
from szoht.store.fingerprint import stable_repr

D = 5


@pytest.fixture
def plan():
    run = szoht.AskTell(np.zeros(D), k=2, method="szoht", options={"q": 6}, rng=0)
    return run.ask()


def spec():
    algorithm = szoht.szoht(k=2, q=6)
    return RunSpec(
        algorithm=stable_repr(algorithm),
        method=algorithm,
        x0=np.zeros(D),
        seed=0,
        limits={},
        stop=None,
        stop_description="None",
        on_error="stop",
        n_samples=None,
        stochastic=False,
    )


@pytest.mark.parametrize("n_outputs", [None, 1, 2, 7])
def test_values_come_back(plan, n_outputs):
    shape = (3,) if n_outputs is None else (3, n_outputs)
    values = np.random.default_rng(0).standard_normal(shape)
    values.flat[-1] = np.nan
    row = answers.to_row(ChunkValues(chunk=Chunk(0, 2, 5), values=values))
    read = answers.from_row(row, [plan.n_points], D)
    assert read.chunk == Chunk(0, 2, 5)
    expected = values.reshape(3, -1)
    assert read.values.shape == expected.shape
    assert read.values.tobytes() == expected.tobytes()
    assert not read.values.flags.writeable


def test_a_file_keeps_all_outputs(tmp_path, plan):
    """Through a file, in several chunks, some of them before and some after a process ended."""
    values = np.arange(plan.n_points * 3.0).reshape(-1, 3)
    values[4, 1] = np.nan
    path = tmp_path / "runs.db"
    with szoht.Store(path) as store, store.create(spec()) as stored:
        assert stored.start_round(plan) == ({}, None, plan)
        for i in range(4):
            stored.append(ChunkValues(chunk=Chunk(0, i, i + 1), values=values[i : i + 1]))
        stored._commit()
    with szoht.Store(path) as store, store.lock() as stored:
        known, seconds, _ = stored.start_round(plan)
        assert (len(known), seconds) == (4, None)
        stored.append(ChunkValues(chunk=Chunk(0, 4, plan.n_points), values=values[4:]))
        stored.flush(2.5)
    with szoht.Store(path) as store:
        known, seconds, _ = store.open_readonly().start_round(plan)
    assert seconds == 2.5
    np.testing.assert_array_equal(
        np.concatenate([known[piece].values for piece in sorted(known)]), values
    )


def test_answers_of_one_run_have_as_many_outputs(tmp_path, plan):
    path = tmp_path / "runs.db"
    with szoht.Store(path) as store, store.create(spec()) as stored:
        stored.start_round(plan)
        stored.append(ChunkValues(chunk=Chunk(0, 0, 1), values=np.zeros((1, 3))))
        stored.append(ChunkValues(chunk=Chunk(0, 1, 2), values=np.zeros((1, 2))))
        stored.flush(1.0)
    with szoht.Store(path) as store, pytest.raises(StoreFileError, match="an answer of round 0"):
        store.open_readonly().start_round(plan)


def test_points_that_differ_have_another_digest(plan):
    point = np.arange(3.0)
    same = digest(one_point(point.copy(), None))
    assert same == digest(one_point(point, None))
    sparse = szoht.SparseVector(3, [1, 2], [1.0, 2.0])
    others = [
        plan,
        one_point(point + 1e-15, None),
        one_point(point, np.array([0])),
        one_point(sparse, None),
        one_point(szoht.SparseVector(4, [1, 2], [1.0, 2.0]), None),
        one_point(szoht.SparseVector(3, [0, 2], [1.0, 2.0]), None),
        one_point(2 * sparse, None),
    ]
    digests = [same, *map(digest, others)]
    assert len(set(digests)) == len(digests)


def test_reading_writes_nothing(tmp_path):
    """Not even that a round is complete whose last answer came just before the process died."""
    path = tmp_path / "runs.db"
    run = szoht.AskTell(np.zeros(D), k=2, method="szoht", options={"q": 6}, rng=0)
    with szoht.Store(path) as store:
        name = remote.begin(store, run, np.zeros(D), limits={"max_queries": 100})
        for _ in range(2):
            points = remote.waiting(store, name)
            remote.answer(store, name, [remote.Reply(p.id, float(p.id.point)) for p in points])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE rounds SET seconds = NULL WHERE round = 1")
        connection.execute("DELETE FROM snapshots")
        connection.commit()
    before = path.read_bytes()
    with szoht.Store(path) as store:
        ids = [point.id for point in remote.waiting(store, name)]
        assert {where.round for where in ids} == {2}
        assert remote.replay(store, name).progress.counts.points > 0
    assert path.read_bytes() == before


def test_closing_what_was_read_leaves_the_lock(tmp_path):
    path = tmp_path / "runs.db"
    with szoht.Store(path) as store, store.create(spec()) as stored:
        with store.open_readonly(stored.name):
            pass
        with pytest.raises(RunBusyError):
            store.lock(stored.name)
    with szoht.Store(path) as store:
        store.lock(stored.name).close()
