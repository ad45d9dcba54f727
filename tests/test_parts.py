"""Schedules, samplers, objectives and validators."""

import pickle

import numpy as np
import pytest

from szoht import Full, Minibatch, Objective, Seeds, errors
from szoht.core.objective import as_objective
from szoht.core.random import Key
from szoht.core.validation import check_choice, check_integer, check_real, check_vector
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


def plain(x):
    return float(x.sum())


def sampled(points, sample):
    return points.sum(axis=1) + sample[0]


def test_objectives_can_travel():
    for objective in (as_objective(plain), as_objective(sampled, vectorized=True, n_samples=3)):
        copy = pickle.loads(pickle.dumps(objective))  # noqa: S301
        sample = None if copy.n_samples is None else np.array([2])
        assert copy.value(np.ones(3), sample) == objective.value(np.ones(3), sample)


def test_a_vectorised_function_gives_single_values_too():
    objective = as_objective(sampled, vectorized=True, stochastic=True)
    assert objective.value(np.ones(3), np.array([2])) == 5.0


def test_an_objective_passes_through():
    objective = Objective(value=lambda x, _: 0.0)
    assert as_objective(objective) is objective
    with pytest.raises(errors.ParameterTypeError, match="`value` must be callable"):
        Objective(value=None)


def test_validators():
    assert check_integer("n", np.int32(3), low=1, high=3) == 3
    with pytest.raises(
        errors.ParameterError, match=r"`n` must be an integer in \[1, 3\]; got n=4\."
    ):
        check_integer("n", 4, low=1, high=3)
    assert check_real("r", np.float32(0.5), low=0, high=1) == 0.5
    with pytest.raises(errors.ParameterError, match=r"`r` must be a finite number in \[0, 1\]"):
        check_real("r", 2, low=0, high=1)
    with pytest.raises(errors.ParameterError, match=r"in \(0, 1\]"):
        check_real("r", 0, low=0, high=1, open_low=True)
    with pytest.raises(errors.ParameterError, match="must have 3 entries; got 2"):
        check_vector("v", [1, 2], size=3)
    with pytest.raises(errors.ParameterError, match="must be one of 'a', 'b'; got c='x'"):
        check_choice("c", "x", ("a", "b"))
    vector = check_vector("v", [1, 2])
    assert not vector.flags.writeable
