"""Algorithms equal naive transcriptions of their pseudo-code on the same directions."""

import numpy as np
import pytest

from algorithms.runs import assert_same, log_cosh, run
from reference import hard_thresholding as naive
from szoht import AskTell, Full, Minibatch, algorithms
from szoht.schedules import Geometric, Polynomial

D, K, T = 17, 4, 6


problem = log_cosh(D)


@pytest.mark.parametrize("support_size", [1, 2, 5, D - 1, D])
@pytest.mark.parametrize("orthogonal", [False, True])
def test_szoht(support_size, orthogonal):
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


def test_szoht_central():
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.02}
    algorithm = algorithms.szoht(q=7, support_size=5, central=True, **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    assert len(ours) == T
    assert_same(ours, naive.szoht_central(problem, np.zeros(D), directions, **parameters))


def test_truncated_zsgd():
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.002}
    algorithm = algorithms.truncated_zsgd(q=1, iterate="last", **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    assert len(ours) == T
    assert_same(ours, naive.truncated_zsgd(problem, np.zeros(D), directions, **parameters))


def test_average_iterate_is_the_projected_mean():
    algorithm = algorithms.truncated_zsgd(k=K, q=1, mu=1e-3, step_size=0.002, iterate="average")
    ours, _ = run(algorithm, problem, np.zeros(D), T)
    asked = AskTell(np.zeros(D), method=algorithm, max_iterations=T, rng=4)
    while not asked.done:
        asked.tell([problem(point) for point in asked.ask().points()])
    mean = naive.hard_threshold(np.mean(ours, axis=0), K)
    assert np.allclose(asked.result.x, mean)
    assert asked.result.fun == pytest.approx(problem(asked.result.x))


@pytest.mark.parametrize("sampler", [Minibatch(size=1), Minibatch(size=3, replace=True), Full()])
def test_stoiht(sampler):
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((20, D)), rng.standard_normal(20)

    def gradient(x, sample):
        return a[sample].T @ (a[sample] @ x - b[sample]) / len(sample)

    algorithm = algorithms.stoiht(k=K, step_size=0.05, sampler=sampler)
    asked = AskTell(
        np.zeros(D), method=algorithm, max_iterations=T, rng=4, n_samples=20, stochastic=True
    )
    ours, samples = [], []
    while not asked.done:
        query = asked.ask().queries[0]
        samples.append(query.sample)
        asked.tell([0.0], gradient=gradient(query.base, query.sample))
        ours.append(np.array(asked.state.x))
    reference = naive.stoiht(gradient, np.zeros(D), samples[:T], k=K, step_size=0.05)
    assert len(ours) >= T
    assert_same(ours[:T], reference)


def test_iht_is_the_full_gradient_step():
    y = np.linspace(-1, 2, D)
    asked = AskTell(np.zeros(D), method=algorithms.iht(k=K, step_size=0.5), max_iterations=1, rng=0)
    asked.tell([1.0], gradient=-y)
    assert np.allclose(asked.state.x, naive.hard_threshold(0.5 * y, K))


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
    algorithm = algorithms.szoht(k=K, q=Geometric(start=2, ratio=1.5), step_size=0.01)
    _, directions = run(algorithm, problem, np.zeros(D), T)
    assert [len(us) for us in directions] == [2, 3, 5, 7, 11, 16]
