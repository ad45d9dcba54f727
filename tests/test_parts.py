"""Schedules, samplers, objectives and validators."""

import numpy as np
import pytest

from szoht import Full, Minibatch, Seeds
from szoht.core.random import Key
from szoht.schedules import Constant, Geometric, OpenLoop, Polynomial, at, count_at


def test_schedules():
    assert at(0.5, 7) == 0.5
    assert at(Constant(0.5), 7) == 0.5
    assert at(OpenLoop(), 0) == 1.0
    assert Geometric(start=2, ratio=3, high=10)(5) == 10
    assert Geometric(start=1, ratio=10, high=99)(10**6) == 99
    assert Geometric(start=1, ratio=0.1, low=1e-9)(10**6) == 1e-9
    assert Polynomial(start=1, power=1, offset=4)(4) == 0.5
    assert count_at(Geometric(start=2, ratio=1.5), 2) == 5
    assert count_at(0.2, 0) == 1


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
