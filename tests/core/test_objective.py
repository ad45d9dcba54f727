"""Objectives: what a function becomes, and what an object declares."""

import pickle

import numpy as np
import pytest

from szoht import Objective, errors
from szoht.core.objective import as_objective


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


def test_objects_declare_their_own_powers():
    objective = Objective(value=lambda x, _: 0.0)
    with pytest.raises(errors.ParameterError, match="`vectorized` describes a plain function"):
        as_objective(objective, vectorized=True)


def value_and_gradient(x):
    return float(x @ x), 2 * x


def test_a_function_that_returns_both_is_called_once_per_point():
    calls = []

    def both(x):
        calls.append(x)
        return value_and_gradient(x)

    objective = as_objective(both, gradient=True)
    x = np.arange(3.0)
    assert objective.value(x, None) == 5
    assert objective.gradient(x, None).tolist() == [0, 2, 4]
    assert len(calls) == 1
    x[0] = 1.0  # the caller's own array: what was remembered is not it
    assert objective.gradient(x, None).tolist() == [2, 2, 4]
    assert objective.value(x, None) == 6
    assert len(calls) == 2


def test_it_is_sent_to_other_processes_without_what_it_has_returned():
    objective = as_objective(value_and_gradient, gradient=True)
    objective.value(np.ones(1000), None)
    sent = pickle.dumps(objective)
    assert len(sent) < 1_000
    assert pickle.loads(sent).gradient(np.ones(2), None).tolist() == [2, 2]  # noqa: S301
