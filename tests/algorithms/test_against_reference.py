"""Algorithms equal naive transcriptions of their pseudo-code on the same directions."""

import numpy as np
import pytest

from algorithms.runs import run
from reference import hard_thresholding as naive
from szoht import AskTell, Full, Minibatch, SoftThreshold, Sparse, algorithms
from szoht.algorithms.composite import Composite
from szoht.core.query import Stage
from szoht.estimators import Coordinate, Sphere
from szoht.operators import L1Ball
from szoht.schedules import Geometric, Polynomial
from szoht.updates import ForwardBackward, FrankWolfe, LineSearch

D, K, T = 17, 4, 6


@pytest.fixture
def problem():
    """A non-quadratic function with no symmetry to hide behind."""
    rng = np.random.default_rng(8)
    a = rng.standard_normal((D, D))
    b = rng.standard_normal(D)

    def f(x):
        return float(np.log(np.cosh(a @ x - b)).sum() + 0.1 * (x**4).sum())

    return f


def assert_same(ours, reference):
    assert len(ours) == len(reference) == T
    for mine, theirs in zip(ours, reference, strict=True):
        assert np.array_equal(np.flatnonzero(mine), np.flatnonzero(theirs))
        assert np.allclose(mine, theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("support_size", [1, 2, 5, D - 1, D])
@pytest.mark.parametrize("orthogonal", [False, True])
def test_szoht(problem, support_size, orthogonal):
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.02}
    algorithm = algorithms.szoht(
        q=7, support_size=support_size, orthogonal=orthogonal, **parameters
    )
    x0 = naive.hard_threshold(np.linspace(-1, 1, D), K)
    ours, directions = run(algorithm, problem, x0, T)
    assert all(len(us) == 7 for us in directions)
    assert all(np.count_nonzero(u) == support_size for us in directions for u in us)
    assert_same(ours, naive.szoht(problem, x0, directions, **parameters))


def test_szoht_central(problem):
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.02}
    algorithm = algorithms.szoht(q=7, support_size=5, central=True, **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    assert_same(ours, naive.szoht_central(problem, np.zeros(D), directions, **parameters))


def test_truncated_zsgd(problem):
    parameters = {"k": K, "mu": 1e-3, "step_size": 0.002}
    algorithm = algorithms.truncated_zsgd(q=1, iterate="last", **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    assert_same(ours, naive.truncated_zsgd(problem, np.zeros(D), directions, **parameters))


def test_average_iterate_is_the_projected_mean(problem):
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
    assert_same(ours[:T], reference)


def test_iht_is_the_full_gradient_step():
    y = np.linspace(-1, 2, D)
    asked = AskTell(np.zeros(D), method=algorithms.iht(k=K, step_size=0.5), max_iterations=1, rng=0)
    asked.tell([1.0], gradient=-y)
    assert np.allclose(asked.state.x, naive.hard_threshold(0.5 * y, K))


def test_scheduled_steps_follow_the_iteration(problem):
    schedule = Polynomial(start=0.05, power=1.0)
    parameters = {"k": K, "mu": 1e-3}
    algorithm = algorithms.szoht(q=5, step_size=schedule, **parameters)
    ours, directions = run(algorithm, problem, np.zeros(D), T)
    x = np.zeros(D)
    for t, us in enumerate(directions):
        (x,) = naive.szoht(problem, x, [us], step_size=0.05 / (1 + t), **parameters)
        assert np.allclose(ours[t], x, rtol=1e-6, atol=1e-9)


def test_growing_number_of_directions(problem):
    algorithm = algorithms.szoht(k=K, q=Geometric(start=2, ratio=1.5), step_size=0.01)
    _, directions = run(algorithm, problem, np.zeros(D), T)
    assert [len(us) for us in directions] == [2, 3, 5, 7, 11, 16]


def test_frank_wolfe_stays_in_the_ball_and_takes_the_open_loop_step(problem):
    ball = L1Ball(2.0)
    algorithm = Composite(estimator=Coordinate(mu=1e-6), update=FrankWolfe(operator=ball))
    ours, _ = run(algorithm, problem, np.zeros(D), T)
    x = np.zeros(D)
    for t, mine in enumerate(ours):
        slope = np.array([(problem(x + 1e-6 * e) - problem(x)) / 1e-6 for e in np.eye(D)])
        x = x + 2 / (t + 2) * (ball.lmo(slope) - x)
        assert np.allclose(mine, x, atol=1e-9)
        assert ball.contains(mine)


def test_line_search_takes_the_best_rung(problem):
    search = LineSearch(operator=Sparse(K), ratio=3.0, reach=4)
    algorithm = Composite(estimator=Sphere(q=9, mu=1e-4), update=search)
    asked = AskTell(np.zeros(D), method=algorithm, max_iterations=8, rng=0)
    lengths = None
    while not asked.done:
        plan = asked.ask()
        values = [problem(point) for point in plan.points()]
        before = asked.state
        asked.tell(values)
        if plan.stage is Stage.SEARCH:
            assert len(values) == (9 if lengths is None else 3)
            best = min(values)
            if best < before.estimate.value:
                assert asked.state.measured.value == best == problem(asked.state.x)
                lengths = asked.state.update_memory
            else:
                assert np.array_equal(asked.state.x, before.x)
                assert asked.state.update_memory < before.update_memory
    assert lengths is not None


def test_line_search_counts_a_penalty():
    """With a huge penalty, moving away from zero never pays, although f itself falls."""
    search = LineSearch(operator=SoftThreshold(1.0))
    algorithm = Composite(estimator=Coordinate(mu=1e-6), update=search)

    def f(x):
        return float(((x - 0.3) ** 2).sum())

    asked = AskTell(np.zeros(3), method=algorithm, max_iterations=3, rng=0)
    while not asked.done:
        asked.tell([f(point) for point in asked.ask().points()])
    assert np.array_equal(asked.state.x, np.zeros(3))


def test_fixed_step_needs_a_positive_number():
    with pytest.raises(ValueError, match="`step_size` must be a finite number > 0"):
        ForwardBackward(operator=Sparse(1), step_size=0.0)
