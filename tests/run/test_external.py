"""Values from elsewhere: several outputs for each point, through a store and without one."""

import numpy as np
import pytest

import szoht
from run.outputs import SmallerResiduals, residuals
from szoht import errors
from szoht.run import external as remote
from szoht.store import names

METHOD = SmallerResiduals(operator=szoht.Sparse(1))


@pytest.fixture
def registered(monkeypatch):
    """Let stores hold the method, as those of the library."""
    path = f"{SmallerResiduals.__module__}:{SmallerResiduals.__qualname__}"
    monkeypatch.setitem(names.PATHS["Algorithm"], "smaller_residuals", path)
    monkeypatch.setitem(names._PATH_OF, "smaller_residuals", path)
    monkeypatch.setitem(names._NAME_OF, path, "smaller_residuals")


def test_outputs_are_told_as_rows():
    run = szoht.AskTell(np.zeros(4), method=METHOD, max_queries=10, rng=0)
    while not run.done:
        run.tell(np.stack([residuals(x) for x in run.ask().points()]))
    assert run.result.x.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert run.result.fun == 0.0


def test_rows_are_refused_where_a_number_is_needed():
    run = szoht.AskTell(np.zeros(4), k=1, method="szoht", max_queries=50, rng=0)
    with pytest.raises(errors.AnswerShapeError, match="must have shape"):
        run.tell(np.zeros((run.ask().n_points, 3)))


def begin(store):
    run = szoht.AskTell(np.zeros(4), method=METHOD, max_queries=10, rng=0)
    return remote.begin(store, run, np.zeros(4), limits={"max_queries": 10})


def test_outputs_are_stored_and_replayed(tmp_path, registered):
    with szoht.Store(tmp_path / "runs.db") as store:
        name = begin(store)
        while points := remote.waiting(store, name):
            replies = [remote.Reply(p.id, residuals(p.x).tolist()) for p in points]
            told = remote.answer(store, name, replies)
            assert told.new == 1
        assert told.result.x.tolist() == [1.0, 0.0, 0.0, 0.0]
        assert remote.replay(store, name).result.fun == 0.0
        again = remote.answer(store, name, replies)
        assert (again.new, again.repeated, again.contradictions) == (0, 1, [])


def test_other_numbers_of_outputs_are_refused(tmp_path, registered):
    with szoht.Store(tmp_path / "runs.db") as store:
        name = begin(store)
        (point,) = remote.waiting(store, name)
        remote.answer(store, name, [remote.Reply(point.id, [1.0, 2.0, 3.0])])
        (point,) = remote.waiting(store, name)
        with pytest.raises(errors.ParameterError, match="as many outputs"):
            remote.answer(store, name, [remote.Reply(point.id, [1.0, 2.0])])
        assert remote.waiting(store, name)[0].id == point.id


def test_a_list_is_refused_where_a_number_is_needed(tmp_path):
    with szoht.Store(tmp_path / "runs.db") as store:
        run = szoht.AskTell(np.zeros(4), k=1, method="szoht", max_queries=50, rng=0)
        name = remote.begin(store, run, np.zeros(4), limits={"max_queries": 50})
        point = remote.waiting(store, name)[0]
        with pytest.raises(errors.ParameterError, match="one number"):
            remote.answer(store, name, [remote.Reply(point.id, [1.0, 2.0])])
        assert remote.waiting(store, name)[0].id == point.id
