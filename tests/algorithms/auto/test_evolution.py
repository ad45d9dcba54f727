"""Simulations with few episodes: common seeds, plateaus, failures, races, and what is answered."""

import numpy as np
import pytest

from szoht import SparseBox, minimize
from szoht.algorithms.auto.location import Location
from szoht.algorithms.auto.paired_race import PairedRace

D, K, EPISODES = 30, 12, 250


def regulator(x, sample):
    """Return the cost of steering a noisy linear system of six states by five inputs."""
    rng = np.random.default_rng(sample)
    gain, state, cost = np.reshape(x, (5, 6)), rng.standard_normal(6), 0.0
    for _ in range(15):
        force = np.append(np.clip(gain @ state, -5, 5), 0.0)
        cost += float(state @ state) + 0.1 * float(force @ force)
        state = 1.02 * state + 0.1 * np.roll(state, 1) + force + 0.2 * rng.standard_normal(6)
    return cost


def mean(fun, x):
    return np.mean([fun(x, np.array([seed])) for seed in range(10**6, 10**6 + 60)])


def solve(fun, **settings):
    settings = {"k": K, "max_queries": EPISODES, "rng": 0} | settings
    return minimize(fun, np.zeros(D), stochastic=True, **settings)


def test_a_regulator_learns_from_few_episodes():
    costs = [mean(regulator, solve(regulator, rng=seed).x) for seed in range(3)]
    assert np.mean(costs) < 0.55 * mean(regulator, np.zeros(D))


def test_what_is_answered():
    result = solve(regulator)
    assert result.nfev == EPISODES
    assert result.support.size <= K
    assert abs(result.fun - mean(regulator, result.x)) < 5 * result.fun_error
    assert not result.success
    assert any("common seeds" in line for line in result.explain)


def test_points_that_are_compared_share_a_seed():
    seeds = []

    def noisy(x, sample):
        seeds.append(int(sample[0]))
        return regulator(x, sample)

    solve(noisy)
    changes = np.count_nonzero(np.diff(seeds))
    assert changes < EPISODES / 4


def test_a_start_on_a_plateau_where_all_seeds_agree():
    def fun(x, sample):
        rng = np.random.default_rng(sample)
        return -float(np.sum(rng.standard_normal((10, D)) @ x > 1.0))

    result = solve(fun)
    assert mean(fun, np.zeros(D)) == 0
    assert mean(fun, result.x) < -2


def test_points_that_fail_are_the_worst():
    def fun(x, sample):
        return np.nan if x.sum() > 2 else regulator(x, sample)

    result = solve(fun, on_error="skip")
    assert np.isfinite(result.fun)
    assert mean(regulator, result.x) < 0.8 * mean(regulator, np.zeros(D))


def test_no_episode_outside_of_bounds():
    low, high = np.full(D, -0.5), np.full(D, 0.25)

    def fun(x, sample):
        assert (low <= x).all()
        assert (x <= high).all()
        return regulator(x, sample)

    result = minimize(
        fun,
        np.zeros(D),
        constraint=SparseBox(K, low, high),
        stochastic=True,
        max_queries=EPISODES,
        rng=0,
    )
    assert mean(regulator, result.x) < 0.9 * mean(regulator, np.zeros(D))


def test_nothing_is_better_than_the_start():
    def fun(x, sample):
        return float(np.abs(x).sum()) + np.random.default_rng(sample).standard_normal()

    result = solve(fun)
    assert not result.x.any()


def test_many_values_per_non_zero_are_for_quadratic_models():
    def fun(x, sample):
        return float(((x - 1) ** 2).sum()) + 0.1 * np.random.default_rng(sample).standard_normal()

    assert not any("common seeds" in line for line in solve(fun, k=2).explain)


class Context:
    """Values that a seed moves far more than the points differ."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def values_on_one_seed(self, points):
        yield from ()
        seed = 100 * self.rng.standard_normal()
        return np.array([seed + point.sum() + 0.1 * self.rng.standard_normal() for point in points])


def finish(steps):
    with pytest.raises(StopIteration) as end:
        next(steps)
    return end.value.value


def test_a_race_on_common_seeds_sees_small_differences():
    points = [np.array([1.0, place]) for place in (0.3, 0.0, 0.6)]
    race = PairedRace(Context(), points)
    assert finish(race.run(60)) is points[1]
    assert len(race.taken[2]) < 6
    location = finish(race.measure(points[1], 100))
    assert isinstance(location, Location)
    assert 5 < location.error < 20
    assert len(race.taken[1]) < 60  # what is measured is apart
