"""A search at snapshots, fixed steps between, and the way back."""

import numpy as np
import pytest

from szoht import Sparse, errors
from szoht.core.query import Estimate
from szoht.updates import SnapshotSearch


def estimate(x, value=None):
    """Return the estimate for f = |x|^2 / 2."""
    return Estimate(gradient=x, value=float(x @ x) / 2 if value is None else value, measured=True)


def values(points):
    return np.array([float(x @ x) / 2 for x in points])


def unknown(x):
    """Return an estimate from a few components, whose value says nothing about the whole sum."""
    return estimate(x, value=np.nan)


def test_it_searches_now_and_then():
    update = SnapshotSearch(operator=Sparse(2), every=3)
    assert [update.due(t) for t in range(7)] == [True, False, False, True, False, False, True]
    assert all(SnapshotSearch(operator=Sparse(2)).due(t) for t in range(3))


def test_steps_between_take_a_share_of_the_step_found():
    update, x = SnapshotSearch(operator=Sparse(2), every=3, share=0.5), np.array([1.0, 0.0])
    memory = update.init(x)
    trials = update.trials(x, estimate(x), memory)
    chosen, memory = update.choose(x, estimate(x), values(trials), memory)
    assert np.array_equal(chosen.x, [0.0, 0.0])  # the step is 1
    moved, _ = update.step(np.array([2.0, 1.0]), estimate(np.array([2.0, 1.0])), 1, memory)
    assert np.allclose(moved, [1.0, 0.5])


def searched(update, x):
    trials = update.trials(x, estimate(x), update.init(x))
    return update.choose(x, estimate(x), values(trials), update.init(x))


def test_the_start_of_a_search_is_measured_where_its_value_is_not_known():
    update, x = SnapshotSearch(operator=Sparse(2), every=3), np.array([1.0, 0.0])
    chosen, memory = searched(update, x)
    elsewhere = np.array([0.0, 3.0])
    assert update.trials(elsewhere, unknown(elsewhere), memory)[0] is elsewhere
    assert len(update.trials(elsewhere, unknown(elsewhere), memory)) == 4
    assert len(update.trials(elsewhere, estimate(elsewhere), memory)) == 3
    assert len(update.trials(chosen.x, unknown(x), memory)) == 3  # the last search measured it


@pytest.mark.parametrize("told", [estimate, unknown])
def test_if_f_has_risen_it_goes_back_and_takes_shorter_steps(told):
    update, x = SnapshotSearch(operator=Sparse(2), every=3, share=0.5), np.array([1.0, 0.0])
    chosen, memory = searched(update, x)
    worse = np.array([3.0, 0.0])
    trials = update.trials(worse, told(worse), memory)
    returned, shorter = update.choose(worse, told(worse), values(trials) + 1, memory)
    assert returned.x is chosen.x
    assert returned.value == chosen.value
    assert shorter.search.step < memory.search.step


def test_a_candidate_that_makes_up_for_a_rise_is_taken():
    update = SnapshotSearch(operator=Sparse(2), every=3)
    _, memory = searched(update, np.array([1.0, 0.5]))
    memory = memory._replace(value=0.25)
    worse = np.array([3.0, 0.0])
    trials = update.trials(worse, unknown(worse), memory)
    moved, _ = update.choose(worse, unknown(worse), values(trials), memory)
    assert moved.value < 0.25


def test_nothing_moves_before_a_step_is_known():
    update, x = SnapshotSearch(operator=Sparse(2)), np.array([1.0, 0.0])
    moved, _ = update.step(x, estimate(x), 1, update.init(x))
    assert np.array_equal(moved, x)


@pytest.mark.parametrize("bad", [{"every": 0}, {"share": 0}, {"share": 1.5}])
def test_bad_input(bad):
    with pytest.raises(errors.ParameterError):
        SnapshotSearch(operator=Sparse(2), **bad)
