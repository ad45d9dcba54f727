"""Samples: everything, minibatches and seeds."""

import numpy as np
import pytest

from szoht import Full, Minibatch, Seeds, errors
from szoht.core.random import Key


def test_full_takes_everything():
    assert Full().draw(Key(seed=0), None) is None
    assert np.array_equal(Full().draw(Key(seed=0), 4), np.arange(4))


@pytest.mark.parametrize("replace", [False, True])
def test_minibatches_are_uniform_and_addressed(replace):
    sampler = Minibatch(size=3, replace=replace)
    draws = np.array([sampler.draw(Key(seed=0, iteration=t), 5) for t in range(6_000)])
    assert draws.shape == (6_000, 3)
    repeats = [len(set(draw)) < 3 for draw in draws.tolist()]
    assert any(repeats) == replace
    share = np.bincount(draws.ravel(), minlength=5) / draws.size
    assert np.abs(share - 0.2).max() < 5 * np.sqrt(0.16 / draws.size)
    assert np.array_equal(draws[7], sampler.draw(Key(seed=0, iteration=7), 5))


def test_seeds_are_integers():
    draw = Seeds(size=4).draw(Key(seed=0), None)
    assert draw.dtype == np.int64
    assert len(set(draw.tolist())) == 4


def test_a_batch_with_replacement_may_exceed_the_sum():
    assert Minibatch(size=9, replace=True).draw(Key(seed=0), 4).size == 9


@pytest.mark.parametrize(
    "make",
    [
        lambda: Minibatch(size=0),
        lambda: Seeds(size=0),
    ],
)
def test_bad_parameters_name_the_rule(make):
    with pytest.raises(errors.SzohtError, match="must be"):
        make()
