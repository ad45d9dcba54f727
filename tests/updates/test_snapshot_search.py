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


def test_it_searches_at_snapshots_only():
    update = SnapshotSearch(operator=Sparse(2), every=3)
    assert [update.due(t) for t in range(7)] == [True, False, False, True, False, False, True]
    assert [SnapshotSearch(operator=Sparse(2)).due(t) for t in range(3)] == [True, False, False]


def test_steps_between_take_a_share_of_the_step_found():
    update, x = SnapshotSearch(operator=Sparse(2), every=3, share=0.5), np.array([1.0, 0.0])
    memory = update.init(x)
    trials = update.trials(x, estimate(x), memory)
    chosen, memory = update.choose(x, estimate(x), values(trials), memory)
    assert np.array_equal(chosen.x, [0.0, 0.0])  # the step is 1
    moved, _ = update.step(np.array([2.0, 1.0]), estimate(np.array([2.0, 1.0])), 1, memory)
    assert np.allclose(moved, [1.0, 0.5])


def test_if_f_has_risen_it_goes_back_and_takes_shorter_steps():
    update, x = SnapshotSearch(operator=Sparse(2), every=3, share=0.5), np.array([1.0, 0.0])
    trials = update.trials(x, estimate(x), update.init(x))
    chosen, memory = update.choose(x, estimate(x), values(trials), update.init(x))
    worse = np.array([3.0, 0.0])
    (back,) = update.trials(worse, estimate(worse), memory)
    assert np.array_equal(back, chosen.x)
    returned, shorter = update.choose(worse, estimate(worse), values([back]), memory)
    assert np.array_equal(returned.x, chosen.x)
    assert shorter.share == memory.share / 4


def test_nothing_moves_before_a_step_is_known():
    update, x = SnapshotSearch(operator=Sparse(2)), np.array([1.0, 0.0])
    moved, _ = update.step(x, estimate(x), 1, update.init(x))
    assert np.array_equal(moved, x)


@pytest.mark.parametrize("bad", [{"every": 0}, {"share": 0}, {"share": 1.5}])
def test_bad_input(bad):
    with pytest.raises(errors.ParameterError):
        SnapshotSearch(operator=Sparse(2), **bad)
