"""SZOHT against its pseudo-code, on the same directions."""

import numpy as np
import pytest

from algorithms.runs import assert_same, log_cosh, run
from reference import hard_thresholding as naive
from szoht import algorithms
from szoht.schedules import Geometric, Polynomial

D, K, T = 17, 4, 6
problem = log_cosh(D)


@pytest.mark.parametrize("support_size", [1, 2, 5, D - 1, D])
@pytest.mark.parametrize("orthogonal", [False, True])
def test_it_equals_its_pseudo_code(support_size, orthogonal):
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.02}
    algorithm = algorithms.szoht(
        q=7, support_size=support_size, orthogonal=orthogonal, **parameters
    )
    x0 = naive.hard_threshold(np.linspace(-1, 1, D), K)
    ours, directions = run(algorithm, problem, x0, T)
    assert all(len(us) == 7 for us in directions)
    assert all(np.count_nonzero(u) == support_size for us in directions for u in us)
    assert len(ours) == T
    assert_same(ours, naive.szoht(problem, x0, directions, **parameters))


def test_central_differences_equal_their_pseudo_code():
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.02}
    algorithm = algorithms.szoht(q=7, support_size=5, central=True, **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    assert len(ours) == T
    assert_same(ours, naive.szoht_central(problem, np.zeros(D), directions, **parameters))


def test_scheduled_steps_follow_the_iteration():
    schedule = Polynomial(start=0.05, power=1.0)
    parameters = {"k": K, "mu": 1e-3}
    algorithm = algorithms.szoht(q=5, step_size=schedule, **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    x = np.zeros(D)
    for t, us in enumerate(directions):
        (x,) = naive.szoht(problem, x, [us], step_size=0.05 / (1 + t), **parameters)
        assert np.allclose(ours[t], x, rtol=1e-6, atol=1e-9)


def test_growing_number_of_directions():
    algorithm = algorithms.szoht(k=K, q=Geometric(start=2, ratio=1.5), mu=1e-6, step_size=0.01)
    _, directions = run(algorithm, problem, np.zeros(D), T)
    assert [len(us) for us in directions] == [2, 3, 5, 7, 11, 16]
