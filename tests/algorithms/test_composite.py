"""Composite algorithms: what is returned, what counts as best, and what is asked."""

import numpy as np
import pytest

from algorithms.runs import log_cosh, run
from outcomes import most_seeds
from reference import hard_thresholding as naive
from szoht import AskTell, Composite, Minibatch, Seeds, SoftThreshold, Sparse, algorithms, minimize
from szoht.estimators import Sphere
from szoht.updates import ForwardBackward

D, K, T = 17, 4, 6
problem = log_cosh(D)


def test_average_iterate_is_the_projected_mean():
    algorithm = algorithms.truncated_zsgd(k=K, q=1, mu=1e-3, step_size=0.002, iterate="average")
    ours, _ = run(algorithm, problem, np.zeros(D), T)
    asked = AskTell(np.zeros(D), method=algorithm, max_iterations=T, rng=4)
    while not asked.done:
        asked.tell([problem(point) for point in asked.ask().points()])
    mean = naive.hard_threshold(np.mean(ours, axis=0), K)
    assert np.allclose(asked.result.x, mean)
    assert asked.result.fun == pytest.approx(problem(asked.result.x))


def test_random_iterates_are_uniform():
    """The output is each of the four iterates equally often, over seeds."""
    algorithm = algorithms.rspgf(q=1, mu=1e-3, step_size=0.1, iterate="random")
    counts = np.zeros(4)
    for seed in range(800):
        iterates = []
        result = minimize(
            lambda x: float(x.sum()),
            np.zeros(2),
            method=algorithm,
            max_iterations=4,
            rng=seed,
            callback=lambda p, iterates=iterates: iterates.append(p.x),
        )
        counts[[np.array_equal(result.x, x) for x in iterates[:4]].index(True)] += 1
        assert result.fun == pytest.approx(result.x.sum())
    assert np.abs(counts / 800 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 800)


def test_best_iterates_count_the_penalty():
    """f alone prefers the far point, f + penalty the near one."""
    algorithm = algorithms.rspgf(penalty=1.0, q=1, mu=1e-3, step_size=0.5, iterate="best")
    asked = AskTell(np.array([0.1]), method=algorithm, max_iterations=2, rng=0)
    asked.tell([1.0, 0.9])  # at 0.1: f = 1.0, total 1.1, and a step to somewhere far
    far = asked.state.x
    assert abs(far[0]) > 5
    asked.tell([0.9, 0.9])  # f is lower there, but the penalty is not
    assert asked.state.best.x[0] == pytest.approx(0.1)


def test_a_measurement_replaces_an_inferred_value_even_if_it_is_worse():
    def fun(x):
        return 5 - float((x**2).sum())

    x0 = np.full(5, 0.1)
    result = minimize(
        fun,
        x0,
        k=5,
        options={"central": True, "mu": 1.0, "q": 5, "step_size": 1e-9},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert result.fun == fun(result.x)


def test_a_failed_last_measurement_changes_nothing():
    calls = [0]

    def fun(x):
        calls[0] += 1
        return float(((x - 1) ** 2).sum()) if calls[0] <= 30 else np.nan

    result = minimize(
        fun,
        np.zeros(30),
        k=2,
        options={"q": 5, "mu": 1e-6, "step_size": 0.02, "iterate": "last"},
        max_iterations=5,
        on_error="skip",
        rng=0,
        method="szoht",
    )
    assert calls[0] == 31
    assert np.isfinite(result.fun)
    assert result.counts.failures == 1


def test_retreats_to_the_best_point():
    run = AskTell(
        np.zeros(4),
        k=1,
        options={"q": 3, "mu": 1e-6, "step_size": 0.1},
        max_iterations=3,
        on_error="skip",
        rng=0,
        method="szoht",
    )
    run.tell([1.0, 2, 3, 4])
    moved = run.state.x
    run.tell([np.nan, 2, 3, 4])
    assert not np.array_equal(moved, np.zeros(4))
    assert np.array_equal(run.state.x, np.zeros(4))


def test_a_search_sees_the_sample_of_its_estimate():
    seen = []

    def fun(x, sample):
        seen.append(tuple(sample))
        return float(((x - 1) ** 2).sum())

    minimize(
        fun,
        np.zeros(4),
        k=2,
        stochastic=True,
        options={"q": 3, "mu": 1e-6},
        max_iterations=1,
        rng=0,
        method="szoht",
    )
    assert len(seen) == 4 + 17
    assert len(set(seen)) == 1


def test_values_on_different_samples_are_not_ranked():
    assert algorithms.szoht(k=1, q=1, sampler=Minibatch(size=1)).iterate == "last"
    assert algorithms.szoht(k=1, q=1, sampler=Seeds()).iterate == "last"
    assert algorithms.szoht(k=1, q=1).iterate == "best"


class TwoRounds:
    """Asks a first plan, then a second one."""

    requires = frozenset()

    def check(self, d):
        pass

    def init(self, x):
        return 0

    def plan(self, x, sample, memory, key):
        return Sphere(q=3, mu=1e-3).plan(x, sample, None, key)

    def combine(self, plan, answers, memory):
        if memory == 0:
            return None, 1
        return Sphere(q=3, mu=1e-3).combine(plan, answers, None)[0], 0


def test_rounds_are_addresses():
    update = ForwardBackward(operator=Sparse(2), step_size=0.1)
    method = Composite(estimator=TwoRounds(), update=update)
    run = AskTell(np.zeros(4), method=method, max_iterations=2, rng=0)
    keys = []
    while not run.done:
        plan = run.ask()
        directions = plan.queries[0].directions
        if directions is not None:
            keys.append(directions.key)
        run.tell(((plan.points() - 1) ** 2).sum(1))
    assert [(key.iteration, key.round) for key in keys] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@most_seeds
def test_a_penalty_counts_for_the_best_point(seed):
    """The start minimises f, but not f plus the penalty."""
    target = np.full(3, 1.0)
    result = minimize(
        lambda x: 0.5 * float(((x - target) ** 2).sum()),
        target,
        constraint=SoftThreshold(1.0),
        max_queries=500,
        rng=seed,
        method="szoht",
    )
    assert np.abs(result.x).sum() < 0.5


def test_samples_cannot_be_scribbled_on():
    def fun(x, sample):
        with pytest.raises(ValueError, match="read-only"):
            sample += 1
        return float(((x - 1) ** 2).sum())

    result = minimize(
        fun,
        np.zeros(30),
        k=2,
        n_samples=9,
        options={"q": 4, "sampler": Minibatch(size=2)},
        max_iterations=2,
        method="szoht",
    )
    assert result.nit == 2
